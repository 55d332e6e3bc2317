import { type OnboardedGateway, onboardingLimits } from '@millwright/api/onboarding.ts'
import type { GatewayRow } from './store.ts'

/** Where a gateway is on its way, seen at a moment. */
export function stateOf(row: GatewayRow, now: Date): OnboardedGateway['state'] {
  if (row.revokedAt !== null) return 'revoked'
  if (row.enrolledAt === null)
    return row.configExpiresAt !== null && Date.parse(row.configExpiresAt) <= now.getTime()
      ? 'config_expired'
      : 'created'
  const silentMs = now.getTime() - Date.parse(row.lastSeenAt ?? row.enrolledAt)
  return silentMs <= onboardingLimits.offlineAfterSeconds * 1000 ? 'online' : 'offline'
}

export function showGateway(row: GatewayRow, now: Date): OnboardedGateway {
  return {
    id: row.id,
    name: row.name,
    access_group: row.accessGroupId,
    state: stateOf(row, now),
    ...(row.softwareVersion === null ? {} : { version: row.softwareVersion }),
    ...(row.configExpiresAt === null ? {} : { configExpiresTimestamp: row.configExpiresAt }),
    ...(row.enrolledAt === null ? {} : { enrolledTimestamp: row.enrolledAt }),
    ...(row.lastSeenAt === null ? {} : { lastSeenTimestamp: row.lastSeenAt }),
    ...(row.keyThumbprint === null ? {} : { keyThumbprint: row.keyThumbprint }),
    createdTimestamp: row.createdAt,
  }
}
