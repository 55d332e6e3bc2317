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
  const { asset_identifiers: identifiers, ...address } = parameterJson === '' ? {} : fieldsIn(parameterJson)
  return {
    address,
    identifiers: Array.isArray(identifiers) ? identifiers.filter(isAddress) : [],
    credentials: credentials.map(({ schemaUri, credentials: text }) => readCredential({ schemaUri, text })),
  }
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
