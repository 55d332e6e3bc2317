import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import type { SupportedFilter, SupportedOption } from '@millwright/api/proto/generated/filters_pb.js'
import { VariantType } from '@millwright/api/proto/generated/variant_pb.js'
import { variantTypeOf } from '@millwright/api/variant.ts'
import { type Check, codeOf, expect, NotApplicable, nameOf, type Subject } from './check.ts'

const { driverInfo, discover } = linkServices

/** The checks of the information that the link reports about itself. */
export const infoChecks: readonly Check[] = [
  {
    sentence: 'The link reports its vendor, product and version',
    hint: 'Implement DriverInfoApi.GetVersionInfo with vendor_name, product_name and a version.',
    async run(subject) {
      const { version } = await subject.ask(driverInfo.method.getVersionInfo, {})
      expect(version !== undefined, 'GetVersionInfo has no version.')
      expect(version.vendorName.trim() !== '', 'vendor_name is empty.')
      expect(version.productName.trim() !== '', 'product_name is empty.')
    },
  },
  {
    sentence: 'Each schema of the link is JSON and has a URI',
    hint: 'GetConfigSchema returns OK or FAILED_PRECONDITION; each schema is JSON text with a URI.',
    async run(subject) {
      const { schemas } = await optional(subject.ask(driverInfo.method.getConfigSchema, {}), [
        status.UNIMPLEMENTED,
        status.FAILED_PRECONDITION,
      ])
      for (const { uri, schema } of schemas) {
        expect(uri !== '', 'A schema has no URI.')
        expect(isJson(schema), `The schema ${uri} is not valid JSON.`)
      }
    },
  },
  {
    sentence: 'The icon of the link is a square PNG',
    hint: 'GetAppIcon is optional: return UNIMPLEMENTED, or a square PNG.',
    async run(subject) {
      const { imageFormat, imageData } = await optional(subject.ask(driverInfo.method.getAppIcon, {}), [
        status.UNIMPLEMENTED,
        status.FAILED_PRECONDITION,
        status.INVALID_ARGUMENT,
      ])
      expect(imageFormat === 'png', `The image format is "${imageFormat}" instead of "png".`)
      const header = Buffer.from(imageData.buffer, imageData.byteOffset, imageData.byteLength)
      expect(header.length > 24 && header.toString('latin1', 1, 4) === 'PNG', 'The icon is not a PNG.')
      expect(header.readUInt32BE(16) === header.readUInt32BE(20), 'The icon is not square.')
    },
  },
  {
    sentence: 'The link describes its filters',
    hint: 'Each filter has a unique key, a type, and optionally a default of that type.',
    run: async (subject) => checkParameters(await filtersOf(subject)),
  },
  {
    sentence: 'The link describes its options',
    hint: 'Each option has a unique key, a type, and optionally a default of that type.',
    run: async (subject) => checkParameters(await optionsOf(subject)),
  },
]

export async function filtersOf(subject: Subject): Promise<SupportedFilter[]> {
  return (await noneIsFine(subject.ask(discover.method.getFilterTypes, {})))?.filterTypes ?? []
}

export async function optionsOf(subject: Subject): Promise<SupportedOption[]> {
  return (await noneIsFine(subject.ask(discover.method.getFilterOptions, {})))?.filterOptions ?? []
}

/**
 * Returns undefined when the link reports that it has no such items. Links with an older SDK return UNKNOWN, "no
 * supported filters", instead of an empty list.
 */
async function noneIsFine<T>(call: Promise<T>): Promise<T | undefined> {
  return call.catch((error: unknown) => {
    if (codeOf(error) === status.UNKNOWN && /no supported/i.test(String(error))) return undefined
    throw error
  })
}

function checkParameters(parameters: readonly (SupportedFilter | SupportedOption)[]): void {
  if (parameters.length === 0) throw new NotApplicable('The link has no such parameters.')
  expect(new Set(parameters.map(({ key }) => key)).size === parameters.length, 'Two parameters have the same key.')
  for (const { key, datatype, defaultValue } of parameters) {
    expect(key.trim() !== '', 'A parameter has no key.')
    expect(datatype !== VariantType.VT_UNSPECIFIED, `"${key}" has no type.`)
    const held = defaultValue?.value.case
    expect(
      held === undefined || typeOfCase[held] === datatype,
      `The default of "${key}" does not have the type of the parameter.`,
    )
  }
}

const typeOfCase = {
  boolValue: variantTypeOf('boolean'),
  int64Value: variantTypeOf('integer'),
  uint64Value: variantTypeOf('unsigned'),
  float64Value: variantTypeOf('number'),
  text: variantTypeOf('text'),
  rawData: variantTypeOf('bytes'),
  file: variantTypeOf('file'),
  structValue: variantTypeOf('structure'),
  arrayValue: variantTypeOf('array'),
  nullValue: variantTypeOf('null'),
} as const

async function optional<T>(call: Promise<T>, allowed: readonly number[]): Promise<T> {
  return call.catch((error: unknown) => {
    if (allowed.includes(codeOf(error)))
      throw new NotApplicable(`The link returns ${nameOf(codeOf(error))}, which is allowed.`)
    throw error
  })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
