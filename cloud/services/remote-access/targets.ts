import { credentials } from '@millwright/api/credentials.ts'
import type { OfferedCredential } from '@millwright/api/credentials-shapes.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import {
  defaultRemotePolicy,
  type RemotePolicy,
  type RemoteTarget,
  type remoteAccess,
} from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { describeAssets } from './assets.ts'
import { policyOf } from './policy-store.ts'
import { switchStates } from './switch-store.ts'
import { canonicalAddress, connectionAddresses, isPossibleTarget } from './target-address.ts'
import { listTunnels } from './tunnel-store.ts'

/**
 * The rules for targets in the cloud. A session reaches only an address at which a gateway found the device of the asset,
 * and which is also in the connection points of the asset. Host names are never resolved. The gateway checks its own rules
 * in addition.
 */

/** A gateway and an address with which a session can reach a device. */
export type Route = {
  gatewayId: string
  address: string
  /** Whether the asset was found at this address first. */
  isOwnAddress: boolean
  isConnected: boolean
  isEnabled: boolean
}

export type AssetTarget = {
  assetId: string
  assetName: string
  accessGroupId: string
  policy: RemotePolicy
  isTenantEnabled: boolean
  /** The best route first. */
  routes: Route[]
  /** Whether a gateway found the device at an address that is not in the connection points of the asset. */
  hasOtherAddresses: boolean
}

/** Returns how an asset can be reached. Hidden and missing assets return the same error, with the given code. */
export async function findTarget(
  context: Context,
  caller: Caller,
  { assetId, missing }: { assetId: string; missing: 'asset_not_found' | 'not_found' },
): Promise<AssetTarget> {
  const asset = await readAsset(context, caller, { assetId, missing })
  const described = (await describeAssets(context, caller, [assetId])).get(assetId)
  if (described === undefined || described.isDeleted) throw missingAsset(assetId, missing)
  const { accessGroupId, isGatewayOrLink } = described
  const permission = 'remote_access_connect'
  if (!mayIn(caller, permission, accessGroupId))
    throw await context.database.read(caller, (handle) =>
      permissionDeniedIn(handle, caller, { permission, accessGroupId }),
    )
  if (isGatewayOrLink)
    throw new Problem(
      'target_not_allowed',
      'The asset is a gateway or an asset link of the platform. Sessions are possible only to other assets',
    )
  const { data: found } = await context
    .peers(discovery, systemCaller(caller))
    .listDeviceAddresses({ params: { id: assetId } })
  const known = connectionAddresses(asset)
  const reachable = found.flatMap(({ gatewayId, address, isOwn }) => {
    const canonical = canonicalAddress(address)
    if (canonical === undefined || !known.has(canonical) || !isPossibleTarget(canonical)) return []
    return [{ gatewayId, address: canonical, isOwnAddress: isOwn }]
  })
  const gatewayIds = [...new Set(reachable.map(({ gatewayId }) => gatewayId))]
  const { policy, switches, tunnels } = await context.database.read(caller, async (handle) => ({
    policy: await policyOf(handle, accessGroupId),
    switches: await switchStates(handle, gatewayIds),
    tunnels: new Set((await listTunnels(handle, gatewayIds)).map(({ gatewayId }) => gatewayId)),
  }))
  const routes = reachable.map((route) => ({
    ...route,
    isConnected: tunnels.has(route.gatewayId),
    isEnabled: !switches.disabledGateways.has(route.gatewayId),
  }))
  return {
    assetId,
    assetName: typeof asset.name === 'string' ? asset.name : assetId,
    accessGroupId,
    policy,
    isTenantEnabled: switches.isTenantEnabled,
    routes: routes.toSorted((a, b) => rankOf(b) - rankOf(a)),
    hasOtherAddresses: found.length > reachable.length,
  }
}

/** Prefers gateways that are switched on and connected, and the address at which the asset was found first. */
function rankOf({ isEnabled, isConnected, isOwnAddress }: Route): number {
  return Number(isEnabled) * 4 + Number(isConnected) * 2 + Number(isOwnAddress)
}

async function readAsset(
  { peers }: Context,
  caller: Caller,
  { assetId, missing }: { assetId: string; missing: 'asset_not_found' | 'not_found' },
): Promise<Record<string, unknown>> {
  try {
    const query = { fields: 'id,name,connection_points' }
    return (await peers(inventory, caller).readAsset({ params: { id: assetId }, query })).data
  } catch (error) {
    if (!(error instanceof Problem) || !['forbidden', 'not_found'].includes(error.code)) throw error
    throw missingAsset(assetId, missing)
  }
}

