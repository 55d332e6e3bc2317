import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type OnboardedGateway, onboardingLimits } from '@millwright/api/onboarding.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import type { GatewayRow } from './store.ts'

/** Returns the state of a gateway at a point in time. */
export function stateOf(row: GatewayRow, now: Date): OnboardedGateway['state'] {
  if (row.revokedAt !== null) return 'revoked'
  if (row.enrolledAt === null)
    return row.configExpiresAt !== null && Date.parse(row.configExpiresAt) <= now.getTime()
      ? 'config_expired'
      : 'created'
  const silentMs = now.getTime() - Date.parse(row.lastSeenAt ?? row.enrolledAt)
  return silentMs <= onboardingLimits.offlineAfterSeconds * 1000 ? 'online' : 'offline'
}

/**
 * Returns gateways with the current name and access group of their assets, because users rename and move assets. If a
 * gateway has no asset, it has the name and the access group from its creation.
 */
export async function withAssets(
  { peers }: Pick<Context, 'peers'>,
  caller: Caller,
  rows: readonly GatewayRow[],
): Promise<GatewayRow[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const { data } = await peers(inventory, systemCaller(caller)).describeGateways({ body: { data: { ids } } })
  const assets = new Map(data.map((asset) => [asset.id, asset]))
  return rows.map((row) => {
    const { name, accessGroupId } = assets.get(row.id) ?? row
    return { ...row, name: name ?? row.name, accessGroupId }
  })
}

export function showGateway(row: GatewayRow, now: Date): OnboardedGateway {
  return {
    id: row.id,
    name: row.name,
    access_group: row.accessGroupId,
    state: stateOf(row, now),
    ...(row.softwareVersion === null ? {} : { version: row.softwareVersion }),
    ...(row.host === null ? {} : { host: row.host }),
    ...(row.configExpiresAt === null ? {} : { configExpiresTimestamp: row.configExpiresAt }),
    ...(row.enrolledAt === null ? {} : { enrolledTimestamp: row.enrolledAt }),
    ...(row.lastSeenAt === null ? {} : { lastSeenTimestamp: row.lastSeenAt }),
    ...(row.keyThumbprint === null ? {} : { keyThumbprint: row.keyThumbprint }),
    createdTimestamp: row.createdAt,
  }
}
