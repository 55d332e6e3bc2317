import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import {
  type Claim,
  choose,
  type Identifier,
  keyOf,
  nameOf,
  normalise,
  uncertaintyOf,
  valueTextOf,
} from './identifier.ts'

const short = fc.oneof(fc.constantFrom('', 'a', 'b', 'A', ' a', '","', '"', '\\', '/', '\0', '\ud800'), fc.string())
const long = fc.string({ minLength: 190, maxLength: 400 })
const text = fc.oneof({ weight: 5, arbitrary: short }, { weight: 1, arbitrary: long })
const mac = fc
  .tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom(':', '-'), fc.boolean())
  .map(([last, between, upper]) => {
    const address = ['00', '1b', '1b', 'aa', 'ff', `0${last}`].join(between)
    return upper ? address.toUpperCase() : address
  })
const annotations = {
  identifier_type: fc.constantFrom(undefined, null, 'x'),
  identifier_uncertainty: fc.constantFrom(undefined, null, 1),
}
const simple = fc.oneof(
  fc.record({ asset_identifier_type: fc.constant('MacIdentifier'), mac_address: mac, ...annotations }),
  fc.record({
    asset_identifier_type: fc.constant('IdLinkIdentifier'),
    id_link: fc.constantFrom('https://A.io/x', 'HTTPS://a.io/x', 'https://a.io/X', 'https://a.io/x?Y', 'nonsense'),
    ...annotations,
  }),
  fc.record({
    asset_identifier_type: fc.constant('ProductInstanceIdentifier'),
    vendor: text,
    article_number: text,
    serial_number: text,
  }),
)
const identifier: fc.Arbitrary<Identifier> = fc.oneof(
  simple,
  fc.record({ asset_identifier_type: fc.constant('CustomIdentifier'), name: text, value: text, ...annotations }),
  fc.record({ asset_identifier_type: fc.constant('SoftwareIdentifier'), name: text, version: text }),
  fc.record({ asset_identifier_type: fc.constant('CertificateIdentifier'), certificate_id: text }),
  fc.record({
    asset_identifier_type: fc.constant('HostBasedSoftwareIdentifier'),
    host_identifier: text,
    name: text,
    version: text,
    instance_identifier: fc.option(text),
  }),
  fc.record({
    asset_identifier_type: fc.constant('ParentRelativeIdentifier'),
    parent_identifier: simple,
    slot: fc.constantFrom(0, -0, 1),
    subslot: fc.constantFrom(0, 1),
  }),
  fc.record({ asset_identifier_type: fc.constantFrom('Other', 'Another'), name: text, value: text }),
)

/** Returns the identifying fields of a normalised identifier: all fields except its annotations. */
function identifyingFields(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input
  const { identifier_type: _, identifier_uncertainty: __, ...rest } = input as Record<string, unknown>
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, identifyingFields(value)]))
}

describe('the key of an identifier', () => {
  test('computes equal keys only for equal identifiers', () => {
    fc.assert(
      fc.property(identifier, identifier, (a, b) => {
        const same = isDeepStrictEqual(identifyingFields(normalise(a)), identifyingFields(normalise(b)))
        assert.equal(keyOf(a) === keyOf(b), same)
      }),
      { numRuns: 3000 },
    )
  })

  test('computes the same key for every order of the fields, before and after normalisation', () => {
    fc.assert(
      fc.property(identifier, (input) => {
        assert.equal(keyOf(normalise(input)), keyOf(input))
        assert.equal(keyOf(Object.fromEntries(Object.entries(input).reverse())), keyOf(input))
        assert.deepEqual(normalise(normalise(input)), normalise(input))
      }),
    )
  })

  test('computes short keys even for long identifiers', () => {
    fc.assert(
      fc.property(identifier, (input) => keyOf(input).length <= 200 && Buffer.byteLength(valueTextOf(input)) <= 2000),
    )
  })
})

