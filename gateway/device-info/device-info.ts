import type { MessageInitShape } from '@bufbuild/protobuf'
import { status } from '@grpc/grpc-js'
import { assetTypeOf, baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { linkServices } from '@millwright/api/link-protocol.ts'
import type { DestinationSchema } from '@millwright/api/proto/generated/address_pb.js'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { GetPropertyValuesResponse } from '@millwright/api/proto/generated/device-info_pb.js'
import type { SupportedProperty } from '@millwright/api/proto/generated/properties_pb.js'
import { dataTypeOf, jsonOf } from '@millwright/api/variant.ts'
import type { Credential } from '../job-credentials.ts'
import { isServiceError, type LinkClient, offers } from '../link-client.ts'
import { assetOfDevice, assetOfDocument, type MappingResult } from '../mapping/asset.ts'
import { decodeDevice } from '../mapping/decode.ts'
import { type Document, documentsOf, isDocument } from '../mapping/document.ts'
import { readIdentifiers } from '../mapping/reading.ts'
import { hasMember } from '../mapping/schema-fit.ts'
import type { DeviceConnection } from './device-connections.ts'

/**
 * This file reads one device through a link. Links of the current generation implement `GetPropertyValues` of the
 * device-info interface. Links that have only the identifiers interface implement `GetIdentifiers`, whose values become
 * properties.
 */

export type PropertyResult =
  | { key: string; value: unknown }
  | { key: string; error: { code: number; name: string; description: string } }

/** `ReadService` is the interface through which a link reads one device. */
export type ReadService = 'deviceInfo' | 'identifiers'

/**
 * `DeviceDestination` names the device that a link reads. It contains the connection of the device, and credentials if
 * the device is protected.
 */
export type DeviceDestination = MessageInitShape<typeof DestinationSchema>

const { getPropertyValues, getSupportedProperties } = linkServices.deviceInfo.method
const { getIdentifiers } = linkServices.identifiers.method

/** The time limit of a read. It is shorter than the 25 seconds that the cloud waits for an answer. */
export const answerMs = 20_000

/** Returns the service with which a link reads a single device, or undefined if the link has no such service. */
export function readServiceOf(link: { interfaces: readonly string[] }): ReadService | undefined {
  if (offers(link, 'deviceInfo')) return 'deviceInfo'
  return offers(link, 'identifiers') ? 'identifiers' : undefined
}

/** `DeviceAccess` is a set of credentials, with the address of the device for which the cloud selected it. */
export type DeviceAccess = { address: string; credential: Credential }

type DeviceOptions = {
  service: ReadService
  connection?: DeviceConnection | undefined
  access?: DeviceAccess | undefined
}

/**
 * Returns the device of a job as a destination for the link. The destination contains the connection that the link
 * reported or, if there is none, the address at which the link found the device. For links with the device-info interface,
 * it also contains the identifiers of the device. Other links find a device only by its address, so they get an address
 * that the device reported if no other is known.
 *
 * A destination with credentials names the address for which they were selected. The link must not send them to another
 * address, because devices report their identifiers and addresses themselves.
 */
export function deviceOf(definition: Document, { service, connection, access }: DeviceOptions): DeviceDestination {
  const { assetIdentifiers, addresses, foundAddresses } = definition
  const [first] = textsIn(service === 'identifiers' ? addresses : foundAddresses)
  const ipAddress = access?.address ?? first
  const identifiers = { asset_identifiers: documentsOf(assetIdentifiers) }
  const parameters = {
    ...identifiers,
    ...(ipAddress === undefined ? {} : { [service === 'identifiers' ? 'ipAddress' : 'ip_address']: ipAddress }),
  }
  if (connection === undefined)
    return destinationOf({ schemaUri: baseSchemaUrl, parameterJson: JSON.stringify(parameters) }, access?.credential)
  const parameterJson = service === 'identifiers' ? connection.parameterJson : extended(connection, identifiers)
  return destinationOf({ ...connection, parameterJson }, access?.credential)
}

/** Returns the parameters of a connection with further fields, or unchanged if they are not a JSON object. */
function extended({ parameterJson }: DeviceConnection, fields: Document): string {
  try {
    const parameters: unknown = JSON.parse(parameterJson)
    return isDocument(parameters) ? JSON.stringify({ ...fields, ...parameters }) : parameterJson
  } catch {
    return parameterJson
  }
}

type Connection = Omit<DeviceConnection, 'subdriverJson'> & Partial<DeviceConnection>

export function destinationOf(
  { schemaUri, parameterJson, subdriverJson = '' }: Connection,
  credential?: Credential,
): DeviceDestination {
  const credentials =
    credential === undefined ? [] : [{ schemaUri: credential.schemaUri, credentials: credential.secret.reveal() }]
  return { target: { case: 'connectionParameterSet', value: { schemaUri, parameterJson, subdriverJson, credentials } } }
}

type ReadOptions = { device: DeviceDestination; service: ReadService; signal: AbortSignal; deadlineMs?: number }

/**
 * Returns one result for each key, in the order of the keys. Properties that the link sends without a request are left
 * out.
 */
export async function readProperties(
  link: LinkClient,
  keys: readonly string[],
  options: ReadOptions,
): Promise<PropertyResult[]> {
  if (keys.length === 0) return []
  if (options.service === 'identifiers') {
    const values = await identifiedValues(link, options)
    const names = new Set(Object.keys(values))
    return keys.map((key) => (names.has(key) ? { key, value: values[key] } : missing(key, names)))
  }
  const results = resultsByKey(await propertyValues(link, [...new Set(keys)], options))
  const isComplete = keys.every((key) => results.has(key))
  const supported = isComplete ? new Set<string>() : await supportedKeys(link, options)
  return keys.map((key) => results.get(key) ?? missing(key, supported))
}

/** Returns everything that the link reports about one device, as an asset. */
export async function readDevice(link: LinkClient, options: ReadOptions): Promise<MappingResult> {
  if (options.service === 'identifiers') return assetOfDevice(await identifiers(link, options))
  return assetOfResults(await allProperties(link, options))
}

/** Returns the asset that the link reports for a device, and one result for each of the keys. */
export async function readMonitored(
  link: LinkClient,
  keys: readonly string[],
  options: ReadOptions,
): Promise<{ asset: Document | undefined; values: PropertyResult[] }> {
  if (options.service === 'identifiers') {
    const asset = assetOfDevice(await identifiers(link, options)).asset
    const names = new Set(Object.keys(asset ?? {}))
    return { asset, values: keys.map((key) => (names.has(key) ? { key, value: asset?.[key] } : missing(key, names))) }
  }
  const results = await allProperties(link, options)
  const others = keys.filter((key) => !results.has(key))
  const read = new Map((await readProperties(link, others, options)).map((one) => [one.key, one]))
  const values = keys.flatMap((key) => results.get(key) ?? read.get(key) ?? [])
  return { asset: assetOfResults(results).asset, values }
}

async function allProperties(link: LinkClient, options: ReadOptions): Promise<Map<string, PropertyResult>> {
  const results = resultsByKey(await propertyValues(link, [], options))
  if (results.size > 0) return results
  // Some links return only the properties that the request names, so all supported keys are requested.
  const keys = [...(await supportedKeys(link, options))]
  return resultsByKey(await propertyValues(link, keys, options))
}

function assetOfResults(results: ReadonlyMap<string, PropertyResult>): MappingResult {
  const type = results.get('functional_object_type')
  const className = assetTypeOf(type !== undefined && 'value' in type ? type.value : undefined) ?? 'Device'
  // Only fields of the asset schema are used. All other properties are measured values of the device.
  const fields = [...results.values()].flatMap((one) =>
    'value' in one && hasMember(className, one.key) ? [[one.key, one.value] as const] : [],
  )
  return assetOfDocument(Object.fromEntries(fields), className)
}

function propertyValues(link: LinkClient, keys: string[], { device, signal, deadlineMs = answerMs }: ReadOptions) {
  return link.call(getPropertyValues, { device, keys }, { signal, deadlineMs })
}

function identifiers(link: LinkClient, { device, signal, deadlineMs = answerMs }: ReadOptions) {
  return link.call(getIdentifiers, { target: device }, { signal, deadlineMs, read: readIdentifiers })
}

/** Returns the identifiers of a device as a document with the field names of an asset. */
async function identifiedValues(link: LinkClient, options: ReadOptions): Promise<Document> {
  const readings = await identifiers(link, options)
  return assetOfDevice(readings).asset ?? decodeDevice(readings).document
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

/** Returns the keys that the link supports. The set is empty when the link returns an error. */
async function supportedKeys(link: LinkClient, { device, signal }: ReadOptions): Promise<Set<string>> {
  try {
    const { properties } = await link.call(getSupportedProperties, { device }, { signal, deadlineMs: answerMs / 4 })
    return new Set(properties.map(({ key }) => key))
  } catch {
    return new Set()
  }
}

function missing(key: string, supported: ReadonlySet<string>): PropertyResult {
  return supported.has(key)
    ? { key, error: problem(Code.FAILED_PRECONDITION, `The device did not return the property ${key}`) }
    : { key, error: problem(Code.INVALID_ARGUMENT, `The device has no property ${key}`) }
}

function problem(code: Code, description: string) {
  return { code, name: Code[code], description }
}

export async function supportedProperties(link: LinkClient, options: ReadOptions) {
  if (options.service === 'identifiers') {
    const values = Object.entries(await identifiedValues(link, options))
    return values.map(([key, value]) => ({ key, dataType: dataTypeOfValue(value) }))
  }
  const { device, signal, deadlineMs = answerMs } = options
  const { properties } = await link.call(getSupportedProperties, { device }, { signal, deadlineMs })
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

function dataTypeOfValue(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'string' ? 'text' : 'structure'
}

/** Returns true when the link or the device did not respond. */
export function isUnreachable(error: unknown): boolean {
  return isServiceError(error) && [status.UNAVAILABLE, status.DEADLINE_EXCEEDED].includes(error.code)
}

/** Returns true when the link reported that the device rejected the credentials. */
export function isRefusal(error: unknown): boolean {
  return isServiceError(error) && [status.UNAUTHENTICATED, status.PERMISSION_DENIED].includes(error.code)
}

/**
 * Returns true when the error may be a rejection of credentials. Many links report a rejection with a general code, so
 * the gateway tries credentials after such a code too.
 */
export function mayBeRefusal(error: unknown): boolean {
  const hiding = [status.UNAVAILABLE, status.INTERNAL, status.UNKNOWN]
  const isLinkAway = isServiceError(error) && error.details.startsWith('No connection established')
  return isRefusal(error) || (isServiceError(error) && hiding.includes(error.code) && !isLinkAway)
}

export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
