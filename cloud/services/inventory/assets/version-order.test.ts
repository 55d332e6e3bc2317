import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { versionSortKey } from '@millwright/api/version-order.ts'
import fc from 'fast-check'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { applyWrite } from '../testing.ts'

const bytes = (text: string) => Buffer.from(text)
const byKey = (one: string, other: string) => Buffer.compare(bytes(versionSortKey(one)), bytes(versionSortKey(other)))

/** Generates characters of versions: frequent ones more often, and some that do not occur in real versions. */
const character = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...'0123456789..--') },
  { weight: 2, arbitrary: fc.constantFrom(...'vVabrcRC_+ ~') },
  { weight: 1, arbitrary: fc.constantFrom('ü', '版', '\u{1f600}', '\ufffd', '\u007f', '!', '#', '$', '`', '{') },
)
const word = fc.constantFrom(
  'rc',
  'alpha',
  'Beta',
  'sp',
  'HF',
  'v',
  'ver',
  'version',
  'snapshot',
  '1',
  '10',
  '9',
  '00',
  '.',
)
const version = fc.oneof(
  fc.string({ unit: character, maxLength: 24 }),
  fc.array(word, { maxLength: 8 }).map((words) => words.join('')),
  fc.bigInt({ min: 0n, max: 10n ** 40n }).map((number) => `1.${number}`),
)

const earlier = ['alpha', 'beta', 'dev', 'nightly', 'pre', 'preview', 'rc', 'snapshot']

/** Compares two versions part by part, without sort keys. It is the reference for `versionSortKey`. */
function compareVersions(one: string, other: string): number {
  const [left, right] = [partsOf(one), partsOf(other)]
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = comparePart(left[index], right[index])
    if (difference !== 0) return difference
  }
  return 0
}

/** Splits a version into its numbers and words. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  let before = ''
  for (const each of text.toLowerCase()) {
    const kind = /\d/.test(each) ? 'number' : /[a-z\u{80}-\u{10ffff}]/u.test(each) ? 'word' : 'separator'
    if (kind === before) parts.push(`${parts.pop() ?? ''}${each}`)
    else if (kind !== 'separator') parts.push(each)
    before = kind === 'separator' ? '' : kind
  }
  const [first = '', second = ''] = parts
  const isPrefixed = ['v', 'ver', 'version'].includes(first) && /^\d/.test(second)
  return withoutLastZeros(isPrefixed ? parts.slice(1) : parts)
}

/** Removes zeros that only zeros follow, up to a word or the end. */
function withoutLastZeros(parts: string[]): string[] {
  return parts.filter((part, index) => {
    const next = parts.slice(index).find((each) => !/^0+$/.test(each))
    return !/^0+$/.test(part) || (next !== undefined && /^\d/.test(next))
  })
}

function comparePart(one: string | undefined, other: string | undefined): number {
  const [rank, otherRank] = [rankOf(one), rankOf(other)]
  if (rank !== otherRank || one === undefined || other === undefined) return Math.sign(rank - otherRank)
  if (rank === 3) return BigInt(one) < BigInt(other) ? -1 : Number(BigInt(one) > BigInt(other))
  return Buffer.compare(bytes(one), bytes(other))
}

function rankOf(part: string | undefined): number {
  if (part === undefined) return 1
  if (/^\d/.test(part)) return 3
  return earlier.includes(part) ? 0 : 2
}

test('sorts example versions in the order that users expect', () => {
  const ordered = [
    ['0.9'],
    ['1.0-alpha', 'V1.0 Alpha'],
    ['1.0-beta.2'],
    ['1.0-beta.11'],
    ['1.0-rc1', '1.0rc1', 'v1.0.RC.1'],
    ['1.0', 'V1.0', 'v 1.00', 'ver. 1.0', 'Version 1.0', '1', '1.0.0'],
    ['1.0a'],
    ['1.0 HF1'],
    ['1.0 SP1'],
    ['1.0.1'],
    ['1.9', 'V1.9'],
    ['1.10', '1.010', '1-10'],
    ['2.0.0-snapshot'],
    ['2.0.0', '2.0'],
    ['10.0'],
    ['2026.11.16'],
    [`${'9'.repeat(31)}.1`],
    [`1${'0'.repeat(31)}`],
  ]
  const shuffled = ordered.toReversed().toSorted((one, other) => byKey(one[0] ?? '', other[0] ?? ''))
  assert.deepEqual(shuffled, ordered)
  for (const equal of ordered)
    for (const each of equal) assert.equal(versionSortKey(each), versionSortKey(equal[0] ?? ''), each)
})

