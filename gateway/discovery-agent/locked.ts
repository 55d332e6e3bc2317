import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { lockedText } from '../job-credentials.ts'
import { addressIn, canonical } from './device-address.ts'
import type { FoundError } from './device-error.ts'

/** Where a device is: as its link says it, and as the cloud knows addresses. */
export type Place = { connection: ConnectionParameterSet; key: string; address: string | undefined }

/** A device that wants to know who asks, at an address for which credentials can be asked for. */
export type Locked = { place: Place & { address: string }; error: DeviceError }

export function placeOf(connection: ConnectionParameterSet): Place {
  const { parameterJson } = connection
  try {
    const parameters: unknown = JSON.parse(parameterJson)
    return { connection, key: canonical(parameters), address: addressIn(parameters) }
  } catch {
    return { connection, key: parameterJson, address: addressIn({ address: parameterJson }) }
  }
}

/** Undefined where it is another error, or where nobody could say whose credentials would fit. */
export function lockedOf({ error, connection }: FoundError): Locked | undefined {
  if (error.code !== Code.UNAUTHENTICATED || connection === undefined) return undefined
  const { address, ...place } = placeOf(connection)
  return address === undefined ? undefined : { place: { ...place, address }, error }
}

export function stillLocked({ error }: Locked, refused: number): DeviceError {
  return { ...error, description: lockedText(refused) }
}

export function withoutCredentials({ error }: Locked, why: string): DeviceError {
  return { ...error, description: `The device is protected, and no credentials could be asked for: ${why}` }
}

/** The link answered something else than a refusal, so it is unknown whether the credentials are correct. */
export function unreadable({ error }: Locked, { code, reason }: { code: number; reason: string }): DeviceError {
  const description = `The device is protected, and the link could not read it with credentials: ${reason}`
  return { ...error, code, description: description.slice(0, 4_000) }
}

export function unsupported({ error }: Locked): DeviceError {
  return {
    ...error,
    description:
      'The device is protected, and this link does not support credentials: it scanned all devices again instead of this one',
  }
}

export function silent({ error }: Locked): DeviceError {
  return {
    ...error,
    code: Code.UNAVAILABLE,
    description: 'The device did not answer when it was asked with credentials',
  }
}
