import { inventoryLimits } from '@millwright/api/inventory/shapes.ts'
import { type FieldError, Problem, problemFrom } from '@millwright/api/problem.ts'
import { type Document, isObject, type PlainObject } from '../../platform/plain-object.ts'
import { pointerToV1 } from './asset.ts'
import type { otherFields } from './change.ts'
import type { Inventory } from './reading.ts'

/**
 * The `Prefer` header of a write. The inventory applies writes after it has accepted them, and version 1 waits for the
 * result.
 */
const prefer = `wait=${inventoryLimits.statusWaitSeconds}`

/** A complete document to write. The id selects the asset. Without an id, the identifiers select it. */
type DocumentWrite = { asset: Document; assetId?: string } & ReturnType<typeof otherFields>

/** The document that was sent, and the `If-Match` header of the request. */
type SentDocument = { document: PlainObject; ifMatch: string | undefined }

/** Writes a document completely or not at all. Field errors have pointers into the sent document. */
export async function putAsset(
  peer: Inventory,
  write: DocumentWrite,
  { document, ifMatch }: SentDocument,
): Promise<{ id: string; isNew: boolean }> {
  const accepted = peer.putWholeAsset({ body: { data: write }, headers: { prefer, 'if-match': ifMatch } })
  const result = await resultOf(accepted).catch((error: unknown) => {
    throw error instanceof Problem ? problemInV1(error, document) : error
  })
  const { assetId, outcome } = result as { assetId: string; outcome: string }
  return { id: assetId, isNew: outcome === 'created' }
}

export async function deleteAsset(peer: Inventory, id: string, ifMatch: string | undefined): Promise<void> {
  const headers = { prefer, 'if-match': ifMatch }
  await resultOf(peer.deleteAssets({ body: { data: { ids: [id] } }, headers })).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== 'asset_not_found') throw error
    throw new Problem('not_found', `Asset ${id} does not exist`)
  })
}

type Accepted = { data: { statusId: string; state?: string; detail?: Record<string, unknown> } }

/** Returns the result of an applied write. Throws the problem of a refused write. */
async function resultOf(accepted: Promise<Accepted>): Promise<unknown> {
  const { data } = await accepted
  if (data.state === undefined) {
    const detail = `The write is accepted but not applied yet. GET /inventory/v2/status/${data.statusId} returns its state`
    throw new Problem('unavailable', detail, { retryAfter: 2 })
  }
  const results = [data.detail?.result].flat()
  const refused = results.find((result) => isObject(result) && 'code' in result)
  if (refused !== undefined) throw problemFrom(refused, 500)
  return results[0]
}

/** Converts the pointers of field errors from version 2 to the document of version 1. */
function problemInV1(problem: Problem, document: PlainObject): Problem {
  if (problem.errors === undefined) return problem
  const errors = problem.errors.map(
    (error): FieldError => ({ ...error, pointer: pointerToV1(withoutEnvelope(error.pointer), document) }),
  )
  const details = errors.slice(0, 3).map(({ pointer, detail }) => `${pointer} ${detail}`)
  return new Problem(problem.code, details.join('; '), { errors, headers: problem.headers })
}

const renamed: readonly [RegExp, string][] = [
  [/^\/data\/asset(?=\/|$)/, ''],
  [/^\/data\/properties(?=\/|$)/, '/custom_ui_properties'],
  [/^\/data\/partOf\/asset$/, '/parent/id'],
  [/^\/data(?=\/)/, ''],
]

function withoutEnvelope(pointer: string): string {
  const [pattern, name] = renamed.find(([beginning]) => beginning.test(pointer)) ?? []
  return pattern === undefined ? pointer : pointer.replace(pattern, name ?? '')
}
