import assert from 'node:assert/strict'
import { test } from 'node:test'
import { propertyText } from './property.ts'

const validValues = {
  text: ['', 'x', 5, true],
  number: ['5', 5, '-5.50', '.5', '1e3', ' 5 '],
  boolean: ['true', false],
  date: ['2026-01-31', '2028-02-29', '2026-01-31T08:30:00Z', '2026-01-31T08:30:00.5+01:00'],
  url: ['https://example.com/x'],
} as const
const refused = {
  text: [],
  number: ['', 'five', '0x10', 'NaN', 'Infinity', '1e400', '٣'],
  boolean: ['TRUE', 1],
  date: ['2026-02-30', '2026-13-01', '2026-01-31T25:00:00Z', '31.01.2026', 5],
  url: ['ftp://example.com', 'javascript:alert(1)', '//example.com'],
} as const

for (const data_type of ['text', 'number', 'boolean', 'date', 'url'] as const) {
  test(`accepts only text that is a valid ${data_type} as the value of a custom property`, () => {
    for (const value of validValues[data_type])
      assert.equal(propertyText({ data_type }, value, '/value'), String(value).trim())
    for (const value of refused[data_type])
      assert.throws(() => propertyText({ data_type }, value, '/value'), { code: 'invalid_asset' }, String(value))
  })
}
