import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventsBetween, nextEventTime, parseCast } from './asciicast.ts'

const text = [
  '{"version":2,"width":100,"height":30,"timestamp":1769850000}',
  '[0.5,"o","login: "]',
  '[1,"i","root"]',
  '[1.5,"r","120x40"]',
  '[4,"o","bye\\r\\n"]',
  '[5,"o","incompl',
].join('\n')

test('reads the size, the outputs and the new sizes, and leaves out inputs and incomplete lines', () => {
  const cast = parseCast(text)
  assert.deepEqual(cast.size, { columns: 100, rows: 30 })
  assert.deepEqual(cast.events, [
    { time: 0.5, output: 'login: ' },
    { time: 1.5, size: { columns: 120, rows: 40 } },
    { time: 4, output: 'bye\r\n' },
  ])
  assert.equal(cast.durationSeconds, 4)
})

test('reads a text that is not a recording as an empty recording', () => {
  for (const other of ['', 'null', '{"width":-1,"height":1e9}\n[]\n[-1,"o","x"]\n[1,"r","0x0"]']) {
    assert.deepEqual(parseCast(other), { size: { columns: 80, rows: 24 }, events: [], durationSeconds: 0 })
  }
})

test('returns the events of an interval without its start and with its end', () => {
  const cast = parseCast(text)
  assert.deepEqual(
    eventsBetween(cast, 0.5, 4).map(({ time }) => time),
    [1.5, 4],
  )
  assert.deepEqual(eventsBetween(cast, 4, 9), [])
  assert.equal(nextEventTime(cast, 1.5), 4)
  assert.equal(nextEventTime(cast, 4), undefined)
})
