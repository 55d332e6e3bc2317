import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CloudEvent } from '@millwright/api/events.ts'
import { addEvents, noEvents, resumeList } from './event-list.ts'

const event = (position: number): CloudEvent => ({
  specversion: '1.0',
  id: `id-${position}`,
  source: '/tenants/main',
  type: 'io.millwright.inventory.asset.created',
  subject: 'asset/1',
  time: '2026-01-01T00:00:00.000Z',
  datacontenttype: 'application/json',
  sequence: String(position).padStart(16, '0'),
  data: {},
})

const positions = (events: readonly CloudEvent[]) => events.map(({ sequence }) => Number(sequence))

test('lists events newest first and removes duplicates', () => {
  const list = addEvents(addEvents(noEvents, [event(2)], { isPaused: false }), [event(1), event(3), event(2)], {
    isPaused: false,
  })
  assert.deepEqual(positions(list.shown), [3, 2, 1])
})

test('hides new events while the event list is paused, and shows them when it resumes', () => {
  const paused = addEvents(addEvents(noEvents, [event(1)], { isPaused: false }), [event(2)], { isPaused: true })
  assert.deepEqual(positions(paused.shown), [1])
  assert.deepEqual(positions(resumeList(paused).shown), [2, 1])
})

test('drops the oldest events when the list exceeds its limit', () => {
  const many = Array.from({ length: 3_000 }, (_, index) => event(index))
  const { shown } = addEvents(noEvents, many, { isPaused: false })
  assert.equal(shown.length, 2_000)
  assert.equal(Number(shown[0]?.sequence), 2_999)
})
