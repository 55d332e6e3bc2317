import type { ExportedAsset as AssetOnPage } from '@millwright/api/inventory/export-pages.ts'
import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { customProperties } from '../../platform/custom-properties.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import { productVersion } from '../../platform/version.ts'
import { assetReader } from './asset-reader.ts'
import { aasJson } from './formats/aas-environment.ts'
import { aasx } from './formats/aasx.ts'
import { assetSbom, plantSbom } from './formats/cyclonedx.ts'
import { assetNamespace, type ExportedAsset, shellPredicates, softwarePredicates } from './formats/exported-asset.ts'
import { type ExportRun, elementsOf, type ReadPage } from './page-reader.ts'

/** The formats of other standards for assets. */

type Content = AsyncIterable<string | Uint8Array>

/** The number of ids in one filter. */
const idsPerFilter = 50

export async function assetModelContent(context: Context, run: ExportRun): Promise<Content> {
  const { format } = run.request
  if (format === 'cyclonedx') return billContent(context, run)
  const caller = await run.caller()
  const names = new Map((await customProperties(context, caller)).map(({ key, name }) => [key, name]))
  const options = {
    namespace: assetNamespace(caller.tenantId),
    propertyName: (key: string) => names.get(key),
  }
  const read = assetReader(context, run.request, { predicates: [...shellPredicates], incoming: true })
  let isFirst = true
  const readAssets = () => {
    // The assets are read twice. Only the second reading counts as progress.
    const reading = isFirst ? withoutProgress(run) : run
    isFirst = false
    return exportedAssets(reading, read)
  }
  return format === 'aasx' ? aasx(readAssets, options) : aasJson(readAssets, options)
}

/** Returns the software bill of materials of one asset, or of all selected assets. */
async function billContent(context: Context, run: ExportRun): Promise<Content> {
  const { assetId } = run.request
  const { tenantId, tenantName } = await run.caller()
  const bill = {
    namespace: assetNamespace(tenantId),
    timestamp: new Date().toISOString(),
    serialNumber: newId(),
    productVersion,
  }
  const read = assetReader(context, run.request, {
    predicates: [...softwarePredicates],
    incoming: assetId !== undefined,
  })
  if (assetId === undefined) return plantSbom(exportedAssets(run, read), { ...bill, name: tenantName })
  for await (const { document, relations } of exportedAssets(withoutProgress(run), read)) {
    const isInstalled = ({ subject }: ExportedAsset['relations'][number]) =>
      subject.type === 'asset' && subject.id !== assetId
    const ids = new Set(relations.filter(isInstalled).map(({ subject }) => subject.id))
    const installed = await documentsOf(context, run, [...ids])
    // The rows of a bill are assets: this one, and the software assets on it.
    run.progress.total = 1 + installed.length
    run.progress.rows = run.progress.total
    return assetSbom(document, { ...bill, installed })
  }
  throw new Problem('not_found', `Asset ${assetId} does not exist`)
}

/** Reads assets with both ends of their relations. */
async function* exportedAssets(run: ExportRun, read: ReadPage): AsyncGenerator<ExportedAsset> {
  for await (const { document, relations } of elementsOf<AssetOnPage>(run, read)) {
    const own = { type: 'asset', id: String(document.id) } as const
    const edges = relations.map(({ predicate, direction, type, id }) =>
      direction === 'outgoing'
        ? { subject: own, predicate, object: { type, id } }
        : { subject: { type, id }, predicate, object: own },
    )
    yield { document, relations: edges }
  }
}

function withoutProgress(run: ExportRun): ExportRun {
  return { ...run, progress: { rows: 0, total: null } }
}

/** Reads assets by their ids. */
async function documentsOf(context: Context, run: ExportRun, ids: readonly string[]): Promise<AssetDocument[]> {
  const documents: AssetDocument[] = []
  for (let start = 0; start < ids.length; start += idsPerFilter) {
    const part = ids.slice(start, start + idsPerFilter).map((id) => `'${id}'`)
    const request = { what: 'assets', format: 'ndjson', filter: `id in (${part.join(',')})` } as const
    const read = assetReader(context, request)
    for await (const document of elementsOf<AssetDocument>(withoutProgress(run), read)) documents.push(document)
  }
  return documents
}
