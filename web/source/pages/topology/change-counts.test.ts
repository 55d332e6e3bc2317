import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeCount, occurredChangedKinds, occurredKinds } from './change-counts.ts'
import { changeTexts } from './map/change-texts.ts'
import { shownEmphasis } from './map-emphasis.ts'
import { differencesOf } from './place-links.ts'
import { timelineBars } from './timeline-bars.ts'
import { labelledBars } from './timeline-labels.ts'

const texts = {
  change: (kind: string, count: number) => `${count} ${kind}`,
  allChanges: (count: number) => `${count} changes`,
}

test('changes are counted, and only the kinds that occurred are listed', () => {
  const changes = { added: 5, changed: 0, removed: 1 }
  assert.equal(changeCount(changes), 6)
  assert.deepEqual(occurredKinds(changes), ['added', 'removed'])
})

test('the changes of a group are words in the same form for all groups: added, changed and removed assets, or their sum, and none without changes', () => {
  const changes = { added: 2, changed: 7, removed: 1 }
  const kinds = { firmware: 4, software: 0, name: 0, connection: 1, state: 0, other: 3 }
  assert.deepEqual(occurredChangedKinds(kinds), ['firmware', 'connection', 'other'])
  assert.deepEqual(changeTexts({ changes, changeKinds: kinds }, texts), [
    ['2 added', '7 changed', '1 removed'],
    ['10 changes'],
  ])
  const none = { added: 0, changed: 0, removed: 0 }
  assert.deepEqual(changeTexts({ changes: none, changeKinds: { ...kinds, firmware: 0, other: 0 } }, texts), [
    ['1 connection'],
  ])
  assert.deepEqual(changeTexts({ changes: none }, texts), [])
})

test('the highest bars of a timeline have their number, and numbers do not overlap', () => {
  const bars = Array.from({ length: 100 }, (_, index) => (index === 50 ? 9 : index % 2))
  const labelled = labelledBars(bars, (position) => position / bars.length)
  assert.equal(labelled[0]?.index, 50)
  const places = labelled.map(({ place }) => place).toSorted((one, other) => one - other)
  assert.ok(places.every((place, index) => index === 0 || place - (places[index - 1] ?? 0) >= 0.04))
  assert.ok(labelled.every(({ index }) => (bars[index] ?? 0) > 0))
})

test('a much higher bar outside the selection is cut, so that the selected bars stay visible', () => {
  const counts = [328, 0, 15, 34, 2]
  const [high, none, ...selected] = timelineBars(counts, { since: 2, at: 5 })
  assert.deepEqual([high?.isCut, none?.height], [true, 0])
  assert.ok(selected.every(({ height, isCut }) => !isCut && height >= 6 && height < (high?.height ?? 0)))
  assert.ok((selected[1]?.height ?? 0) > 2 * (selected[0]?.height ?? 0))
})

test('no bar is cut if the highest bar is selected or not much higher', () => {
  const heights = (range: { since: number; at: number }) => timelineBars([40, 30, 0], range).map(({ height }) => height)
  assert.deepEqual(heights({ since: 0, at: 3 }), heights({ since: 1, at: 3 }))
  assert.deepEqual(heights({ since: 2, at: 3 }), [70, 52.5, 0])
  assert.ok(timelineBars([40, 30, 0], { since: 1, at: 3 }).every(({ isCut }) => !isCut))
})

test('the assets that differ from an earlier time are listed only if the list contains exactly these assets', () => {
  const query = {
    by: 'hierarchy',
    hierarchy: 'h',
    at: undefined,
    since: '2026-11-15T16:02:00.000Z',
    q: undefined,
    isAll: false,
    hasChangeKinds: true,
  } as const
  const changes = { added: 30, changed: 55, removed: 0 }
  const filter = "last_modified_timestamp gt '2026-11-15T16:02:00.000Z'"
  assert.deepEqual(differencesOf(query, { place: '', changes }), { to: '/assets', search: { filter } })
  assert.equal(differencesOf(query, { place: 'n', changes })?.search.filter, filter)
  assert.equal(differencesOf(query, { place: '', changes: { ...changes, removed: 1 } }), undefined)
  assert.equal(differencesOf({ ...query, at: '2026-11-16T00:00:00.000Z' }, { place: '', changes }), undefined)
  assert.equal(differencesOf({ ...query, by: 'subnet' }, { place: '10.0.0.0/24', changes }), undefined)
})

test('a comparison highlights only changes, and the other maps only states and classes', () => {
  const comparison = { isComparison: true, showsChanges: true }
  const current = { isComparison: false, showsChanges: false }
  assert.equal(shownEmphasis('outdated', comparison), undefined)
  assert.deepEqual(shownEmphasis({ change: 'added' }, comparison), { change: 'added' })
  assert.equal(shownEmphasis({ changed: 'firmware' }, current), undefined)
  assert.equal(shownEmphasis('outdated', current), 'outdated')
})
