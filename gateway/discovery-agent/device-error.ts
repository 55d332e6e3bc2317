import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { DiscoverError } from '@millwright/api/proto/generated/discover_pb.js'
import type { Mapped } from '../mapping/asset.ts'
import { type Document, isDocument } from '../mapping/document.ts'

/** What is told about one device that could not be read, or not wholly. */

/** An error of one device, and where the link says that the device is. */
export type FoundError = { error: DeviceError; connection?: ConnectionParameterSet }

const limits = { description: 4_000, fields: 100, text: 1_000, parameters: 2_000 } as const

/** As the link says it. Credentials of the device stay here. */
export function errorOfLink({ resultCode, description, source }: DiscoverError): FoundError {
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
    // Told as the text that it is.
  }
  return { parameters: parameters.slice(0, limits.parameters) }
}

/** What of a device could not be taken over; undefined when everything could. */
export function errorOfMapping({ asset, faults }: Mapped): DeviceError | undefined {
  if (faults.length === 0 && asset !== undefined) return undefined
  const fields = faults
    .slice(0, limits.fields)
    .map(({ pointer, detail }) => ({ pointer: pointer.slice(0, limits.text), detail: detail.slice(0, limits.text) }))
  if (asset === undefined) {
    return { code: Code.INVALID_ARGUMENT, description: 'Nothing tells which device it is, so it is left out', fields }
  }
  const { name, asset_identifiers: identifiers } = asset
  return {
    code: Code.INVALID_ARGUMENT,
    description: `${faults.length === 1 ? 'A field' : `${faults.length} fields`} of a device could not be taken over`,
    device: { ...(name === undefined ? {} : { name }), asset_identifiers: identifiers },
    fields,
  }
}
