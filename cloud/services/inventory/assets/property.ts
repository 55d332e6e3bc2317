import type { CustomProperty } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { timeOf } from '../../../platform/filter/filter.ts'

/**
 * Converts the value of a custom property to text, the form that the API uses. Throws if the value does not fit the
 * property's type.
 */
export function propertyText(
  { data_type }: Pick<CustomProperty, 'data_type'>,
  value: string | number | boolean,
  pointer: string,
): string {
  const text = String(value).trim()
  if (checks[data_type](text)) return text
  const detail = `must be ${expected[data_type]}`
  throw new Problem('invalid_asset', `${pointer} ${detail}`, { errors: [{ pointer, code: 'type', detail }] })
}

const expected = {
  text: 'text',
  number: 'a number',
  boolean: 'true or false',
  date: 'a date such as 2026-01-31 (RFC 3339)',
  url: 'an http(s) URL',
} as const

const checks: Record<CustomProperty['data_type'], (text: string) => boolean> = {
  text: () => true,
  number: (text) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text)),
  boolean: (text) => text === 'true' || text === 'false',
  date: (text) =>
    /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2}))?$/.test(text) && timeOf(text) !== undefined,
  url: (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
}
