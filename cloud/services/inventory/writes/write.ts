import type { ChangeCause } from '@millwright/api/inventory/changes.ts'
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
  /** The keys of the identifiers of the other asset. */
  related: { key: string; uncertainty: number }[]
  role: 'subject' | 'object'
  bidirectional: boolean
}

export type PutItem = {
  /** The normalised asset, without identifiers, relations and access group. */
  asset: Record<string, unknown>
  identifiers: StoredIdentifier[]
  relations: AssetRelationInput[]
  accessGroupId?: string
  /** The id of the asset to write. If it is absent, the identifiers select the asset. */
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

/** A row of an imported file, checked when it was accepted. */
export type ImportItem = {
  /** The cells of a table. They are compared with the asset when the row is applied. */
  cells?: { readonly [target: string]: string }
  /** The fields of a document. */
  asset?: Record<string, unknown>
  identifiers: StoredIdentifier[]
  /** The id that the row names. It counts only if the asset exists. */
  assetId?: string
  accessGroupId?: string
  /** The values of custom properties. Other values stay. */
  properties: { key: string; value: string }[]
  states?: DocumentRest['states']
  responsible?: string
}

export type ImportPayload = {
  items: (ImportItem | RefusedItem)[]
  defaultGroupId: string
  /** The import to which the rows belong, with the name of its file. */
  import?: { id: string; name: string }
}

/** The operation to which a write belongs. The default id is the id of the write. */
export type PayloadCause = Omit<ChangeCause, 'id'> & { id?: string }

export type WriteSource = { type: 'discovery' | 'assetlinkdiscovery' | 'manual'; value?: string }

export type PutPayload = {
  items: (PutItem | RefusedItem)[]
  source: WriteSource
  strict: boolean
  mayRelate: boolean
  defaultGroupId: string
  ifMatch?: string
  /** The discovery run in which a gateway reported the assets. */
  discovery?: { jobId: string; runId: string }
  cause?: PayloadCause
}

export type DeletePayload = { ids: string[]; ifMatch?: string }

/** One change of one asset. */
export type PatchChange =
  /** `time` is the time at which the state was found. The default is the time of the change. */
  | { change: 'management_state' | 'reachability_state' | 'trust_state'; value: string; time?: string }
  | { change: 'firmware'; name?: string; version: string }
  | { change: 'gateway_version'; version: string }
  | { change: 'access_group'; accessGroupId: string }
  | { change: 'responsible'; responsible: string }
  | { change: 'name'; name: string }
  | { change: 'description'; description: string | null }
  /** A decision about a new asset. It is refused if the asset has changed since the decision. */
  | {
      change: 'triage'
      value: string
      accessGroupId?: string
      expectedStates: readonly string[]
      expectedAccessGroupId?: string
    }
  | { change: 'property'; key: string; value: string }
  | { change: 'no_property'; key: string }

export type PatchItem = { assetId: string } & PatchChange

export type PatchPayload = {
  items: (PatchItem | RefusedItem)[]
  /**
   * Whether the write changes the asset in the path of the request. If it does, the result is an object instead of an
   * array.
   */
  single: boolean
  ifMatch?: string
  cause?: PayloadCause
}

export type MergePayload = { assetId: string; otherId: string; prefer: 'this' | 'other'; ifMatch?: string }

export type UndoMergePayload = { assetId: string; mergeId: string; ifMatch?: string }

export type SplitPayload = { assetId: string; keys: string[]; name?: string; ifMatch?: string }

/** The payload of each kind of write, as it is stored between acceptance and application. */
export type Payloads = {
  /** Writes one asset, which its identifiers select. */
  put: PutPayload
  /** Writes a batch of assets. */
  'put-many': PutPayload
  /** Writes one asset with its states, properties and parent. Either everything is written or nothing. */
  'put-whole': PutPayload
  /** Writes rows of an imported file. */
  'import-rows': ImportPayload
  patch: PatchPayload
  delete: DeletePayload
  merge: MergePayload
  'undo-merge': UndoMergePayload
  split: SplitPayload
}

export type WriteKind = keyof Payloads

/** A kind of write with its payload. */
export type Write<Kind extends WriteKind = WriteKind> = { [K in Kind]: { kind: K; payload: Payloads[K] } }[Kind]

/** The principal that sent a write, with the roles and grants of its token. */
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
  /** The identifier keys whose assets are looked up. */
  keys: readonly string[]
  assetIds: readonly string[]
  /** The access groups in which assets are created or to which they are moved. */
  accessGroupIds: readonly string[]
  /**
   * Whether the write reads or ends the relations of its assets. Other transactions must not add relations to these
   * assets until the write is saved.
   */
  allRelations: boolean
}

/** Returns how many items a write counts as in the limits of the queue. */
export function itemsIn({ kind, payload }: Write): number {
  switch (kind) {
    case 'put':
    case 'put-many':
    case 'put-whole':
    case 'import-rows':
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
