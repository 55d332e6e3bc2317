import { discovery } from '@millwright/api/discovery.ts'
import { identity } from '@millwright/api/identity.ts'
import { platformIdentifiers } from '@millwright/api/inventory/identity.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type onboarding, onboardingLimits } from '@millwright/api/onboarding.ts'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import { remoteAccess } from '@millwright/api/remote-access.ts'
import { validate as isUuid } from 'uuid'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDenied } from '../../platform/access/permission-denied.ts'
import { isVisibleGroup, may, mayIn } from '../../platform/access/rights.ts'
import { findAccessGroup, findAccessGroupByName } from '../../platform/access/store.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { isReadableGateway, readableGateways } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { putDirectoryEntry, removeDirectoryEntries } from '../../platform/tenants/store.ts'
import { createEnrolmentToken, hashOf, writeVersion } from './enrolment.ts'
import { showGateway, stateOf, withAssets } from './gateway.ts'
import { reachabilityTopic } from './reachability.ts'
import * as store from './store.ts'

type Operations = Exclude<
  keyof Handlers<typeof onboarding>,
  'enrol' | 'getGatewayPackage' | 'revokeGateway' | 'revokeDeletedGateways'
>

const statusWaitSeconds = 30

export function gatewayHandlers(context: Context): Pick<Handlers<typeof onboarding>, Operations> {
  const { database, settings } = context
  return {
    async createGateway({ body: { data } }, caller) {
      const asset = await createAsset(context, caller, data)
      const row = await database.transaction(caller, async (tx) => {
        const made = await store.insertGateway(tx, { ...asset, name: data.name })
        if (!(await putDirectoryEntry(tx, { kind: 'gateway', key: asset.id, principalId: asset.id })))
          throw new Problem('already_exists', 'A gateway with this id already exists')
        const detail = { name: data.name }
        await record(tx, caller, { action: 'onboarding.createGateway', target: `gateway/${asset.id}`, detail })
        await emit(tx, { type: 'onboarding.gateway.created', subject: `gateway/${asset.id}`, data: detail })
        return made
      })
      return answer(201, { data: showGateway(row, new Date()) }, { location: `/onboarding/v1/gateways/${asset.id}` })
    },

    async listGateways({ query: { limit = 50, offset = 0 } }, caller) {
      const ids = await readableGateways(context, caller)
      const { rows, total } = await database.read(caller, (handle) =>
        store.listGateways(handle, { limit, offset, ids }),
      )
      const now = new Date()
      return {
        data: (await withAssets(context, caller, rows)).map((row) => showGateway(row, now)),
        meta: { totalElements: total, elements: rows.length, offset },
      }
    },

    async getGateway({ params: { id } }, caller) {
      const row = await findReadable(context, caller, id)
      const [current = row] = await withAssets(context, caller, [row])
      return { data: showGateway(current, new Date()) }
    },

    async createGatewayConfig({ params: { id } }, caller) {
      await findReadable(context, caller, id)
      await requireWritable(context, caller, id)
      const enrolmentToken = createEnrolmentToken()
      const row = await database.transaction(caller, async (tx) => {
        const before = await store.lockGateway(tx, id)
        if (before === undefined) throw missing(id)
        if (before.revokedAt !== null)
          throw new Problem('gateway_revoked', 'A revoked gateway cannot enrol again. Create a new gateway instead.')
        const after = await store.setConfig(tx, {
          id,
          hash: hashOf(enrolmentToken),
          minutes: onboardingLimits.configMinutes,
        })
        await record(tx, caller, { action: 'onboarding.createGatewayConfig', target: `gateway/${id}` })
        await emit(tx, { type: 'onboarding.gateway.config-created', subject: `gateway/${id}`, data: {} })
        return after ?? before
      })
      const authority = settings.gatewayAuthority()
      return answer(
        201,
        {
          schema: 'millwright.gateway-config.v1' as const,
          baseUrl: settings.baseUrl,
          gatewayId: id,
          name: row.name,
          enrolmentToken,
          expiresTimestamp: row.configExpiresAt ?? new Date().toISOString(),
          ...(authority === undefined ? {} : { tls: { authority } }),
        },
        { 'content-disposition': 'attachment; filename="gateway-config.json"', 'cache-control': 'no-store' },
      )
    },

    async deleteGateway({ params: { id } }, caller) {
      const { name } = await findReadable(context, caller, id)
      const system = systemCaller(caller)
      await context.peers(identity, system).deleteGateway({ params: { id } })
      await context.peers(discovery, system).endGatewayRuns({ params: { gatewayId: id } })
      await context.peers(remoteAccess, system).endGatewaySessions({ params: { gatewayId: id } })
      // If the asset is already deleted, the applied write fails with `asset_not_found`. This failure is ignored.
      await context.peers(inventory, system).deleteAssets({ body: { data: { ids: [id] } } })
      return database.transaction(caller, async (tx) => {
        await removeDirectoryEntries(tx, id)
        await store.deleteGateway(tx, id)
        await record(tx, caller, { action: 'onboarding.deleteGateway', target: `gateway/${id}`, detail: { name } })
        await emit(tx, { type: 'onboarding.gateway.deleted', subject: `gateway/${id}`, data: { name } })
        return answer(204)
      })
    },

    async recordSeen({ params: { id }, body: { data } }, caller) {
      const before = await find(context, caller, id)
      const isBack = stateOf(before, new Date()) === 'offline'
      // The version is stored only when the inventory accepted its write to the asset. Otherwise the next report writes it
      // again.
      const isNoted =
        data.version === undefined ||
        data.version === before.softwareVersion ||
        (await writeVersion(context, caller, { id, version: data.version }))
      await database.transaction(caller, async (tx) => {
        await store.setSeen(tx, id, { version: isNoted ? data.version : undefined, host: data.host })
        if (before.reachability !== 'reached') tx.signal(reachabilityTopic)
        if (isBack) await emit(tx, { type: 'onboarding.gateway.online', subject: `gateway/${id}`, data: {} })
      })
      return answer(204)
    },

    async resolveGateway({ params: { id } }, caller) {
      const row = await find(context, caller, id)
      const [current = row] = await withAssets(context, caller, [row])
      const { name, access_group, state, version, keyThumbprint } = showGateway(current, new Date())
      return {
        data: {
          id,
          name,
          access_group,
          state,
          ...(version === undefined ? {} : { version }),
          ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
        },
      }
    },
  }
}

