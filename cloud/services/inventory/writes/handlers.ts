import type { ItemErrors } from '@millwright/api/contract.ts'
import type { AssetDocument, inventory, Source } from '@millwright/api/inventory/inventory.ts'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { permissionDenied, permissionDeniedIn } from '../../../platform/access/permission-denied.ts'
import { may, mayIn } from '../../../platform/access/rights.ts'
import { type AccessGroupRow, findAccessGroup, findAccessGroupByName } from '../../../platform/access/store.ts'
import type { Database, Handle } from '../../../platform/database/database.ts'
import { limitedErrors } from '../../../platform/error-limits.ts'
import { createYield } from '../../../platform/event-loop.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import { normaliseAsset } from '../assets/asset.ts'
import { areGateways, findGroups } from '../assets/asset-store.ts'
import { objectsOf } from '../assets/document.ts'
import { propertyText } from '../assets/property.ts'
import { findProperties } from '../assets/property-store.ts'
import type { InventoryContext } from '../context.ts'
import { isReservedIdentifier, keyOf, storedIdentifier, uncertaintyOf } from '../identity/identifier.ts'
import { itemOrRefusal, type RefusedItem } from './item-result.ts'
import { confirmReachability } from './reachability.ts'
import { acceptedAnswer } from './status.ts'
import type { PatchChange, PatchItem, PutItem, PutPayload, StoredIdentifier, WriteSource } from './write.ts'

type Identifier = Record<string, unknown>
type AssetRelation = {
  predicate: string
  related_asset: { asset_identifiers: Identifier[] }
  relational_role_of_related_asset: 'subject' | 'object'
  is_bidirectional?: boolean | null
}

type Writes = Pick<
  Handlers<typeof inventory>,
  | 'createAsset'
  | 'createAssets'
  | 'deleteAssets'
  | 'setManagementState'
  | 'setReachabilityState'
  | 'setTrustState'
  | 'setFirmwareVersion'
  | 'setAccessGroup'
  | 'setResponsible'
  | 'setName'
  | 'setDescription'
  | 'setGatewayVersion'
  | 'setPropertyValues'
  | 'deletePropertyValues'
  | 'setResponsibles'
  | 'setManagementStates'
  | 'setAccessGroups'
  | 'recordReachability'
>

type Headers = Record<string, string | undefined>

/** Returns the `If-Match` header of a write. The applier compares it when it applies the write. */
export function matching({ 'if-match': ifMatch }: Headers): { ifMatch?: string } {
  return ifMatch === undefined ? {} : { ifMatch }
}

