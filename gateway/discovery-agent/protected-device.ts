import { canonicalJson } from '@millwright/api/canonical-json.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { addressIn } from '../device-info/device-address.ts'
import { protectedText } from '../job-credentials.ts'
import type { ReportedError } from './device-error.ts'

/**
 * `DeviceLocation` contains the connection through which a link reaches a device, and the IP address of the device if
 * it is known.
 */
export type DeviceLocation = { connection: ConnectionParameterSet; key: string; address: string | undefined }

/**
 * `ProtectedDevice` is a device that requires credentials and has a known IP address. The cloud needs the address to
 * select credentials.
 */
export type ProtectedDevice = { place: DeviceLocation & { address: string }; error: DeviceError }

export function locationOf(connection: ConnectionParameterSet): DeviceLocation {
  const { parameterJson } = connection
  try {
    const parameters: unknown = JSON.parse(parameterJson)
    return { connection, key: canonicalJson(parameters), address: addressIn(parameters) }
  } catch {
    return { connection, key: parameterJson, address: addressIn({ address: parameterJson }) }
  }
}

/**
 * Returns the protected device that an error is about. Returns undefined if the error has another reason, or if the
 * address of the device is unknown.
 */
export function protectedDeviceOf({ error, connection }: ReportedError): ProtectedDevice | undefined {
  if (error.code !== Code.UNAUTHENTICATED || connection === undefined) return undefined
  const { address, ...place } = locationOf(connection)
  return address === undefined ? undefined : { place: { ...place, address }, error }
}

export function rejectedError({ error }: ProtectedDevice, refused: number): DeviceError {
  return { ...error, description: protectedText(refused) }
}

export function withoutCredentials({ error }: ProtectedDevice, why: string): DeviceError {
  return { ...error, description: `The device is protected, and credentials could not be requested: ${why}` }
}

/**
 * Returns the error for a protected device that the link could not read for a reason other than rejected credentials.
 * In this case, it is unknown whether the credentials are correct.
 */
export function unreadable(
  { error }: ProtectedDevice,
  { code, reason }: { code: number; reason: string },
): DeviceError {
  const description = `The device is protected, and the asset link could not read the device with credentials: ${reason}`
  return { ...error, code, description: description.slice(0, 4_000) }
}

export function unsupported({ error }: ProtectedDevice): DeviceError {
  return {
    ...error,
    description:
      'The device is protected, and the asset link does not support credentials: it scanned all devices again instead of only this device',
  }
}

export function noResponseError({ error }: ProtectedDevice): DeviceError {
  return {
    ...error,
    code: Code.UNAVAILABLE,
    description: 'The device did not respond to the request with credentials',
  }
}
