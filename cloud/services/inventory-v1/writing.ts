import { inventoryLimits } from '@millwright/api/inventory-shapes.ts'
import { type FieldError, Problem, problemFrom } from '@millwright/api/problem.ts'
import { type Document, isObject, type PlainObject } from '../../platform/plain-object.ts'
import { pointerToV1 } from './asset.ts'
import type { otherFields } from './change.ts'
import type { Inventory } from './reading.ts'

/** Writes are accepted and applied later: here they are waited for. */
const prefer = `wait=${inventoryLimits.statusWaitSeconds}`

/** An asset as a whole; which one is said by its id or else by its identifiers. */
type DocumentWrite = { asset: Document; assetId?: string } & ReturnType<typeof otherFields>

/** The document that a write comes from, and which version of the asset its sender has seen. */
type SentDocument = { document: PlainObject; ifMatch: string | undefined }

/** Writes all of it or none; faults are told by the fields of what was sent. */
export async function putAsset(
  peer: Inventory,
  whole: DocumentWrite,
  { document, ifMatch }: SentDocument,
): Promise<{ id: string; isNew: boolean }> {
  const writing = peer.putWholeAsset({ body: { data: whole }, headers: { prefer, 'if-match': ifMatch } })
  const result = await applied(writing).catch((error: unknown) => {
    throw error instanceof Problem ? problemInV1(error, document) : error
  })
  const { assetId, outcome } = result as { assetId: string; outcome: string }
  return { id: assetId, isNew: outcome === 'created' }
}

export async function deleteAsset(peer: Inventory, id: string, ifMatch: string | undefined): Promise<void> {
  const headers = { prefer, 'if-match': ifMatch }
  await applied(peer.deleteAssets({ body: { data: { ids: [id] } }, headers })).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== 'asset_not_found') throw error
    throw new Problem('not_found', 'There is no such asset')
  })
}

type Accepted = { data: { statusId: string; state?: string; detail?: Record<string, unknown> } }

/** The result of a write once it is applied; throws what was wrong with it. */
async function applied(accepting: Promise<Accepted>): Promise<unknown> {
  const { data } = await accepting
  if (data.state === undefined) {
    const detail = `It is accepted but not applied yet; GET /inventory/v2/status/${data.statusId} tells when it is`
    throw new Problem('unavailable', detail, { retryAfter: 2 })
  }
  const results = [data.detail?.result].flat()
  const refused = results.find((result) => isObject(result) && 'code' in result)
  if (refused !== undefined) throw problemFrom(refused, 500)
  return results[0]
}

/** Faults point into the body of version 2. */
function problemInV1(problem: Problem, document: PlainObject): Problem {
  if (problem.errors === undefined) return problem
  const errors = problem.errors.map(
    (error): FieldError => ({ ...error, pointer: pointerToV1(withoutEnvelope(error.pointer), document) }),
  )
  const told = errors.slice(0, 3).map(({ pointer, detail }) => `${pointer} ${detail}`)
  return new Problem(problem.code, told.join('; '), { errors, headers: problem.headers })
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