/** Handlers of writes to assets. They check a write as far as possible before they accept it. */
export function writeHandlers(own: InventoryContext): Writes {
  const { context, acceptor } = own
  const read = <Result>(caller: Caller, work: (handle: Handle) => Promise<Result>) =>
    context.database.read(caller, work)

  const put = async (
    caller: Caller,
    request: {
      assets: AssetDocument[]
      meta: WriteMeta | undefined
      strict: boolean
      single: boolean
      headers: Headers
      itemErrors?: ItemErrors | undefined
    },
  ) => {
    const { headers } = request
    const checked = await putPayload(own, connectionPerStatement(context.database, caller), { caller, ...request })
    const payload = { ...checked, ...matching(headers) }
    const id = await acceptor.accept(caller, {
      ...(request.single
        ? { kind: 'put', action: 'inventory.createAsset' }
        : { kind: 'put-many', action: 'inventory.createAssets' }),
      payload,
    })
    return acceptedAnswer(own, caller, { id, prefer: headers.prefer })
  }

  /** Queues changes of assets. An item that cannot be applied gets its own result in the status of the bulk write. */
  const patch = async (
    caller: Caller,
    request: { action: string; items: (PatchItem | RefusedItem)[]; target?: string; headers: Headers },
  ) => {
    const { items, target, headers, action } = request
    const id = await acceptor.accept(caller, {
      kind: 'patch',
      action: `inventory.${action}`,
      payload: { items, single: target !== undefined, ...matching(headers) },
      ...(target === undefined ? {} : { target }),
    })
    return acceptedAnswer(own, caller, { id, prefer: headers.prefer })
  }

  /** Queues a change of the asset in the path of the request. The asset must exist and be writable. */
  const patchOne = async (
    caller: Caller,
    { params, change, ...request }: { action: string; params: { id: string }; change: PatchChange; headers: Headers },
  ) => {
    await read(caller, async (handle) => {
      await requireWritable(handle, caller, params.id)
      if (change.change === 'gateway_version' && !(await areGateways(handle, [params.id])))
        throw new Problem('not_found', `Gateway ${params.id} does not exist`)
    })
    return patch(caller, { ...request, items: [{ assetId: params.id, ...change }], target: `asset/${params.id}` })
  }

  return {
    createAsset: ({ body: { data }, query: { strict = false }, headers }, caller) =>
      put(caller, { assets: [data.asset], meta: data.meta, strict, single: true, headers }),
    createAssets: ({ body: { data }, query: { strict = false }, headers, itemErrors }, caller) =>
      put(caller, { assets: data.assets, meta: data.meta, strict, single: false, headers, itemErrors }),

    async deleteAssets({ body: { data }, headers }, caller) {
      const id = await acceptor.accept(caller, {
        kind: 'delete',
        action: 'inventory.deleteAssets',
        payload: { ids: data.ids, ...matching(headers) },
      })
      return acceptedAnswer(own, caller, { id, prefer: headers.prefer })
    },

    setManagementState: ({ params, body: { data }, headers }, caller) =>
      patchOne(caller, {
        action: 'setManagementState',
        params,
        headers,
        change: { change: 'management_state', value: data.state_value },
      }),
    setReachabilityState: ({ params, body: { data }, headers }, caller) =>
      patchOne(caller, {
        action: 'setReachabilityState',
        params,
        headers,
        change: { change: 'reachability_state', value: data.state_value, ...timeOf(data.state_timestamp) },
      }),
    setTrustState: ({ params, body: { data }, headers }, caller) =>
      patchOne(caller, {
        action: 'setTrustState',
        params,
        headers,
        change: { change: 'trust_state', value: data.state_value },
      }),
    setFirmwareVersion: ({ params, body: { data }, headers }, caller) =>
      patchOne(caller, { action: 'setFirmwareVersion', params, headers, change: { change: 'firmware', ...data } }),
    setResponsible: ({ params, body: { data }, headers }, caller) =>
      patchOne(caller, { action: 'setResponsible', params, headers, change: { change: 'responsible', ...data } }),
    setName: ({ params, body: { data }, headers }, caller) =>
      patchOne(caller, { action: 'setName', params, headers, change: { change: 'name', ...data } }),
    setDescription: ({ params, body: { data }, headers }, caller) =>
      patchOne(caller, { action: 'setDescription', params, headers, change: { change: 'description', ...data } }),
    setGatewayVersion: ({ params, body: { data }, headers }, caller) =>
      patchOne(caller, {
        action: 'setGatewayVersion',
        params,
        headers,
        change: { change: 'gateway_version', ...data },
      }),

    async setAccessGroup({ params, body: { data }, headers }, caller) {
      const accessGroupId = await read(caller, (handle) =>
        writableGroup(handle, caller, { group: data.access_group, pointer: '/data/access_group' }),
      )
      return patchOne(caller, {
        action: 'setAccessGroup',
        params,
        headers,
        change: { change: 'access_group', accessGroupId },
      })
    },

    setResponsibles: ({ body: { data }, headers }, caller) =>
      patch(caller, {
        action: 'setResponsibles',
        items: data.map(({ asset_id, responsible }) => ({ assetId: asset_id, change: 'responsible', responsible })),
        headers,
      }),
    setManagementStates: ({ body: { data }, headers }, caller) =>
      patch(caller, {
        action: 'setManagementStates',
        items: data.map(({ asset_id, state_value }) => ({
          assetId: asset_id,
          change: 'management_state',
          value: state_value,
        })),
        headers,
      }),

    async setAccessGroups({ body: { data }, headers }, caller) {
      const items = await read(caller, async (handle) => {
        const moves: (PatchItem | RefusedItem)[] = []
        const groups: GroupsByName = new Map()
        for (const [index, { asset_id, access_group }] of data.entries()) {
          const pointer = `/data/${index}/access_group`
          const move = await itemOrRefusal(async (): Promise<PatchItem> => {
            const accessGroupId = await writableGroup(handle, caller, { group: access_group, pointer, groups })
            return { assetId: asset_id, change: 'access_group', accessGroupId }
          })
          moves.push(move)
        }
        return moves
      })
      return patch(caller, { action: 'setAccessGroups', items, headers })
    },

    async recordReachability({ body: { data } }, caller) {
      const changed = await confirmReachability(context.database, caller, data)
      if (changed.length === 0) return answer(202, { data: {} })
      const items = changed.map(({ assetId, state }): PatchItem => {
        return { assetId, change: 'reachability_state', value: state, time: data.checkedAt }
      })
      const statusId = await acceptor.accept(caller, {
        kind: 'patch',
        action: 'inventory.recordReachability',
        payload: { items, single: false, cause: { kind: 'check' } },
      })
      return answer(202, { data: { statusId } })
    },

    async setPropertyValues({ body: { data }, headers }, caller) {
      const definitions = await read(caller, (handle) =>
        findProperties(
          handle,
          data.map(({ key }) => key),
        ),
      )
      const check = ({ asset_id, key, value }: (typeof data)[number], index: number): PatchItem => {
        const definition = definitions.get(key)
        if (definition === undefined)
          throw at('property_not_found', `/data/${index}/key`, 'is not a custom property of this tenant')
        const text = propertyText(definition, value, `/data/${index}/value`)
        return { assetId: asset_id, change: 'property', key, value: text }
      }
      const items = await Promise.all(data.map((item, index) => itemOrRefusal(() => check(item, index))))
      return patch(caller, { action: 'setPropertyValues', items, headers })
    },

    deletePropertyValues: ({ body: { data }, headers }, caller) =>
      patch(caller, {
        action: 'deletePropertyValues',
        items: data.map(({ asset_id, key }) => ({ assetId: asset_id, change: 'no_property', key })),
        headers,
      }),
  }
}