describe('an identifier', () => {
  test('normalises MAC addresses, id links and parent identifiers', () => {
    const upper = { asset_identifier_type: 'MacIdentifier', mac_address: ' 00-1B-1B-AA-FF-01 ', identifier_type: null }
    assert.deepEqual(normalise(upper), { asset_identifier_type: 'MacIdentifier', mac_address: '00:1b:1b:aa:ff:01' })
    const link = { asset_identifier_type: 'IdLinkIdentifier', id_link: 'HTTPS://I.Example.COM:8443/1P+S?Q=A' }
    assert.equal(normalise(link).id_link, 'https://i.example.com:8443/1P+S?Q=A')
    const module = { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: upper, slot: 1, subslot: 2 }
    assert.deepEqual(normalise(module).parent_identifier, normalise(upper))
  })

  test('uses the uncertainty of the identifier, or the default of its type', () => {
    assert.equal(uncertaintyOf({ asset_identifier_type: 'IdLinkIdentifier' }), 1000)
    assert.equal(uncertaintyOf({ asset_identifier_type: 'MacIdentifier', identifier_uncertainty: 1 }), 1)
    assert.equal(uncertaintyOf({ asset_identifier_type: 'MacIdentifier', identifier_uncertainty: null }), 1002)
    assert.equal(uncertaintyOf({ asset_identifier_type: 'Other' }), 2000)
  })

  test('returns the name and the value of each type of identifier for the search', () => {
    const mac = { asset_identifier_type: 'MacIdentifier', mac_address: 'aa' }
    assert.deepEqual([nameOf(mac), valueTextOf(mac)], [null, 'aa'])
    const custom = { asset_identifier_type: 'CustomIdentifier', name: 'n', value: 'v' }
    assert.deepEqual([nameOf(custom), valueTextOf(custom)], ['n', 'v'])
    const product = {
      asset_identifier_type: 'ProductInstanceIdentifier',
      vendor: 'V',
      article_number: 'A',
      serial_number: 'S',
    }
    assert.deepEqual([nameOf(product), valueTextOf(product)], ['V A', 'S'])
    const module = { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: mac, slot: 1, subslot: 2 }
    assert.deepEqual([nameOf(module), valueTextOf(module)], [null, 'aa/1/2'])
  })
})

describe('the identity of an asset', () => {
  const at = (key: string, uncertainty: number, assetId: string, createdAt = '2026-01-01T00:00:00.000Z'): Claim => ({
    key,
    uncertainty,
    assetId,
    createdAt,
  })

  test('treats an asset as new when no stored asset has its identifiers', () => {
    assert.deepEqual(choose([]), { matchedBy: [], conflicts: [] })
  })

  test('chooses the asset of the least uncertain identifier, even if many others disagree', () => {
    assert.deepEqual(choose([at('m1', 1002, 'b'), at('m2', 1002, 'b'), at('link', 1000, 'a')]), {
      match: 'a',
      matchedBy: ['link'],
      conflicts: [{ assetId: 'b', by: ['m1', 'm2'] }],
    })
  })

  test('chooses the asset with the most of the equally uncertain identifiers, or the oldest of such assets', () => {
    assert.equal(choose([at('1', 5, 'a'), at('2', 5, 'b'), at('3', 9, 'b')]).match, 'b')
    assert.equal(choose([at('1', 5, 'a', '2026-01-02T00:00:00.000Z'), at('2', 5, 'b')]).match, 'b')
  })

  const claims = fc.uniqueArray(
    fc.record({
      key: fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5', 'k6'),
      uncertainty: fc.integer({ min: 1, max: 3 }),
      assetId: fc.constantFrom('a', 'b', 'c'),
    }),
    { selector: ({ key }) => key },
  )
  const ages = fc.record({ a: fc.constantFrom('1', '2'), b: fc.constantFrom('1', '2'), c: fc.constantFrom('1', '2') })

  test('chooses the same asset as a naive implementation of the rules', () => {
    fc.assert(
      fc.property(claims, ages, (randomClaims, created) => {
        const input = randomClaims.map((claim) => ({ ...claim, createdAt: created[claim.assetId] }))
        const decided = choose(input)
        let left = [...new Set(input.map(({ assetId }) => assetId))]
        const of = (id: string) => input.filter(({ assetId }) => assetId === id)
        const best = (id: string) => Math.min(...of(id).map(({ uncertainty }) => uncertainty))
        const least = Math.min(...left.map(best))
        left = left.filter((id) => best(id) === least)
        const most = Math.max(...left.map((id) => of(id).length))
        left = left.filter((id) => of(id).length === most)
        const oldest = left.map((id) => created[id as 'a']).sort()[0]
        left = left.filter((id) => created[id as 'a'] === oldest)
        assert.equal(decided.match, left.sort()[0])
        const reported = [...decided.matchedBy, ...decided.conflicts.flatMap(({ by }) => by)]
        assert.deepEqual(reported.sort(), input.map(({ key }) => key).sort())
      }),
    )
  })

  test('chooses the same asset for every order of the identifiers', () => {
    fc.assert(
      fc.property(claims, (randomClaims) => {
        const input = randomClaims.map((claim) => ({ ...claim, createdAt: '1' }))
        assert.deepEqual(choose(input.toReversed()), choose(input))
      }),
    )
  })
})
