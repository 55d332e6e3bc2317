import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { DiscoverError } from '@millwright/api/proto/generated/discover_pb.js'
import type { MappingResult } from '../mapping/asset.ts'
import { type Document, isDocument } from '../mapping/document.ts'

/** This file creates the errors for devices that could not be read, or that could be read only in part. */

/** `ReportedError` is an error of one device with its connection, as the link reported it. */
export type ReportedError = { error: DeviceError; connection?: ConnectionParameterSet }

const limits = { description: 4_000, fields: 100, text: 1_000, parameters: 2_000 } as const

/** Converts an error that the link reported. The error for the cloud contains no credentials of the device. */
export function errorOfLink({ resultCode, description, source }: DiscoverError): ReportedError {
  const target = source.value?.target
  const error = { code: resultCode, description: description.slice(0, limits.description) }
  if (target?.case === 'connectionName') {
    return { error: { ...error, device: { connection_name: target.value.slice(0, limits.text) } } }
  }
  const device = addressOf(target?.value?.parameterJson ?? '')
  return {
    error: { ...error, ...(device === undefined ? {} : { device }) },
    ...(target?.value === undefined ? {} : { connection: target.value }),
  }
}

function addressOf(parameters: string): Document | undefined {
  if (parameters === '') return undefined
  try {
    const parsed: unknown = JSON.parse(parameters)
    if (isDocument(parsed) && parameters.length <= limits.parameters) return parsed
  } catch {
    // Parameters that are not JSON are included in the error as text.
  }
  return { parameters: parameters.slice(0, limits.parameters) }
}

/**
 * Returns the error for the fields of a device that the inventory does not accept, or undefined when it accepts all
 * fields.
 */
export function errorOfMapping({ asset, faults }: MappingResult): DeviceError | undefined {
  if (faults.length === 0 && asset !== undefined) return undefined
  const fields = faults
    .slice(0, limits.fields)
    .map(({ pointer, detail }) => ({ pointer: pointer.slice(0, limits.text), detail: detail.slice(0, limits.text) }))
  if (asset === undefined) {
    return { code: Code.INVALID_ARGUMENT, description: 'The device has no identifier, so it is not imported', fields }
  }
  const { name, asset_identifiers: identifiers } = asset
  return {
    code: Code.INVALID_ARGUMENT,
    description: `${faults.length === 1 ? 'A field' : `${faults.length} fields`} of a device could not be imported`,
    device: { ...(name === undefined ? {} : { name }), asset_identifiers: identifiers },
    fields,
  }
}