type WriteMeta = {
  source?: Source
  discovery?: { jobId: string; runId: string }
  campaign?: { id: string; name: string }
}

type PutOptions = {
  caller: Caller
  assets: AssetDocument[]
  meta: WriteMeta | undefined
  strict: boolean
  /**
   * Whether the request writes one asset, so that its first fault fails the request. In a batch, each fault becomes the
   * result of its item.
   */
  single: boolean
  itemErrors?: ItemErrors | undefined
}

/**
 * Checks and normalises the assets of a request. The applier later checks again only those conditions that may have
 * changed. A large batch is prepared in several turns of the event loop.
 */
export async function putPayload(
  own: InventoryContext,
  handle: Handle,
  { caller, assets, meta, strict, single, itemErrors }: PutOptions,
): Promise<PutPayload> {
  const defaultGroupId = await defaultGroupOf(own, handle)
  const groups: GroupsByName = new Map()
  const source = sourceOf(meta?.source)
  const items: (PutItem | RefusedItem)[] = []
  const yieldTurn = createYield(caller.tenantId)
  const normalised: NormalisedAsset[] = []
  for (const [index, asset] of assets.entries()) {
    await yieldTurn()
    normalised.push(normalisedAsset(itemErrors?.has(index) ? {} : asset))
  }
  const documents = normalised.map(({ document }) => document)
  const schemaFaults = await own.schemas.faultsOfWrites(handle, documents)
  for (const [index, asset] of normalised.entries()) {
    await yieldTurn()
    const pointer = single ? '/data/asset' : `/data/assets/${index}`
    const check = () => {
      const malformed = itemErrors?.get(index)
      if (malformed !== undefined) throw malformed
      const validated = { ...asset, faults: [...asset.faults, ...(schemaFaults[index] ?? [])] }
      return putItem(handle, { caller, validated, pointer, source, defaultGroupId, groups })
    }
    items.push(single ? await check() : await itemOrRefusal(check))
  }
  const mayRelate = may(caller, 'glb_inventory_write_relation_data')
  const { discovery, campaign } = caller.principal.kind === 'gateway' ? (meta ?? {}) : {}
  return {
    items,
    source,
    strict,
    mayRelate,
    defaultGroupId,
    ...(discovery === undefined ? {} : { discovery }),
    ...(campaign === undefined ? {} : { cause: { kind: 'campaign', ...campaign } }),
  }
}

