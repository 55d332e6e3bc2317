import type { GrantedRole } from '../../../platform/access/rights.ts'
import type { RefusedItem } from './item-result.ts'

/** An identifier of an asset in the form in which it is stored and compared. */
export type StoredIdentifier = {
  key: string
  uncertainty: number
  type: string
  name: string | null
  value: string
  identifier: Record<string, unknown>
}

/** A relation that is written together with an asset. */
export type AssetRelationInput = {
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
  relations: AssetRelationInput[]
  accessGroupId?: string
  /** The asset to write; without it, the identifiers decide. */
  assetId?: string
  rest?: DocumentRest
}

/** The fields of a complete document that `POST /assets` cannot write. */
export type DocumentRest = {
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

export type UndoMergePayload = { assetId: string; mergeId: string; ifMatch?: string }

export type SplitPayload = { assetId: string; keys: string[]; name?: string; ifMatch?: string }

/** The payload of each kind of write, as it is stored between acceptance and application. */
export type Payloads = {
  /** One asset, by its identifiers. */
  put: PutPayload
  /** A batch of assets. */
  'put-many': PutPayload
  /** One asset with its states, properties and parent, all or nothing. */
  'put-whole': PutPayload
  patch: PatchPayload
  delete: DeletePayload
  merge: MergePayload
  'undo-merge': UndoMergePayload
  split: SplitPayload
}

export type WriteKind = keyof Payloads

/** A kind of write with its payload. */
export type Write<Kind extends WriteKind = WriteKind> = { [K in Kind]: { kind: K; payload: Payloads[K] } }[Kind]

/** The principal that sent a write, with the rights of its token. */
export type Sender = {
  principalId: string
  principalKind: string
  principalName: string
  roles: string[]
  /** The access groups of each role, if the sender's token limits them. */
  grants: GrantedRole[] | null
}

export type QueuedWrite = Write & Sender & { id: string }

/** The rows that a write reads. A batch loads the rows of all its writes together. */
export type Needs = {
  /** Identifier keys whose assets are looked up. */
  keys: readonly string[]
  assetIds: readonly string[]
  /** Access groups that assets are moved or created in. */
  accessGroupIds: readonly string[]
  /** Whether the write reads or ends the relations of its assets: no other transaction may add one meanwhile. */
  allRelations: boolean
}

/** How many items a write counts for in the limits of the queue. */
export function itemsIn({ kind, payload }: Write): number {
  switch (kind) {
    case 'put':
    case 'put-many':
    case 'put-whole':
    case 'patch':
      return Math.max(1, payload.items.length)
    case 'delete':
      return Math.max(1, payload.ids.length)
    case 'merge':
    case 'undo-merge':
    case 'split':
      return 1
  }
}
