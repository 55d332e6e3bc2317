import type { Destination } from '@millwright/api/proto/generated/address_pb.js'
import { readCredential } from './credential.ts'
import type { Address, Target } from './define-link.ts'
import { LinkError } from './link-error.ts'

/** Converts a destination of the protocol to the target of a call. */
export function targetOf({ target }: Destination): Target {
  if (target.case === undefined) throw new LinkError('INVALID_ARGUMENT', 'The destination names no device.')
  if (target.case === 'connectionName') {
    return { address: {}, identifiers: [], credentials: [], connectionName: target.value }
  }
  const { parameterJson, credentials } = target.value
  return {
    ...targetOfJson(parameterJson === '' ? '{}' : parameterJson),
    credentials: credentials.map(({ schemaUri, credentials: text }) => readCredential({ schemaUri, text })),
  }
}

/** Converts connection parameters to the address and the identifiers of a device. */
export function targetOfJson(json: string): Pick<Target, 'address' | 'identifiers'> {
  const { asset_identifiers: identifiers, ...address } = fieldsIn(json)
  return { address, identifiers: Array.isArray(identifiers) ? identifiers.filter(isAddress) : [] }
}

function fieldsIn(json: string): Address {
  try {
    const fields: unknown = JSON.parse(json)
    if (isAddress(fields)) return fields
  } catch {
    // The error is thrown below. The same error is thrown for JSON that is not an object.
  }
  throw new LinkError('INVALID_ARGUMENT', 'The connection parameters are not a JSON object.')
}

function isAddress(value: unknown): value is Address {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
