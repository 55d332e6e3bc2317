import { networkOf } from '../../../platform/attempts.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Secrets } from '../../../platform/secrets/secrets.ts'
import * as store from '../store.ts'
import { deviceOf } from './device.ts'
import { sessionLimits } from './session-limits.ts'

/**
 * A sign-in is familiar if the user signed in before with the same program, browser and operating system from the same
 * network. Only keyed hashes of these values are stored. An unfamiliar device becomes known when the user confirms the
 * sign-in, so that all sign-ins of an attacker are shown.
 */

const purpose = 'known device'

export type SignInDevice = { clientId: string; userAgent: string; address: string | undefined }

function textOf(device: SignInDevice): string {
  return JSON.stringify([device.clientId, deviceOf(device), networkOf(device.address ?? '')])
}

/** Returns whether the device is known for the user. The first device of a user is familiar. */
export async function isFamiliar(
  tx: Transaction,
  secrets: Secrets,
  { principalId, device }: { principalId: string; device: SignInDevice },
): Promise<boolean> {
  const known = await store.listKnownDevices(tx, principalId)
  // A hash with an earlier key of the installation counts too.
  return known.length === 0 || known.some((hash) => secrets.isMac(purpose, textOf(device), hash))
}

/** Stores a device as known for the user. The devices that were not used for the longest time are deleted. */
export async function rememberDevice(
  tx: Transaction,
  secrets: Secrets,
  { principalId, device }: { principalId: string; device: SignInDevice },
): Promise<void> {
  const expiresAt = new Date(Date.now() + sessionLimits.knownDeviceDays * 86_400_000).toISOString()
  await store.putKnownDevice(tx, principalId, { device: secrets.mac(purpose, textOf(device)), expiresAt })
  const known = await store.listKnownDevices(tx, principalId)
  await store.deleteKnownDevices(tx, principalId, known.slice(sessionLimits.knownDevices))
}