/** Returns a handle that takes a connection for each statement, so that no connection is held between the statements. */
export function connectionPerStatement(database: Database, caller: Caller): Handle {
  return {
    tenantId: caller.tenantId,
    rows: (statement, ...values) => database.read(caller, (handle) => handle.rows(statement, ...values)),
    row: (statement, ...values) => database.read(caller, (handle) => handle.row(statement, ...values)),
    run: (statement, ...values) => database.read(caller, (handle) => handle.run(statement, ...values)),
  }
}

/**
 * Returns the id of the default access group. It is cached, because the default group can be neither renamed nor deleted.
 * Returns an empty text while the group does not exist.
 */
export async function defaultGroupOf({ defaultGroups }: InventoryContext, handle: Handle): Promise<string> {
  const cachedId = defaultGroups.get(handle.tenantId)
  if (cachedId !== undefined) return cachedId
  const id = (await findAccessGroupByName(handle, defaultAccessGroup))?.id
  if (id !== undefined) defaultGroups.set(handle.tenantId, id)
  return id ?? ''
}

export type GroupsByName = Map<string, AccessGroupRow | undefined>
type NormalisedAsset = ReturnType<typeof normalisedAsset>
type Item = {
  caller: Caller
  validated: NormalisedAsset
  pointer: string
  source: WriteSource
  defaultGroupId: string
  groups: GroupsByName
}

export function normalisedAsset({ access_group: group, ...rest }: AssetDocument) {
  const { document, faults } = normaliseAsset(rest)
  const isNamed = group === undefined || group === null || typeof group === 'string'
  const groupFault = { pointer: '/access_group', code: 'type', detail: 'must be a string' }
  return { document, group, faults: isNamed ? faults : [...faults, groupFault] }
}

async function putItem(
  handle: Handle,
  { caller, validated, pointer, source, defaultGroupId, groups }: Item,
): Promise<PutItem> {
  const { document, group: wantedGroup, faults } = validated
  const isDiscovery = caller.principal.kind === 'gateway' && source.type === 'discovery'
  const wrong = isDiscovery ? [...faults, ...reservedIdentifiers(document)] : faults
  if (wrong.length > 0) throw invalid(wrong, pointer)
  const accessGroupId =
    wantedGroup === undefined || wantedGroup === null
      ? undefined
      : await writableGroup(handle, caller, { group: String(wantedGroup), pointer: `${pointer}/access_group`, groups })
  if (accessGroupId === undefined && !mayWriteAnywhere(caller, defaultGroupId))
    throw await permissionDeniedIn(handle, caller, { permission: writeAssets, accessGroupId: defaultGroupId })
  if (accessGroupId === undefined && defaultGroupId === '') throw noDefaultGroup(pointer)
  const { asset_identifiers: identifiers = [], asset_relations: relations = [], ...fields } = document
  return {
    asset: fields,
    identifiers: unique((identifiers as Identifier[]).map(storedIdentifier)),
    relations: ((relations ?? []) as AssetRelation[]).map((relation) => ({
      predicate: relation.predicate,
      related: relation.related_asset.asset_identifiers.map((identifier) => {
        return { key: keyOf(identifier), uncertainty: uncertaintyOf(identifier) }
      }),
      role: relation.relational_role_of_related_asset,
      bidirectional: relation.is_bidirectional === true,
    })),
    ...(accessGroupId === undefined ? {} : { accessGroupId }),
  }
}

/**
 * Returns a fault for each reserved identifier. A discovered device with such an identifier would replace a gateway or an
 * asset link.
 */
function reservedIdentifiers({ asset_identifiers: identifiers }: Record<string, unknown>): FieldError[] {
  return objectsOf(identifiers).flatMap((identifier, index) =>
    isReservedIdentifier(identifier)
      ? [
          {
            pointer: `/asset_identifiers/${index}/name`,
            code: 'reserved',
            detail: `${identifier.name} is reserved for the platform`,
          },
        ]
      : [],
  )
}