function missingAsset(assetId: string, code: 'asset_not_found' | 'not_found'): Problem {
  return new Problem(code, `Asset ${assetId} does not exist`)
}

/**
 * Returns the route of a session. Throws the reason why there is none. A session that waits for an approval needs no gateway
 * that is connected now.
 */
export function requireRoute(target: AssetTarget, { mustBeConnected }: { mustBeConnected: boolean }): Route {
  if (!target.isTenantEnabled)
    throw new Problem(
      'remote_access_off',
      'Remote access is switched off for the tenant. Ask an administrator to switch it on',
    )
  const [route] = target.routes
  if (route === undefined) {
    const reason = target.hasOtherAddresses
      ? 'No address at which a gateway found the device is in the connection points of the asset. Add the address to the asset'
      : 'No gateway has found the device of this asset at an IP address. Run a scan that finds the asset'
    throw new Problem('no_address', reason)
  }
  if (!route.isEnabled)
    throw new Problem(
      'remote_access_off',
      `Remote access through gateway ${route.gatewayId} is switched off. Ask an administrator to switch it on`,
    )
  if (mustBeConnected && !route.isConnected)
    throw new Problem(
      'gateway_offline',
      `Gateway ${route.gatewayId} is not connected for remote access. Check that the gateway runs and reaches the platform`,
    )
  return route
}

/** Requires that the policy of the access group allows a port. */
export function requirePort({ policy }: Pick<AssetTarget, 'policy'>, port: number): void {
  if (policy.ports.includes(port)) return
  throw new Problem(
    'target_not_allowed',
    `The policy of the access group does not allow port ${port}. Allowed ports: ${policy.ports.join(', ') || 'none'}. Ask an administrator to add the port`,
  )
}

export function targetHandlers(context: Context): Pick<Handlers<typeof remoteAccess>, 'readTarget'> {
  return {
    async readTarget({ params: { id } }, caller) {
      const isWebAvailable = context.settings.remoteAccessHost !== undefined
      const target = await findTarget(context, caller, { assetId: id, missing: 'not_found' }).catch(
        (error: unknown) => {
          if (error instanceof Problem && ['forbidden', 'target_not_allowed'].includes(error.code)) return error
          throw error
        },
      )
      if (target instanceof Problem) return { data: await blockedTarget(context, caller, target) }
      const [route] = target.routes
      const problem = problemOf(target)
      return {
        data: {
          isEnabled: target.isTenantEnabled && (route === undefined || route.isEnabled),
          ...(route === undefined ? {} : { gatewayId: route.gatewayId }),
          isGatewayConnected: route?.isConnected === true,
          addresses: [...new Set(target.routes.map(({ address }) => address))],
          policy: target.policy,
          credentials: route === undefined ? [] : await offeredCredentials(context, caller, { assetId: id, route }),
          isWebAvailable,
          ...(problem === undefined ? {} : { problem }),
        },
      }
    },
  }
}

/**
 * Returns the credentials that the caller can choose. The permission to connect is sufficient, because the caller does not
 * see their values.
 */
async function offeredCredentials(
  { peers }: Context,
  caller: Caller,
  { assetId, route: { address, isOwnAddress } }: { assetId: string; route: Route },
): Promise<OfferedCredential[]> {
  const body = { data: { assetId, address, isOwnAddress } }
  return (await peers(credentials, systemCaller(caller)).listChoices({ body })).data
}

/** Returns the target of an asset to which the caller can open no session at all. */
async function blockedTarget(
  { database, settings }: Context,
  caller: Caller,
  { code, message }: Problem,
): Promise<RemoteTarget> {
  const { isTenantEnabled } = await database.read(caller, (handle) => switchStates(handle, []))
  return {
    isEnabled: isTenantEnabled,
    isGatewayConnected: false,
    addresses: [],
    policy: defaultRemotePolicy,
    credentials: [],
    isWebAvailable: settings.remoteAccessHost !== undefined,
    problem: { code, detail: message },
  }
}

function problemOf(target: AssetTarget): { code: string; detail: string } | undefined {
  try {
    requireRoute(target, { mustBeConnected: target.policy.approval === 'none' })
    return undefined
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, detail: error.message }
    throw error
  }
}
