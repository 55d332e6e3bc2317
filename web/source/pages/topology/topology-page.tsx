import { iconGraph } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { operationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { useApi } from '../../app/session/app-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { emptyGraph, type GraphData, graphOf, mergeGraphs, neighboursOf } from '../../components/graph/graph-data.ts'
import { GraphExplorer } from '../../components/graph/graph-explorer.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { ExportButton } from '../files/export/export-dialog.tsx'
import { useImpact, usePath } from './graph-queries.ts'
import { topologyMessages } from './messages.ts'
import { NodeActions } from './node-actions.tsx'
import { ImpactNotice, PathNotice } from './result-notices.tsx'
import { TimeNotice } from './time-notice.tsx'
import { type TopologyQuery, useTopology } from './topology-data.ts'
import type { TopologySearch } from './topology-search.ts'
import { TopologyTools } from './topology-tools.tsx'

/** The default limit for the number of nodes. The user can raise it to `maxNodes`. */
const defaultLimit = 5_500
const maxNodes = 10_000

/** `TopologyPage` shows assets and their relations as a graph, now or at an earlier time. */
export function TopologyPage() {
  const text = useText(topologyMessages)
  const formats = useFormats()
  const [search, change] = useSearchState<TopologySearch>()
  usePageTitle(text.title)
  const query: TopologyQuery = {
    q: search.q,
    predicate: search.predicate,
    at: search.at,
    with: search.with,
    limit: search.many === undefined ? defaultLimit : maxNodes,
  }
  const topology = useTopology(query)
  const [nodes, relations] = [topology.data.nodes.size, topology.data.edges.size].map(formats.number)
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={<ExportButton what="graph" selection={search.q === undefined ? {} : { q: search.q }} />}
      />
      <TopologyTools search={search} change={change} count={text.count(nodes ?? '', relations ?? '')} />
      <TimeNotice query={query} changes={topology.changes} change={change} />
      {topology.isTruncated && (
        <p className="page-note" role="status">
          {text.truncated(formats.number(query.limit))}
          {query.limit < maxNodes && (
            <IxButton variant="tertiary" onClick={() => change({ many: 'yes' })}>
              {text.showMore(formats.number(maxNodes))}
            </IxButton>
          )}
        </p>
      )}
      {topology.isStale && (
        <p className="page-note" role="status">
          {text.stale}
          <IxButton variant="tertiary" onClick={topology.refresh}>
            {text.refresh}
          </IxButton>
        </p>
      )}
      {topology.error !== null ? (
        <ProblemMessage failure={topology.error} onRetry={topology.refresh} />
      ) : topology.isLoading ? (
        <Loading />
      ) : topology.data.nodes.size === 0 ? (
        <NoTopology isNarrowed={query.q !== undefined || query.at !== undefined} onClear={() => change(everything)} />
      ) : (
        <Explorer topology={topology} query={query} search={search} change={change} />
      )}
    </>
  )
}

const everything = { q: undefined, predicate: undefined, at: undefined, with: undefined }

function NoTopology({ isNarrowed, onClear }: { isNarrowed: boolean; onClear: () => void }) {
  const text = useText(topologyMessages)
  return (
    <EmptyState icon={iconGraph} title={isNarrowed ? text.noMatches : text.emptyTitle}>
      <p>{isNarrowed ? text.noMatchesHint : text.emptyHint}</p>
      {isNarrowed && (
        <IxButton variant="secondary" onClick={onClear}>
          {text.clear}
        </IxButton>
      )}
    </EmptyState>
  )
}

type ExplorerProps = {
  topology: ReturnType<typeof useTopology>
  query: TopologyQuery
  search: Partial<Record<TopologySearch, string>>
  change: (changed: Partial<Record<TopologySearch, string | undefined>>) => void
}

function Explorer({ topology, query, search, change }: ExplorerProps) {
  const api = useApi()
  const queryClient = useQueryClient()
  const [extra, setExtra] = useState<GraphData>(emptyGraph)
  const { thing: selected, show, to } = search
  const path = usePath({ from: show === 'path' ? selected : undefined, to, at: query.at })
  const impact = useImpact({ of: show === 'impact' ? selected : undefined, at: query.at })
  const result = path?.graph ?? impact?.graph
  const data = useMemo(
    () => [extra, result ?? emptyGraph].filter(({ nodes }) => nodes.size > 0).reduce(mergeGraphs, topology.data),
    [topology.data, extra, result],
  )
  const emphasis = useMemo(() => emphasisOf(data, selected, result), [data, selected, result])
  const expand = async (id: string) => {
    const input = { params: { id }, query: { limit: 500, ...(query.at && { at: query.at }) } }
    const answer = await queryClient.fetchQuery(operationQuery(api, ['inventory', 'readGraph'], input))
    setExtra((before) => mergeGraphs(before, graphOf(answer.data)))
  }
  const select = (key: string | undefined) => {
    change({ thing: key, show: undefined, to: undefined })
    const node = key === undefined ? undefined : data.nodes.get(key)
    // A node with a depth above 0 is at the edge of the graph, where its relations are not loaded yet.
    if (node?.type === 'asset' && node.depth > 0) expand(node.id)
  }
  return (
    <GraphExplorer
      data={data}
      selected={selected}
      onSelect={select}
      emphasis={emphasis}
      changes={topology.changes}
      notice={
        <>
          {path !== undefined && <PathNotice path={path} onDone={() => change({ show: undefined, to: undefined })} />}
          {impact !== undefined && (
            <ImpactNotice impact={impact} data={data} onSelect={select} onDone={() => change({ show: undefined })} />
          )}
        </>
      }
      actions={(node) => <NodeActions node={node} change={change} onExpand={() => expand(node.id)} />}
    />
  )
}

/**
 * Returns the nodes and relations to emphasize: the result of a path or impact query or, without a query, the selected
 * node with its relations and neighbours.
 */
function emphasisOf(data: GraphData, selected: string | undefined, result: GraphData | undefined) {
  if (result !== undefined) return new Set([...result.nodes.keys(), ...result.edges.keys()])
  if (selected === undefined || !data.nodes.has(selected)) return undefined
  return new Set([selected, ...neighboursOf(data, selected).flatMap(({ edge, key }) => [edge.id, key])])
}