function noDefaultGroup(pointer: string): Problem {
  const detail = `The tenant has no access group "${defaultAccessGroup}". Create this access group, or set access_group to another one`
  const errors = [{ pointer: `${pointer}/access_group`, code: 'access_group_not_found', detail }]
  return new Problem('access_group_not_found', detail, { errors })
}

/**
 * Returns whether a write without an access group is accepted. An existing asset stays in its group, so the permission to
 * write in any group is enough. The applier later checks the group of the asset.
 */
export function mayWriteAnywhere(caller: Caller, defaultGroupId: string): boolean {
  return (
    mayIn(caller, 'inventory_write_asset_data', defaultGroupId) ||
    caller.rights.inGroups.has('inventory_write_asset_data')
  )
}

function unique(identifiers: StoredIdentifier[]): StoredIdentifier[] {
  return [...new Map(identifiers.map((identifier) => [identifier.key, identifier])).values()]
}

/** Returns the source of a write. A string, or an object without a type, means discovery. No source means manual. */
function sourceOf(source: Source | undefined): WriteSource {
  if (source === undefined) return { type: 'manual' }
  if (typeof source === 'string') return { type: 'discovery', value: source }
  return { type: source.type ?? 'discovery', ...(source.value === undefined ? {} : { value: source.value }) }
}

export async function writableGroup(
  handle: Handle,
  caller: Caller,
  { group, pointer, groups = new Map() }: { group: string; pointer: string; groups?: GroupsByName },
): Promise<string> {
  const accessGroup = groups.has(group) ? groups.get(group) : await findGroup(handle, group)
  groups.set(group, accessGroup)
  const visible =
    accessGroup !== undefined &&
    (mayIn(caller, 'inventory_read_asset_data', accessGroup.id) ||
      mayIn(caller, 'inventory_write_asset_data', accessGroup.id))
  if (!visible || accessGroup === undefined)
    throw at('access_group_not_found', pointer, 'is not an access group that the caller can read')
  if (!mayIn(caller, writeAssets, accessGroup.id))
    throw permissionDenied({ permission: writeAssets, accessGroup: accessGroup.name, pointer })
  return accessGroup.id
}

async function findGroup(handle: Handle, group: string): Promise<AccessGroupRow | undefined> {
  const isId = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(group)
  const named = await findAccessGroupByName(handle, group)
  return named ?? (isId ? await findAccessGroup(handle, group.toLowerCase()) : undefined)
}

/**
 * Requires that the caller can write the asset in the path of the request. Missing and hidden assets return the same
 * error.
 */
export async function requireWritable(handle: Handle, caller: Caller, id: string): Promise<void> {
  const group = (await findGroups(handle, [id])).get(id)
  if (group !== undefined && mayIn(caller, 'inventory_write_asset_data', group)) return
  if (group !== undefined && mayIn(caller, 'inventory_read_asset_data', group))
    throw await permissionDeniedIn(handle, caller, { permission: writeAssets, accessGroupId: group })
  throw new Problem('not_found', `Asset ${id} does not exist`)
}

const writeAssets = 'inventory_write_asset_data'

function at(code: 'access_group_not_found' | 'property_not_found', pointer: string, detail: string): Problem {
  return new Problem(code, `${pointer} ${detail}`, { errors: [{ pointer, code, detail }] })
}

export function invalid(faults: readonly FieldError[], below: string): Problem {
  const errors = limitedErrors(faults.values().map((fault) => ({ ...fault, pointer: below + fault.pointer })))
  const unknownSchema = faults.find(({ code }) => code === 'schema_not_found')
  const details = errors.slice(0, 3).map(({ pointer, detail }) => `${pointer} ${detail}`)
  return new Problem(unknownSchema === undefined ? 'invalid_asset' : 'schema_not_found', details.join('; '), { errors })
}

/** Returns the time of a state in the past. A time in the future is not used, because the clocks of two machines can differ. */
function timeOf(time: string | undefined): { time?: string } {
  if (time === undefined || Date.parse(time) > Date.now()) return {}
  return { time: new Date(time).toISOString() }
}
