import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { openClient } from './connection.ts'
import { Database } from './database.ts'
import { statement } from './statement.ts'
import { isContention, isStatementTimeout, isTransient, lostWorkerOf, outageOf } from './transient.ts'

const outages = {
  '53000': 'out of resources',
  '53100': 'out of disk space',
  '53200': 'out of memory',
  '53300': 'out of connections',
  '53400': 'out of resources',
  '25006': 'read-only',
  '58000': 'failing to read or write its files',
  '58030': 'failing to read or write its files',
  '08000': 'not reachable',
  '08006': 'not reachable',
  '57P01': 'not reachable',
  '57P02': 'not reachable',
  '57P03': 'not reachable',
  '57P05': 'not reachable',
}
const contention = ['40001', '40P01', '55P03', '57014']
const faults = ['22P02', '23505', '23514', '42501', '42703', '42P01', '54000', 'P0001', 'XX000', 'XX001']

const raising = (code: string, message = 'injected') =>
  statement(`do $$ begin raise exception '${message}' using errcode = '${code}'; end $$`)

describe('errors of the database', () => {
  let hub: TestHub

  before(async () => {
    hub = await testHub({ own: true })
  })
  after(() => hub[Symbol.asyncDispose]())

  const open = (connections = 2) =>
    new Database({ address: hub.database.app, server: hub.database.server, connections })
  const thrownBy = (work: Promise<unknown>) =>
    work.then(
      () => assert.fail('it succeeded'),
      (error: unknown) => error,
    )
  const raise = (database: Database, code: string, message?: string) =>
    thrownBy(database.transaction(hub.tenant, (tx) => tx.reference.run(raising(code, message))))

  test('returns 503 for a worker of a cluster that is not reachable, and no outage of the server', async () => {
    await using database = open(1)
    for (const [message, address] of [
      ['connection to the remote node app@10.0.0.7:5432 failed with the following error: refused', '10.0.0.7:5432'],
      ['could not establish any connections to the node 10.0.0.7:5432 after 30000 ms', '10.0.0.7:5432'],
    ] as const) {
      const error = await raise(database, '08006', message)
      assert.ok(error instanceof Problem)
      assert.deepEqual([error.code, lostWorkerOf(error), outageOf(error)], ['unavailable', address, undefined])
      assert.match(error.message, /Other tenants are not affected/)
      assert.ok(!error.message.includes(address))
      assert.ok(isTransient(error) && isTransient(error.cause) && !isContention(error))
      assert.equal(await database.outage(10_000), undefined)
    }
    const stopping = Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' })
    assert.equal(outageOf(stopping), 'not reachable')
    const context = { where: 'while executing command on 10.0.0.7:5432' }
    assert.deepEqual([lostWorkerOf(Object.assign(stopping, context)), outageOf(stopping)], ['10.0.0.7:5432', undefined])
  })

  test('returns 503 with Retry-After during an outage of the server', async () => {
    for (const [code, state] of Object.entries(outages)) {
      await using database = open()
      const error = await raise(database, code)
      assert.ok(error instanceof Problem, code)
      assert.deepEqual([error.code, error.status, outageOf(error)], ['unavailable', 503, state], code)
      assert.ok(Number(error.headers['retry-after']) > 0)
      assert.ok(isTransient(error) && isTransient(error.cause) && !isContention(error), code)
      assert.match(await outageSoon(database), new RegExp(state))
    }
  })

  test('treats an error as an outage when its message reports a full disk or a read-only file system', async () => {
    await using database = open()
    for (const message of ['could not extend file: No space left on device', 'write failed: Disk quota exceeded'])
      assert.equal(outageOf(await raise(database, 'XX000', message)), 'out of disk space')
    assert.equal(outageOf(await raise(database, '42501', 'could not open file: Read-only file system')), 'read-only')
  })

  test('treats contention and statement timeouts as transient, not as an outage', async () => {
    await using database = open()
    for (const code of contention) {
      const error = await raise(database, code)
      assert.ok(error instanceof Problem && error.code === 'overloaded', code)
      assert.ok(isTransient(error) && isContention(error) && isTransient(error.cause), code)
      assert.deepEqual([isStatementTimeout(error), outageOf(error)], [code === '57014', undefined])
    }
    assert.equal(await database.outage(60_000), undefined)
  })

  test('does not treat an error in the statement itself as transient', async () => {
    await using database = open()
    for (const code of faults) {
      const error = await raise(database, code)
      assert.ok(!(error instanceof Problem) && !isTransient(error), code)
    }
    assert.equal(await database.outage(60_000), undefined)
  })

  test('reports the first error of a transaction, not an error that followed from it', async () => {
    await using database = open()
    const error = await thrownBy(
      database.transaction(hub.tenant, async (tx) => {
        const first = tx.reference.run(raising('53100'))
        first.catch(() => {})
        await tx.reference.run(statement('select 1'))
      }),
    )
    assert.equal(outageOf(error), 'out of disk space')
    const swallowed = await thrownBy(
      database.transaction(hub.tenant, async (tx) => void (await tx.reference.run(raising('53100')).catch(() => {}))),
    )
    assert.equal(outageOf(swallowed), 'out of disk space')
  })

  test('reports an outage while the database is read-only, and none when writes succeed again', async (context) => {
    if (hub.database.shared) return context.skip('other tests write to the same database')
    const name = (hub.database.app as { database: string }).database
    const setReadOnly = (value: string) =>
      hub.asOwner(async (owner) => {
        await owner.query('set default_transaction_read_only = off')
        await owner.query(`alter database ${name} set default_transaction_read_only = ${value}`)
      })
    await setReadOnly('on')
    await using database = open()
    const write = () =>
      database.transaction(hub.tenant, (tx) => tx.reference.run(statement('create temporary table t (a int)')))
    assert.equal(outageOf(await thrownBy(write())), 'read-only')
    assert.equal(await database.outage(60_000), 'read-only')
    await setReadOnly('off')
    await using later = open()
    assert.equal(await later.outage(60_000), undefined)
  })

  test('reports a server that does not respond in time, and uses at most one connection for the check', async (context) => {
    if (hub.database.shared)
      return context.skip('the server may run on another machine, so its processes cannot be stopped')
    await using database = open(3)
    await database.reference((handle) => handle.run(statement('select 1')))
    const blocker = await openClient(hub.database.owner)
    const { rows } = await blocker.query<{ pid: number }>(
      `select pid from pg_stat_activity where usename = $1 and datname = current_database() and application_name = 'millwright'`,
      [(hub.database.app as { user: string }).user],
    )
    for (const { pid } of rows) process.kill(pid, 'SIGSTOP')
    try {
      let states: (string | undefined)[] = []
      // At first the server still counts as reachable, because it responded recently.
      while (!states.includes('not responding'))
        states = await Promise.all(Array.from({ length: 10 }, () => database.outage(100)))
      assert.ok(database.inUse <= 1)
    } finally {
      for (const { pid } of rows) process.kill(pid, 'SIGCONT')
      await blocker.end()
    }
    for (let state = await database.outage(60_000); state !== undefined; ) state = await database.outage(60_000)
  })

  /** Returns the state that readiness reports right after the error. */
  const outageSoon = async (database: Database) => (await database.outage(60_000)) ?? 'no outage'
})
