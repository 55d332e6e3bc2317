import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createYield, noteRequest, priorities } from './event-loop.ts'

/** Blocks the event loop for `ms` milliseconds. */
function occupy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('does not yield before the time slice of the event-loop turn is used up', (t) => {
  const nowMs = performance.now()
  t.mock.method(performance, 'now', () => nowMs)
  const yieldTurn = createYield('a')
  assert.equal(yieldTurn(), undefined)
})

test('runs one time slice per event-loop turn, regardless of the number of concurrent tasks', async () => {
  const slicesInTurn = new Map<number, number>()
  let turn = 0
  let isOver = false
  const countTurn = () => {
    turn += 1
    if (!isOver) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const work = async () => {
    const yieldTurn = createYield('a')
    for (let slice = 0; slice < 5; slice++) {
      occupy(6)
      await yieldTurn()
      slicesInTurn.set(turn, (slicesInTurn.get(turn) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  isOver = true
  const counts = [...slicesInTurn.values()]
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    40,
  )
  assert.equal(Math.max(...counts), 1)
})

/**
 * Runs ten slices of 6 ms, each with a new request of the other tenant. Returns the time in milliseconds that the tenant
 * waits after each slice. A slice in which the machine paused the process is repeated, because the request of the other
 * tenant counts as in progress for 100 ms only.
 */
async function waitsOf(tenantId: string, beginRequest: () => () => void): Promise<number[]> {
  const yieldTurn = createYield(tenantId)
  const waits: number[] = []
  while (waits.length < 10) {
    const begunAt = performance.now()
    const endRequest = beginRequest()
    occupy(6)
    const startedAt = performance.now()
    await yieldTurn()
    if (startedAt - begunAt < 50) waits.push(performance.now() - startedAt)
    endRequest()
  }
  return waits
}

test('delays the slices of a busy tenant while another tenant has a request in progress', async () => {
  const alone = await waitsOf('busy', () => () => {})
  const shared = await waitsOf('busy', () => noteRequest('small'))
  // A busy machine can only make a wait longer.
  assert.ok(Math.min(...alone) < 10, `waits without another tenant: ${alone}`)
  assert.ok(Math.min(...shared) >= 10, `waits with another tenant: ${shared}`)
})

test('continues at once when the request of the other tenant ends', async () => {
  const waits: number[] = []
  for (let index = 0; index < 10; index += 1) {
    const yieldTurn = createYield('busy')
    const endRequest = noteRequest('other')
    occupy(6)
    const turn = yieldTurn()
    setImmediate(endRequest)
    const startedAt = performance.now()
    await turn
    waits.push(performance.now() - startedAt)
  }
  // A busy machine can only make a wait longer.
  assert.ok(Math.min(...waits) < 30, `${waits}`)
})

test('does not delay the work of a tenant by its own requests', async () => {
  const endRequest = noteRequest('alone')
  const yieldTurn = createYield('alone')
  occupy(6)
  let turns = 0
  const countTurn = () => {
    turns++
    next = setImmediate(countTurn)
  }
  let next = setImmediate(countTurn)
  await yieldTurn()
  clearImmediate(next)
  assert.ok(turns <= 2, `the work waited for ${turns} turns of the event loop`)
  endRequest()
})

test('runs work with a higher priority before other waiting work of the same tenant', async (t) => {
  // Work that has waited for a long time runs first, so the clock must not continue on a busy machine.
  let nowMs = performance.now()
  t.mock.method(performance, 'now', () => nowMs)
  const order: number[] = []
  const { request, decision, statement } = priorities
  const yields = [request, decision, request, statement, decision].map((priority) => createYield('a', { priority }))
  nowMs += 6
  await Promise.all(
    yields.map(async (yieldTurn, index) => {
      await yieldTurn()
      order.push(index)
    }),
  )
  assert.deepEqual(order, [3, 1, 4, 0, 2])
})
