import type { QueuedOperation } from './operation-store.ts'
import { acceptedItems, type RefusedItem } from './refused-item.ts'

/** What accepted writes say, as it is stored between acceptance and application. */

export type StoredIdentifier = {
  key: string
  uncertainty: number
  type: string
  name: string | null
  value: string
  identifier: Record<string, unknown>
}

export type WantedRelation = {
  predicate: string
  /** Keys of the identifiers of the other asset. */
  related: { key: string; uncertainty: number }[]
  role: 'subject' | 'object'
  bidirectional: boolean
}

export type PutItem = {
  /** The write shape without identifiers, relations and access group. */
  asset: Record<string, unknown>
  identifiers: StoredIdentifier[]
  relations: WantedRelation[]
  accessGroupId?: string
  /** The asset that is meant, whatever its identifiers say. */
  assetId?: string
  rest?: PutRest
}

/** What else an asset is told to be by who writes it as a whole. */
export type PutRest = {
  states: { state: 'management_state' | 'reachability_state' | 'trust_state'; value: string }[]
  responsible?: string
  properties?: { key: string; value: string }[]
  partOf?: { assetId: string | null; predicates: string[] }
}

export type WriteSource = { type: 'discovery' | 'assetlinkdiscovery' | 'manual'; value?: string }

export type PutPayload = {
  items: (PutItem | RefusedItem)[]
  source: WriteSource
  strict: boolean
  mayRelate: boolean
  defaultGroupId: string
  ifMatch?: string
  /** The discovery run that a gateway reported the assets in. */
  discovery?: { jobId: string; runId: string }
}

export type DeletePayload = { ids: string[]; ifMatch?: string }

/** One change of one asset. */
export type PatchChange =
  | { change: 'management_state' | 'reachability_state' | 'trust_state'; value: string }
  | { change: 'firmware'; name?: string; version: string }
  | { change: 'gateway_version'; version: string }
  | { change: 'access_group'; accessGroupId: string }
  | { change: 'responsible'; responsible: string }
  | { change: 'name'; name: string }
  | { change: 'description'; description: string | null }
  | { change: 'property'; key: string; value: string }
  | { change: 'no_property'; key: string }

export type PatchItem = { assetId: string } & PatchChange

export type PatchPayload = {
  items: (PatchItem | RefusedItem)[]
  /** The write changes the asset in the path: its result is an object, not an array. */
  single: boolean
  ifMatch?: string
}

export type MergePayload = { assetId: string; otherId: string; prefer: 'this' | 'other'; ifMatch?: string }

export type UndoPayload = { assetId: string; mergeId: string; ifMatch?: string }

export type SplitPayload = { assetId: string; keys: string[]; name?: string; ifMatch?: string }

/**
 * Applied alone. What moves identifiers between assets: nothing that waits beside it may rely on whose they were. And what
 * looks at relations as they are: those of a batch are written at its end.
 */
export function isReshaping({ kind }: { kind: string }): boolean {
  return kind === 'merge' || kind === 'undo-merge' || kind === 'split' || kind === 'put-whole'
}

export function isDelete({ kind }: { kind: string }): boolean {
  return kind === 'delete'
}

/** The identifiers whose owners an operation must know. */
export function keysIn({ kind, payload }: QueuedOperation): string[] {
  if (kind !== 'put' && kind !== 'put-many' && kind !== 'put-whole') return []
  return acceptedItems((payload as PutPayload).items).flatMap(({ identifiers, relations }) => [
    ...identifiers.map(({ key }) => key),
    ...relations.flatMap(({ related }) => related.map(({ key }) => key)),
  ])
}

/** The access groups that an operation puts assets into. */
export function groupsIn({ kind, payload }: QueuedOperation): string[] {
  if (kind === 'patch')
    return acceptedItems((payload as PatchPayload).items).flatMap((item) =>
      item.change === 'access_group' ? item.accessGroupId : [],
    )
  if (kind !== 'put' && kind !== 'put-many' && kind !== 'put-whole') return []
  return acceptedItems((payload as PutPayload).items).flatMap(({ accessGroupId }) => accessGroupId ?? [])
}

/** The assets that an operation names itself. */
export function idsIn({ kind, payload }: QueuedOperation): string[] {
  if (kind === 'delete') return (payload as DeletePayload).ids
  if (kind === 'patch') return acceptedItems((payload as PatchPayload).items).map(({ assetId }) => assetId)
  if (kind === 'merge') return [(payload as MergePayload).assetId, (payload as MergePayload).otherId]
  if (kind === 'put-whole')
    return acceptedItems((payload as PutPayload).items).flatMap(({ assetId, rest }) =>
      [assetId, rest?.partOf?.assetId].filter((id) => typeof id === 'string'),
    )
  if (kind === 'undo-merge' || kind === 'split') return [(payload as UndoPayload | SplitPayload).assetId]
  return []
}
