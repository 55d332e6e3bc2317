import { isBase64 } from '@millwright/api/base64.ts'
import type { AssetLink } from '@millwright/api/discovery.ts'
import type { LinkParameter } from '@millwright/api/gatekeeper.ts'
import { mergeRanges, parseIpRange } from '@millwright/api/ip-range.ts'
import { isRequiredParameter } from '@millwright/api/link-parameter.ts'
import { builtInName } from '../built-in-links.ts'

/**
 * `FormValues` contains the typed values of an asset link's filters or options, by key. An empty value means the
 * default.
 */
export type FormValues = Readonly<Record<string, string>>
export type ParameterError = 'required' | 'notNumber' | 'notBase64' | 'notRange'
export type Parameter = { key: string; value: string | number | boolean }

const numeric: readonly LinkParameter['dataType'][] = ['integer', 'unsigned', 'number']

export function isNumeric({ dataType }: LinkParameter): boolean {
  return numeric.includes(dataType)
}

/** The filters of the built-in links that contain address ranges. Links of other vendors may use another form. */
const rangeKeys: readonly string[] = ['ip_range', 'exclude']

export function isRangeOf(assetLinkId: string, { key }: Pick<LinkParameter, 'key'>): boolean {
  return builtInName(assetLinkId) !== undefined && rangeKeys.includes(key)
}

/** Returns the number of addresses in ranges that are separated by commas. Returns undefined if a range is invalid. */
export function addressCountOf(text: string): number | undefined {
  const ranges = text.split(',').map((part) => parseIpRange(part.trim()))
  const valid = ranges.filter((range) => range !== undefined)
  if (valid.length < ranges.length) return undefined
  return mergeRanges(valid).reduce((sum, { from, to }) => sum + to - from + 1, 0)
}

/** Returns the errors of the form by key. The API and the asset link validate the values again. */
export function errorsOf(
  { assetLinkId }: Pick<AssetLink, 'assetLinkId'>,
  parameters: readonly LinkParameter[],
  typed: FormValues,
): Readonly<Record<string, ParameterError>> {
  const wrong = parameters.flatMap((parameter): [string, ParameterError][] => {
    const text = (typed[parameter.key] ?? '').trim()
    if (text === '') return isRequiredParameter(parameter) ? [[parameter.key, 'required']] : []
    if (isRangeOf(assetLinkId, parameter) && addressCountOf(text) === undefined) return [[parameter.key, 'notRange']]
    if (parameter.dataType === 'bytes' && !isBase64(text)) return [[parameter.key, 'notBase64']]
    return isNumeric(parameter) && !Number.isFinite(Number(text)) ? [[parameter.key, 'notNumber']] : []
  })
  return Object.fromEntries(wrong)
}

/**
 * Returns the parameters to send. They contain the non-empty values, converted to the data type that the asset link
 * declares.
 */
export function parametersOf(parameters: readonly LinkParameter[], typed: FormValues): Parameter[] {
  return parameters.flatMap((parameter) => {
    const text = (typed[parameter.key] ?? '').trim()
    return text === '' ? [] : [{ key: parameter.key, value: parsedValue(parameter, text) }]
  })
}

function parsedValue(parameter: LinkParameter, text: string): Parameter['value'] {
  if (parameter.dataType === 'boolean') return text === 'true'
  return isNumeric(parameter) ? Number(text) : text
}

/** Returns the form values of existing parameters. */
export function formValuesOf(parameters: readonly Parameter[]): FormValues {
  return Object.fromEntries(parameters.map(({ key, value }) => [key, String(value)]))
}
