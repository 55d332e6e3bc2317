import assert from 'node:assert/strict'
import { test } from 'node:test'
import { positionAt } from './replay-position.ts'

const timeOf = (position: number) => new Date(position * 1_000).toISOString()

function storedEvents(oldest: number, newest: number) {
  let reads = 0
  const firstFrom = async (position: number) => {
    reads += 1
    const first = Math.max(position, oldest)
    return first > newest ? undefined : { position: first, time: timeOf(first) }
  }
  return { range: { oldest, newest }, firstFrom, reads: () => reads }
}

test('positionAt returns the first event at or after a time', async () => {
  const { range, firstFrom } = storedEvents(11, 40)
  for (let position = 11; position <= 40; position++) {
    assert.equal(await positionAt(timeOf(position), range, firstFrom), position)
    assert.equal(await positionAt(timeOf(position - 0.5), range, firstFrom), position)
  }
})

test('positionAt returns the oldest event for an earlier time, and undefined after the newest event', async () => {
  const { range, firstFrom } = storedEvents(11, 40)
  assert.equal(await positionAt(timeOf(1), range, firstFrom), 11)
  assert.equal(await positionAt(timeOf(41), range, firstFrom), undefined)
})

test('positionAt reads at most 25 of 10 million events', async () => {
  const { range, firstFrom, reads } = storedEvents(1, 10_000_000)
  assert.equal(await positionAt(timeOf(7_654_321), range, firstFrom), 7_654_321)
  assert.ok(reads() <= 25, `${reads()} reads`)
})
