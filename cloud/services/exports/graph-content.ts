import type { ExportedRelation } from '@millwright/api/inventory/export-pages.ts'
import { type AssetDocument, inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Context } from '../../platform/service.ts'
import { assetReader } from './asset-reader.ts'
import { dot } from './formats/dot.ts'
import { type ExportedGraph, graphTexts, nodeOfAsset } from './formats/graph.ts'
import { graphml } from './formats/graphml.ts'
import { textParts } from './formats/text-parts.ts'
import { type ExportRun, elementsOf } from './page-reader.ts'

/** Returns the content of the export of a graph: of the graph around an asset, or of all selected assets. */
export async function graphContent(context: Context, run: ExportRun): Promise<AsyncIterable<string>> {
  const { assetId, format } = run.request
  const graph = assetId === undefined ? graphOfAssets(context, run) : await graphAround(context, run, assetId)
  if (format === 'graphml') return graphml(graph)
  return format === 'dot' ? dot(graph) : textParts(graphJson(graph))
}

function graphOfAssets(context: Context, run: ExportRun): ExportedGraph {
  // Only assets count as progress.
  const ofRelations = { ...run, progress: { rows: 0, total: null } }
  return {
    nodes: assetNodes(context, run),
    edges: elementsOf<ExportedRelation>(ofRelations, (caller, position) =>
      context.peers(inventory, caller).exportRelations({ body: { data: position } }),
    ),
  }
}

async function* assetNodes(context: Context, run: ExportRun) {
  for await (const document of elementsOf<AssetDocument>(run, assetReader(context, run.request)))
    yield nodeOfAsset(document)
}

async function graphAround(context: Context, run: ExportRun, assetId: string): Promise<ExportedGraph> {
  const limit = inventoryLimits.graphNodes
  const { depth = 1 } = run.request
  const { data } = await context
    .peers(inventory, await run.caller())
    .readGraph({ params: { id: assetId }, query: { depth, limit } })
  if (data.truncated)
    throw new Problem('graph_too_large', `The graph has more than ${limit} nodes. Use a smaller depth`)
  run.progress.total = data.nodes.length
  run.progress.rows = data.nodes.length
  return data
}

async function* graphJson(graph: ExportedGraph): AsyncGenerator<string> {
  yield '{"nodes":['
  let isNode = true
  let separator = '\n'
  const texts = graphTexts(graph, {
    node: (node) => JSON.stringify(node),
    edge: ({ id, subject, predicate, object }) => ` ${JSON.stringify({ id, subject, predicate, object })}`,
  })
  for await (const text of texts) {
    // The text of an edge starts with a space.
    if (isNode && text.startsWith(' ')) {
      yield '\n],"edges":['
      isNode = false
      separator = '\n'
    }
    yield separator + text.trimStart()
    separator = ',\n'
  }
  yield isNode ? '\n],"edges":[]}\n' : '\n]}\n'
}
