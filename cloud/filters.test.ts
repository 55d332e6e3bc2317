import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { randomCases } from '@millwright/api/test-effort.ts'
import { v7 } from 'uuid'
import { testHub } from './platform/testing/hub.ts'

/** For any text as a filter, the platform returns assets, relations or an error about the filter, and never a 5xx. */

const count = Number(process.env.MILLWRIGHT_FILTERS ?? randomCases(1_000))
const atOnce = 16
const seed = Number(process.hrtime.bigint() % 2n ** 32n)

// Most filters are refused, and creating a stack trace takes longer than refusing a filter.
const { stackTraceLimit } = Error
before(() => {
  Error.stackTraceLimit = 0
})
after(() => {
  Error.stackTraceLimit = stackTraceLimit
})

/** A small, fast pseudo-random generator (mulberry32). The same seed gives the same numbers. */
function randomFrom(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const key = v7()
const names = [
  ...['id', 'name', 'functional_object_type', 'access_group', 'responsible', 'is_firmware', 'created_timestamp'],
  ...['management_state/state_value', 'trust_state.state_timestamp', 'product_instance_information/serial_number'],
  ...[`custom_properties/${key}`, 'subject.id', 'object/type', 'predicate', 'source.value', 'lastModifiedTimestamp'],
  ...['i/value', 'e/slot_number', 'nothing', '__proto__', 'constructor/name'],
]
const values = [
  ...[
    `'x'`,
    `''`,
    `'it''s'`,
    `'%_\\'`,
    `'\0'`,
    `'😀'`,
    `'\ud800'`,
    '0',
    '-1.5',
    '1e300',
    '1e-300',
    '99999999999999999999',
  ],
  ...[
    'true',
    'false',
    'null',
    `'${key}'`,
    `'2026-01-31'`,
    `'2026-01-31T08:30:00Z'`,
    `'+999999-01-01T00:00:00Z'`,
    `'infinity'`,
  ],
]
const operators = ['eq', 'ne', 'gt', 'ge', 'lt', 'le', 'in', 'like', 'EQ']
const arrays = [
  'asset_identifiers',
  'connection_points',
  'location',
  'instance_annotations',
  'software_components',
  'name',
]
const noise = [
  '(',
  ')',
  ',',
  ':',
  '/',
  '.',
  `'`,
  ' ',
  'and',
  'or',
  'not',
  '\t',
  '😀',
  '\u0000',
  '\\',
  '%',
  '--',
  ';',
  '$1',
]

test(`returns no 5xx for ${count} random filters`, async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const random = randomFrom(seed)
  const pick = (from: readonly string[]) => from[random(from.length)] ?? ''
  const condition = (depth: number): string => {
    switch (random(depth > 3 ? 3 : 7)) {
      case 0:
        return `${pick(names)} in (${Array.from({ length: random(4) }, () => pick(values)).join(', ')})`
      case 1:
        return `${pick(['contains', 'startswith', 'endswith', 'length'])}(${pick(names)},${pick(values)})`
      case 2:
        return `${pick(arrays)}/any(i: i/${pick(['value', 'key', 'slot_number', 'name'])} ${pick(operators)} ${pick(values)})`
      case 3:
        return `not (${condition(depth + 1)})`
      case 4:
        return `(${condition(depth + 1)} ${pick(['and', 'or'])} ${condition(depth + 1)})`
      default:
        return `${pick(names)} ${pick(operators)} ${pick(values)}`
    }
  }
  const mutated = (text: string) => {
    const at = random(text.length + 1)
    return text.slice(0, at) + pick(noise) + text.slice(at + random(3))
  }
  const targets = [
    '/assets?filter=',
    '/assets?relationsFilter=',
    '/relations?filter=',
    '/assets/facets?by=responsible&filter=',
  ]

  const statuses = new Map<number, number>()
  const ask = async () => {
    const text = random(2) === 0 ? condition(0) : mutated(condition(0))
    const query = `${pick(targets)}${encodeURIComponent(text.toWellFormed())}${pick(['', '', '&caseInsensitive=true'])}`
    const { status, text: told } = await hub.request({
      method: 'GET',
      path: `/inventory/v2${query}`,
      headers: { authorization: `Bearer ${admin.token}` },
    })
    assert.ok(status === 200 || status === 400, `seed ${seed}, ${status}: ${JSON.stringify(text)} ${told}`)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  for (let asked = 0; asked < count; asked += atOnce) await Promise.all(Array.from({ length: atOnce }, ask))
  for (const status of [200, 400]) assert.ok((statuses.get(status) ?? 0) > count / 50, `hardly any ${status}`)
})
