import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { addressOfDevice, type CredentialStart } from '../../credentials/flow/credential-start.ts'
import type { RejectedCredentials } from './error-devices.ts'
import { timeInRun } from './run-time.ts'

type RejectionsOfRun = {
  /** The credentials that a device rejected, by address. */
  rejected: ReadonlyMap<string, RejectedCredentials>
  run: DiscoveryRun
}

/** Returns the credentials that the device of an error rejected in this run. */
export function rejectedInRun({ device }: DeviceError, { rejected, run }: RejectionsOfRun): RejectedCredentials {
  const ofDevice = rejected.get(addressOfDevice(device) ?? '') ?? []
  return ofDevice.filter(({ lastFailedTimestamp }) => timeInRun(lastFailedTimestamp, run) === 'during')
}

/** Returns the credentials that most of the devices rejected in this run. */
export function mostRejected(
  errors: readonly DeviceError[],
  rejections: RejectionsOfRun,
): RejectedCredentials[number] | undefined {
  const all = errors.flatMap((error) => rejectedInRun(error, rejections))
  const groups = [...Map.groupBy(all, ({ instanceId }) => instanceId).values()]
  return groups.toSorted((one, other) => other.length - one.length)[0]?.[0]
}

/** Returns the data of the devices with which the flow for new credentials starts. */
export function credentialStartOf(
  { gatewayId, assetLinkId, jobId }: Discovery,
  errors: readonly DeviceError[],
): CredentialStart {
  const addresses = [...new Set(errors.flatMap(({ device }) => addressOfDevice(device) ?? []))].slice(
    0,
    credentialLimits.ipRanges,
  )
  return { gatewayId, assetLinkId, scanId: jobId, address: addresses[0], addresses }
}
