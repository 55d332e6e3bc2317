import type { MessageInitShape } from '@bufbuild/protobuf'
import { linkServices, wireService } from '@millwright/api/link-protocol.ts'
import type {
  GetPropertyValuesRequest,
  GetSupportedPropertiesRequest,
  PropertyValueResultSchema,
} from '@millwright/api/proto/generated/device-info_pb.js'
import type { SupportedPropertySchema } from '@millwright/api/proto/generated/properties_pb.js'
import { type VariantValue, variantOf, variantTypeOf } from '@millwright/api/variant.ts'
import type { LinkDefinition, PropertiesCall, PropertyValues, SupportedProperty, Target } from './define-link.ts'
import { LinkError } from './link-error.ts'
import { targetOf } from './target.ts'
import { answer, type ServedService, type ServiceContext } from './unary.ts'

export type PropertiesLink = LinkDefinition & Required<Pick<LinkDefinition, 'properties'>>

/** Returns the device-info service, which reads properties of one device on demand. */
export function deviceInfoService(link: PropertiesLink, { log, permits: source, home }: ServiceContext): ServedService {
  return {
    service: linkServices.deviceInfo,
    definition: (name) => wireService(linkServices.deviceInfo, name),
    implementation: {
      getPropertyValues: answer(async ({ device, keys }: GetPropertyValuesRequest, context) => {
        using permits = source.forCall(context)
        const call = { device: deviceOf(device), keys, signal: context.signal, permits, log, home }
        const values = await link.properties(call)
        if (keys.length === 0) return { propertyResults: allOf(values) }
        const supported = await supportedKeys(link, { call, values })
        return { propertyResults: keys.map((key) => resultOf(key, values[key], supported)) }
      }, log),
      getSupportedProperties: answer(async ({ device }: GetSupportedPropertiesRequest, context) => {
        using permits = source.forCall(context)
        const call = { device: deviceOf(device), keys: [], signal: context.signal, permits, log, home }
        if (link.supportedProperties !== undefined) {
          return { properties: (await link.supportedProperties(call)).map(describe) }
        }
        const values = Object.entries(await link.properties(call))
        return { properties: values.map(([key, value]) => ({ key, ...typeOf(value) })) }
      }, log),
    },
  }
}

function deviceOf(device: GetPropertyValuesRequest['device']): Target {
  if (device === undefined) throw new LinkError('INVALID_ARGUMENT', 'The request names no device.')
  return targetOf(device)
}

/**
 * Returns the keys that the device supports. The result is empty if all requested keys have a value. Otherwise it
 * distinguishes unknown keys from missing values.
 */
async function supportedKeys(
  link: PropertiesLink,
  { call, values }: { call: PropertiesCall; values: PropertyValues },
): Promise<ReadonlySet<string>> {
  if (call.keys.every((key) => values[key] !== undefined)) return new Set()
  const supported =
    link.supportedProperties === undefined
      ? Object.keys(await link.properties({ ...call, keys: [] }))
      : (await link.supportedProperties(call)).map(({ key }) => key)
  return new Set(supported)
}

type Result = MessageInitShape<typeof PropertyValueResultSchema>

function allOf(values: PropertyValues): Result[] {
  const present = Object.keys(values).filter((key) => values[key] !== undefined)
  return present.toSorted().map((key) => resultOf(key, values[key], new Set()))
}

/** Returns the result for a requested key: its value, its error, or an error for a missing value or an unknown key. */
function resultOf(key: string, value: VariantValue | LinkError | undefined, supported: ReadonlySet<string>): Result {
  const failure = (error: LinkError): Result => ({
    result: { case: 'error', value: { key, resultCode: error.number, description: error.message } },
  })
  if (value instanceof LinkError) return failure(value)
  if (value !== undefined) return { result: { case: 'property', value: { key, value: variantOf(value) } } }
  return failure(
    supported.has(key)
      ? new LinkError('FAILED_PRECONDITION', `The device does not provide "${key}".`)
      : new LinkError('INVALID_ARGUMENT', `Unknown property "${key}".`),
  )
}

type Supported = MessageInitShape<typeof SupportedPropertySchema>

function describe(property: SupportedProperty): Supported {
  const { key } = property
  if ('schemaUri' in property) return { key, type: { case: 'schemaUri', value: property.schemaUri } }
  if ('contentType' in property) return { key, type: { case: 'contentType', value: property.contentType } }
  return { key, type: { case: 'datatype', value: variantTypeOf(property.type) } }
}

/** Returns the type of a value. The result is empty if there is no value, or if the value is an error. */
function typeOf(value: VariantValue | LinkError | undefined): Pick<Supported, 'type'> {
  if (value === undefined || value instanceof LinkError) return {}
  const { value: held } = variantOf(value)
  if (held.case === 'file') return { type: { case: 'contentType', value: held.value.contentType } }
  return held.case === undefined ? {} : { type: { case: 'datatype', value: variantTypeOf(typeNames[held.case]) } }
}

const typeNames = {
  boolValue: 'boolean',
  int64Value: 'integer',
  uint64Value: 'unsigned',
  float64Value: 'number',
  text: 'text',
  rawData: 'bytes',
  structValue: 'structure',
  arrayValue: 'array',
  nullValue: 'null',
} as const
