import { isBase64 } from '@millwright/api/base64.ts'
import type { NewDiscovery } from '@millwright/api/discovery.ts'
import type { LinkParameter } from '@millwright/api/gatekeeper.ts'
import { parseIpRange } from '@millwright/api/ip-range.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'

type ParameterInput = NonNullable<NewDiscovery['discoveryFilters']>[number]

/** A filter or an option of a discovery. The value has the type that the link declares. */
export type Parameter = { key: string; comparisonOperator: string; value: string | number | boolean; dataType: string }

type ParameterCheck = {
  kind: 'filter' | 'option'
  input: readonly ParameterInput[]
  supported: readonly LinkParameter[]
  pointer: string
}

/** Validates filters or options and returns them. Missing mandatory parameters get the default value of the link. */
export function requireSupported({ kind, input, supported, pointer }: ParameterCheck): Parameter[] {
  const errors: FieldError[] = []
  const byKey = new Map(supported.map((parameter) => [parameter.key, parameter]))
  const parameters = input.map((one, index): Parameter => {
    const parameter = byKey.get(one.key)
    if (parameter === undefined)
      errors.push(unknown({ kind, key: one.key, keys: [...byKey.keys()], pointer: `${pointer}/${index}/key` }))
    const value = parameter === undefined ? one.value : typedValue(parameter, one.value)
    if (value === undefined)
      errors.push({
        pointer: `${pointer}/${index}/value`,
        code: 'wrong_type',
        detail: `The ${kind} ${one.key} must be of type ${typeName(parameter)}, but is ${JSON.stringify(one.value)}`,
      })
    const range = kind === 'filter' && rangeKeys.includes(one.key) ? invalidRange(String(one.value)) : undefined
    if (range !== undefined)
      errors.push({
        pointer: `${pointer}/${index}/value`,
        code: 'invalid_range',
        detail: `"${range}" is not a valid IP address range. Use 10.0.0.1-10.0.3.255 or 10.0.0.0/16.`,
      })
    return {
      key: one.key,
      comparisonOperator: one.comparisonOperator ?? 'EQUAL',
      value: value ?? one.value,
      dataType: parameter?.dataType ?? 'text',
    }
  })
  const named = new Set(input.map(({ key }) => key))
  for (const parameter of supported) {
    if (!parameter.mandatory || named.has(parameter.key)) continue
    const value = plain(parameter.defaultValue)
    if (value === undefined)
      errors.push({ pointer, code: 'required', detail: `The asset link requires the ${kind} ${parameter.key}` })
    else parameters.push({ key: parameter.key, comparisonOperator: 'EQUAL', value, dataType: parameter.dataType })
  }
  if (errors[0] !== undefined) throw new Problem('unsupported_parameter', errors[0].detail, { errors })
  return parameters
}

/** The filters that contain IP address ranges, separated by commas. */
const rangeKeys: readonly string[] = ['ip_range', 'exclude']

/**
 * Returns the first part of a filter that is written as an IPv4 range, but is none, such as `10.0.0.0/33`. The asset link checks other
 * texts, because it can support other formats.
 */
function invalidRange(text: string): string | undefined {
  const parts = text.split(',').map((part) => part.trim())
  return parts.find((part) => /^[\d.]+(?:\s*[-/]\s*[\d.]*)?$/.test(part) && parseIpRange(part) === undefined)
}

function unknown({
  kind,
  key,
  keys,
  pointer,
}: {
  kind: string
  key: string
  keys: string[]
  pointer: string
}): FieldError {
  const detail =
    keys.length === 0
      ? `The asset link has no ${kind}s. Remove the ${kind} ${key}`
      : `The asset link has no ${kind} ${key}. Supported ${kind}s: ${keys.join(', ')}`
  return { pointer, code: 'unknown', detail }
}

/**
 * Converts a value to the declared type, because clients send values as text. Returns `undefined` when the value does not
 * match the type.
 */
export function typedValue({ dataType }: LinkParameter, value: string | number | boolean) {
  const text = String(value)
  switch (dataType) {
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined
    case 'integer':
      return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'unsigned':
      return /^\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined
    case 'text':
      return text
    case 'bytes':
      return isBase64(text) ? text : undefined
    default:
      return value
  }
}

function typeName(parameter: LinkParameter | undefined): string {
  return parameter?.dataType === 'bytes' ? 'bytes (base64)' : (parameter?.dataType ?? 'text')
}

function plain(value: unknown): string | number | boolean | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}
