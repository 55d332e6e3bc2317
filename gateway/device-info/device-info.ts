import { status } from '@grpc/grpc-js'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { linkServices } from '@millwright/api/link-protocol.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { GetPropertyValuesResponse } from '@millwright/api/proto/generated/device-info_pb.js'
import type { SupportedProperty } from '@millwright/api/proto/generated/properties_pb.js'
import { dataTypeOf, jsonOf } from '@millwright/api/variant.ts'
import type { Credential } from '../job-credentials.ts'
import { isServiceError, type LinkClient } from '../link-client.ts'
import { documentsOf, isDocument } from '../mapping/document.ts'

/** Questions to one device, through a link that knows it. */

export type PropertyResult =
  | { key: string; value: unknown }
  | { key: string; error: { code: number; name: string; description: string } }

const { getPropertyValues, getSupportedProperties } = linkServices.deviceInfo.method

/** The cloud waits 25 seconds for an answer. */
const answerMs = 20_000

/** Which device is meant, as links expect it: its identifiers, or the address that a link itself gave. */
export function deviceOf(definition: Record<string, unknown>, credential?: Credential) {
  const { connection, assetIdentifiers } = definition
  const parameters = isDocument(connection) ? connection : { asset_identifiers: documentsOf(assetIdentifiers) }
  const credentials =
    credential === undefined ? [] : [{ schemaUri: credential.schemaUri, credentials: credential.secret.reveal() }]
  const value = { schemaUri: baseSchemaUrl, parameterJson: JSON.stringify(parameters), credentials }
  return { target: { case: 'connectionParameterSet' as const, value } }
}

type Asking = { device: ReturnType<typeof deviceOf>; signal: AbortSignal }

/** One result for each key, in their order; what the link sends beyond that is left out. */
export async function readProperties(
  link: LinkClient,
  keys: readonly string[],
  { device, signal }: Asking,
): Promise<PropertyResult[]> {
  if (keys.length === 0) return []
  const options = { signal, deadlineMs: answerMs }
  const answer = await link.call(getPropertyValues, { device, keys: [...new Set(keys)] }, options)
  const told = resultsByKey(answer)
  const isComplete = keys.every((key) => told.has(key))
  const supported = isComplete ? new Set<string>() : await supportedKeys(link, { device, signal })
  return keys.map((key) => told.get(key) ?? missing(key, supported))
}

function resultsByKey({ propertyResults }: GetPropertyValuesResponse): Map<string, PropertyResult> {
  const results = new Map<string, PropertyResult>()
  for (const { result } of propertyResults) {
    if (result.case === 'error') {
      const { key, resultCode, description } = result.value
      results.set(key, { key, error: { code: resultCode, name: Code[resultCode] ?? 'UNKNOWN', description } })
    }
    if (result.case !== 'property') continue
    const { key, value } = result.value
    const plain = value === undefined ? undefined : jsonOf(value)
    if (plain !== undefined) results.set(key, { key, value: plain })
  }
  return results
}

/** None when the link cannot tell. */
async function supportedKeys(link: LinkClient, { device, signal }: Asking): Promise<Set<string>> {
  try {
    const { properties } = await link.call(getSupportedProperties, { device }, { signal, deadlineMs: answerMs / 4 })
    return new Set(properties.map(({ key }) => key))
  } catch {
    return new Set()
  }
}

function missing(key: string, supported: ReadonlySet<string>): PropertyResult {
  return supported.has(key)
    ? { key, error: problem(Code.FAILED_PRECONDITION, 'The device did not provide the property') }
    : { key, error: problem(Code.INVALID_ARGUMENT, 'There is no such property') }
}

function problem(code: Code, description: string) {
  return { code, name: Code[code], description }
}

export async function supportedProperties(link: LinkClient, { device, signal }: Asking) {
  const { properties } = await link.call(getSupportedProperties, { device }, { signal, deadlineMs: answerMs })
  return properties.map(describeProperty)
}

function describeProperty({ key, type }: SupportedProperty) {
  switch (type.case) {
    case 'datatype':
      return { key, dataType: dataTypeOf(type.value) }
    case 'schemaUri':
      return { key, schemaUri: type.value }
    case 'contentType':
      return { key, contentType: type.value }
    default:
      return { key }
  }
}

/** Nobody answered: the link, or the device behind it. */
export function isUnreachable(error: unknown): boolean {
  return isServiceError(error) && [status.UNAVAILABLE, status.DEADLINE_EXCEEDED].includes(error.code)
}

/** The device wants to know who asks. */
export function isLocked(error: unknown): boolean {
  return isServiceError(error) && error.code === status.UNAUTHENTICATED
}
