import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeCount, occurredChangedKinds, occurredKinds } from './change-counts.ts'
import { changeTexts } from './map/change-texts.ts'
import { labelledBars } from './timeline-labels.ts'

const texts = {
  change: (kind: string, count: number) => `${count} ${kind}`,
  allChanges: (count: number) => `${count} changes`,
  noChange: 'no changes',
}

test('changes are counted, and only the kinds that occurred are listed', () => {
  const changes = { added: 5, changed: 0, removed: 1 }
  assert.equal(changeCount(changes), 6)
  assert.deepEqual(occurredKinds(changes), ['added', 'removed'])
})

test('the changes of a group are words in the same form for all groups: added, changed and removed assets, or their sum', () => {
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
  assert.deepEqual(changeTexts({ changes: none }, texts), [['no changes']])
})

test('the highest bars of a timeline have their number, and numbers do not overlap', () => {
  const bars = Array.from({ length: 100 }, (_, index) => (index === 50 ? 9 : index % 2))
  const labelled = labelledBars(bars, (position) => position / bars.length)
  assert.equal(labelled[0]?.index, 50)
  const places = labelled.map(({ place }) => place).toSorted((one, other) => one - other)
  assert.ok(places.every((place, index) => index === 0 || place - (places[index - 1] ?? 0) >= 0.04))
  assert.ok(labelled.every(({ index }) => (bars[index] ?? 0) > 0))
})
