import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SlowStatement } from './database/database.ts'
import type { CompletedRequest } from './http/completed-request.ts'
import { createLog } from './log.ts'
import { linesPerMinute, SlowLog, withoutLiterals } from './slow-log.ts'
import { testHub } from './testing/hub.ts'
import { createWork } from './work.ts'

type Line = Record<string, unknown> & { msg: string }

function slowLog({ slowRequestMs = 1_000, slowStatementMs = 500 } = {}) {
  const lines: Line[] = []
  const clock = { now: 0 }
  const log = createLog({ level: 'warn', to: { write: (line) => lines.push(JSON.parse(line)) } })
  return { lines, clock, slow: new SlowLog({ log, slowRequestMs, slowStatementMs, now: () => clock.now }) }
}

function completed(more: Partial<CompletedRequest> = {}): CompletedRequest {
  const work = { ...createWork(undefined), statements: 3, databaseMs: 812.34, connectionWaitMs: 7 }
  const answered = { requestId: 'request-1', method: 'GET', route: '/things/:id', status: 200, ms: 1_500 }
  return { ...answered, caller: undefined, waits: false, work, ...more }
}

const statement: SlowStatement = {
  name: 'm1',
  text: `select 'a''b'\n  from things where id = $1`,
  ms: 700,
  rows: 2,
  tenantId: undefined,
  span: undefined,
}

describe('log of slow requests and statements', () => {
  test('logs a request at the threshold with its time in the database, and no faster request', () => {
    const { lines, slow } = slowLog()
    slow.request(completed({ ms: 999.9 }))
    slow.request(completed({ ms: 1_000 }))
    const [{ time: _, ...line } = {} as Line] = lines
    assert.deepEqual(line, {
      level: 'warn',
      requestId: 'request-1',
      method: 'GET',
      route: '/things/:id',
      status: 200,
      ms: 1000,
      databaseMs: 812.3,
      connectionWaitMs: 7,
      statements: 3,
      msg: 'slow request',
    })
    assert.deepEqual([lines.length, slow.counts.requests], [1, 1])
  })

  test('does not log requests that wait by design, and none with the threshold 0', () => {
    const { lines, slow } = slowLog()
    slow.request(completed({ waits: true }))
    const off = slowLog({ slowRequestMs: 0 })
    off.slow.request(completed())
    assert.deepEqual([lines.length, off.lines.length], [0, 0])
  })

  test('logs the text of a statement on one line, without text literals', () => {
    const { lines, slow } = slowLog()
    slow.statement(statement)
    const [line] = lines
    assert.deepEqual(
      [line?.statement, line?.text, line?.ms, line?.rows, line?.msg],
      ['m1', "select '?' from things where id = $1", 700, 2, 'slow statement'],
    )
    assert.equal(withoutLiterals('do $x$ begin secret; end $x$'), "do '?'")
    assert.equal(withoutLiterals('x'.repeat(5_000)).length, 2_000)
  })

  test('suppresses lines above the limit per minute, and reports their number', () => {
    const { lines, clock, slow } = slowLog()
    for (let index = 0; index < linesPerMinute + 5; index++) slow.statement(statement)
    slow.request(completed())
    assert.equal(lines.length, linesPerMinute + 1)
    clock.now = 60_000
    slow.statement(statement)
    assert.deepEqual(
      lines.slice(-2).map(({ msg, suppressed }) => [msg, suppressed]),
      [
        ['Lines about slow statements were suppressed', 5],
        ['slow statement', undefined],
      ],
    )
    assert.equal(slow.counts.statements, linesPerMinute + 6)
    for (let index = 0; index < linesPerMinute; index++) slow.statement(statement)
    slow.stop()
    assert.deepEqual([lines.at(-1)?.msg, lines.at(-1)?.suppressed], ['Lines about slow statements were suppressed', 1])
  })

  test('the platform logs requests and statements with route and tenant, and without their values', async () => {
    await using hub = await testHub({ slowRequestMs: 0.001, slowStatementMs: 0.001, arrangement: 'one process' })
    const admin = await hub.as('administrator')
    await admin.inventory.listAssets({ query: { q: 'value-4711', filter: "name eq 'value-4711'" } })
    const lines = hub.printed.map((line): Line => JSON.parse(line))
    const request = lines.find(({ msg, route }) => msg === 'slow request' && route === '/inventory/v2/assets')
    assert.equal(request?.tenant, hub.tenant.name)
    assert.ok(Number(request?.statements) > 0 && Number(request?.databaseMs) > 0)
    const statements = lines.filter(({ msg }) => msg === 'slow statement')
    assert.ok(statements.length > 0 && statements.length <= linesPerMinute)
    for (const { statement: name, text } of statements) assert.match(`${name} ${text}`, /^m[\w-]{20} \w+ /)
    assert.doesNotMatch(JSON.stringify(lines), /value-4711/)
  })
})