test('sorts version keys in the same order as a part-by-part comparison of the versions', () => {
  fc.assert(
    fc.property(version, version, (one, other) => {
      assert.equal(Math.sign(byKey(one, other)), compareVersions(one, other), `${one} | ${other}`)
    }),
    { numRuns: 3_000 },
  )
})

test('limits every version sort key to the size of an index entry', () => {
  for (const long of ['9'.repeat(10_000), 'a.'.repeat(10_000), '\u{1f600}'.repeat(10_000), '1.'.repeat(10_000)])
    assert.ok([...versionSortKey(long)].length <= 256 && versionSortKey(long).isWellFormed())
})

describe('assets sorted by firmware version', () => {
  let hub: TestHub
  let operator: TestCaller

  before(async () => {
    hub = await testHub()
    operator = await hub.as('operator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('computes the same version sort key in the migration as for new assets', async () => {
    const migration = readFileSync(new URL('../migrations/0017-version-zeros.sql', import.meta.url), 'utf8')
    const [, expression = ''] = /set firmware_order = (.*?)\nwhere firmware_version/s.exec(migration) ?? []
    const stored = fc.sample(version, { numRuns: 1_000, seed: 12 })
    const versions = [...stored, '', 'V', 'v1', 'V 2.9.4', 'x'.repeat(300), '7'.repeat(300)]
    const { rows } = await hub.asOwner((owner) =>
      owner.query<{ version: string; key: string }>(
        `select firmware_version as version, ${expression} as key
         from (select given.version collate "C" as firmware_version from unnest($1::text[]) as given (version)) as assets`,
        [versions],
      ),
    )
    assert.deepEqual(
      rows.map(({ key }) => key),
      versions.map(versionSortKey),
    )
  })

  test('lists and pages assets in the order of firmware versions, in both directions', async () => {
    const firmware = ['1.10', 'V1.9', '1.10-rc1', '1.9.3', '10.0', '2.0']
    const schema = 'https://industrial-assets.io/schemas/iah/base-schema/released/v1/iah-base.json'
    const created = await Promise.all(
      [...firmware, undefined].map((version) =>
        applyWrite(operator, 'createAsset', {
          body: {
            data: {
              asset: {
                functional_object_type: 'Device',
                functional_object_schema_url: schema,
                name: version ?? 'none',
                asset_identifiers: [
                  { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `firmware-${version}` },
                ],
                ...(version === undefined ? {} : { software_components: [componentOf(version)] }),
              },
            },
          },
        }),
      ),
    )
    assert.deepEqual([...new Set(created.map(({ state }) => state))], ['finished'])
    const expected = ['V1.9', '1.9.3', '1.10-rc1', '1.10', '2.0', '10.0', 'none']
    assert.deepEqual(await listed('firmware_version'), expected)
    assert.deepEqual(await listed('-firmware_version'), expected.toReversed())
    const [changed] = created
    const params = { id: changed?.result.assetId }
    await applyWrite(operator, 'setFirmwareVersion', { params, body: { data: { version: '0.9' } } })
    assert.equal((await listed('firmware_version'))[0], '1.10', 'the asset whose firmware is 0.9 now')
  })

  async function listed(sort: string): Promise<unknown[]> {
    const names: unknown[] = []
    for (let cursor: string | undefined; ; ) {
      const place = cursor === undefined ? {} : { cursor }
      const { data, meta } = await operator.inventory.listAssets({ query: { sort, limit: 2, count: false, ...place } })
      names.push(...data.map(({ name }) => name))
      cursor = meta.nextCursor
      if (cursor === undefined) return names
    }
  }
})

function componentOf(version: string) {
  return {
    software_component_type: 'SoftwareArtifactComponent',
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      name: 'firmware',
      is_firmware: true,
      asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'firmware', version }],
    },
  }
}
