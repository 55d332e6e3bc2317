import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type AssociatedCandidate, type Candidate, type ScanTarget, select, selectOfTemplate } from './selection.ts'

const moment = fc.nat(40).map((minute) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString())
const product = fc.record({ identifier: fc.constantFrom('snmp', 'opc'), version: fc.constantFrom('1', '2') })
const range = fc.tuple(fc.nat(20), fc.nat(20), fc.constantFrom(4 as const, 6 as const)).map(([a, b, family]) => ({
  family,
  low: BigInt(Math.min(a, b)),
  high: BigInt(Math.max(a, b)),
}))

const candidate = fc.record<Omit<Candidate, 'id'>>({
  ranges: fc.array(range, { maxLength: 3 }),
  purpose: fc.constantFrom(null, null, 'discovery', 'monitoring'),
  assetId: fc.constantFrom(null, null, 'asset'),
  product,
  modifiedAt: moment,
})
const times = fc.record({ workedAt: fc.option(moment), failedAt: fc.option(moment) })

type Plant = { found: ScanTarget; associated: AssociatedCandidate[]; recent: Candidate[] }

/** Generates instances, some of which are associated with the device. */
const plant: fc.Arbitrary<Plant> = fc
  .tuple(
    fc.record({
      address: fc.record({ family: fc.constantFrom(4 as const, 6 as const), value: fc.nat(20).map(BigInt) }),
      product,
    }),
    fc.array(fc.tuple(candidate, times, fc.boolean()), { maxLength: 12 }),
  )
  .map(([found, drawn]) => {
    const all = drawn.map(([one, record, isAssociated], index) => ({
      ...one,
      ...record,
      id: `i${index}`,
      isAssociated,
    }))
    return { found, recent: all, associated: all.filter(({ isAssociated }) => isAssociated) }
  })

/** Selects instances with a reference implementation, which always takes the best of the remaining instances. */
function naive({ found, associated, recent }: Plant): { known: boolean; ids: string[] } {
  const fits = (one: Candidate) =>
    one.purpose !== 'monitoring' &&
    one.product.identifier === found.product.identifier &&
    one.ranges.some(
      ({ family, low, high }) =>
        family === found.address.family && !(found.address.value < low) && !(found.address.value > high),
    )
  const take = <One>(from: One[], isBetter: (a: One, b: One) => boolean, most: number): One[] => {
    if (from.length === 0 || most === 0) return []
    const best = from.reduce((a, b) => (isBetter(b, a) ? b : a))
    return [
      best,
      ...take(
        from.filter((one) => one !== best),
        isBetter,
        most - 1,
      ),
    ]
  }
  const key = (...parts: (string | null)[]) => parts.map((part) => part ?? ' '.repeat(24)).join('|')
  const better = (a: AssociatedCandidate, b: AssociatedCandidate) =>
    key(a.workedAt, a.modifiedAt, a.id) > key(b.workedAt, b.modifiedAt, b.id)
  const mine = associated.filter(fits)
  const sound = mine.filter(
    (one) => !(one.failedAt && [one.workedAt ?? '', one.modifiedAt].every((at) => at < (one.failedAt ?? ''))),
  )
  if (sound.length > 0) return { known: true, ids: take(sound, better, 3).map(({ id }) => id) }
  const last = take(mine, better, 1)
  const version = (one: Candidate) => (one.product.version === found.product.version ? 'same' : 'other')
  const others = take(
    recent.filter((one) => fits(one) && one.assetId === null),
    (a, b) => key(version(a), a.modifiedAt, a.id) > key(version(b), b.modifiedAt, b.id),
    3,
  ).filter(({ id }) => id !== last[0]?.id)
  return { known: last.length > 0, ids: [...last, ...others].slice(0, 3).map(({ id }) => id) }
}

describe('selection of credentials', () => {
  test('selects the same credentials as the reference implementation', () => {
    fc.assert(
      fc.property(plant, (input) => {
        const { known, chosen } = select(input.found, input)
        assert.deepEqual({ known, ids: chosen.map(({ id }) => id) }, naive(input))
      }),
      { numRuns: 1_000 },
    )
  })

  test('selects at most three discovery credentials of the requested address and product', () => {
    fc.assert(
      fc.property(plant, (input) => {
        const { chosen } = select(input.found, input)
        assert.ok(chosen.length <= 3)
        assert.equal(new Set(chosen.map(({ id }) => id)).size, chosen.length)
        for (const { ranges, product: of, purpose } of chosen) {
          const { family, value } = input.found.address
          assert.ok(ranges.some((one) => one.family === family && one.low <= value && value <= one.high))
          assert.equal(of.identifier, input.found.product.identifier)
          assert.notEqual(purpose, 'monitoring')
        }
      }),
      { numRuns: 500 },
    )
  })

  test('selects at most three credentials of a template, for the address and product, and never for discovery only', () => {
    fc.assert(
      fc.property(plant, ({ found, recent, associated }) => {
        const worked = new Map(associated.map((one) => [one.id, one]))
        const { known, chosen } = selectOfTemplate(found, { candidates: recent, worked, failed: new Map() })
        assert.ok(chosen.length <= 3)
        const timeOf = ({ id }: Candidate) => worked.get(id)?.workedAt ?? ''
        assert.deepEqual(chosen.map(timeOf), chosen.map(timeOf).toSorted().toReversed())
        assert.equal(
          known,
          chosen.some((one) => timeOf(one) !== ''),
        )
        for (const { ranges, product: of, purpose, assetId } of chosen) {
          const { family, value } = found.address
          assert.ok(ranges.some((one) => one.family === family && one.low <= value && value <= one.high))
          assert.equal(of.identifier, found.product.identifier)
          assert.ok(purpose !== 'discovery' && assetId === null)
        }
      }),
      { numRuns: 500 },
    )
  })
})