async function find({ database }: Context, caller: Caller, id: string): Promise<store.GatewayRow> {
  const row = await database.read(caller, (handle) => store.findGateway(handle, id))
  if (row === undefined) throw missing(id)
  return row
}

/** Returns a gateway. Hidden and missing gateways return the same error. */
async function findReadable(context: Context, caller: Caller, id: string): Promise<store.GatewayRow> {
  const row = await find(context, caller, id)
  if (await isReadableGateway(context, caller, id)) return row
  throw missing(id)
}

/**
 * The permission that a caller needs to enrol a gateway in an access group. The gateway writes assets of this group, so the
 * caller must have the permission too.
 */
const writeAssets = 'inventory_write_asset_data'

/** Requires that the caller may write in the gateway's access group, which is read from the gateway's asset. */
async function requireWritable(context: Context, caller: Caller, id: string): Promise<void> {
  if (may(caller, writeAssets)) return
  const { data: asset } = await context
    .peers(inventory, systemCaller(caller))
    .readAsset({ params: { id }, query: { fields: 'id,access_group' } })
  const name = String(asset.access_group)
  const group = await context.database.read(caller, (handle) => findAccessGroupByName(handle, name))
  if (group !== undefined && mayIn(caller, writeAssets, group.id)) return
  const isVisible = group !== undefined && isVisibleGroup(caller.rights, group.id)
  throw permissionDenied({ permission: writeAssets, accessGroup: isVisible ? name : undefined })
}

/** Creates the asset of the gateway. The gateway gets the id of this asset. */
async function createAsset(
  context: Context,
  caller: Caller,
  { name, access_group }: { name: string; access_group?: string },
): Promise<{ id: string; accessGroupId: string }> {
  const accessGroupId = await groupOf(context, caller, access_group ?? defaultAccessGroup)
  const client = context.peers(inventory, systemCaller(caller))
  const asset = {
    functional_object_type: 'Gateway',
    name,
    asset_identifiers: [
      { asset_identifier_type: 'CustomIdentifier', name: platformIdentifiers.gateway, value: newId() },
    ],
    access_group: accessGroupId,
  }
  const { data } = await client.createAsset({ body: { data: { asset } } })
  const { data: status } = await client.readStatus({
    params: { id: data.statusId },
    query: { wait: statusWaitSeconds },
  })
  const { assetId } = (status.detail.result ?? {}) as { assetId?: string }
  if (assetId !== undefined) return { id: assetId, accessGroupId }
  throw new Problem('unavailable', 'The asset of the gateway could not be created. Retry the request.', {
    retryAfter: 5,
  })
}

async function groupOf({ database }: Context, caller: Caller, nameOrId: string): Promise<string> {
  const group = await database.read(caller, (handle) =>
    isUuid(nameOrId) ? findAccessGroup(handle, nameOrId) : findAccessGroupByName(handle, nameOrId),
  )
  if (group !== undefined && mayIn(caller, writeAssets, group.id)) return group.id
  if (group !== undefined && mayIn(caller, 'inventory_read_asset_data', group.id))
    throw permissionDenied({ permission: writeAssets, accessGroup: group.name })
  const detail = `Access group ${nameOrId} does not exist`
  throw fieldProblem('access_group_not_found', '/data/access_group', detail)
}

function missing(id: string): Problem {
  return new Problem('not_found', `Gateway ${id} does not exist`)
}
