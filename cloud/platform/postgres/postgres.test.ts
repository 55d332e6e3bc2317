import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import pg from 'pg'
import { findBinaries } from './binaries.ts'
import { readPostmaster } from './instance.ts'
import { attachPostgres, startPostgres } from './postgres.ts'
import { identify } from './processes.ts'
import { serverArguments } from './settings.ts'
import { ownerProcess, query, quick, refusal, temporaryFolder, until } from './testing.ts'

const settings = quick
const folder = temporaryFolder()
after(() => folder[Symbol.dispose]())

/**
 * The home of all tests that can continue from the state of the previous test. They share it, because creating a data
 * folder is slow.
 */
const home = path.join(folder.path, 'a home, with "spaces"')
const data = path.join(home, 'postgres', 'data')

test('creates a database with the same collation, encoding and locale on every system at the first start', async () => {
  const server = await startPostgres({ home, settings })
  const [database] = await query(
    server.connection,
    `select datlocprovider, datlocale, pg_encoding_to_char(encoding) as encoding, current_setting('data_checksums') as
     checksums, current_setting('TimeZone') as zone, current_setting('listen_addresses') as addresses, current_user as name
     from pg_database where datname = 'postgres'`,
  )
  await query(server.connection, 'create table kept (value text)')
  await server.stop()

  assert.deepEqual(database, {
    datlocprovider: 'b',
    datlocale: 'C.UTF-8',
    encoding: 'UTF8',
    checksums: 'on',
    zone: 'UTC',
    addresses: '',
    name: 'millwright',
  })
  assert.equal(statSync(path.join(home, 'postgres')).mode & 0o777, 0o700)
})

test('starts PostgreSQL with durable settings by default', async () => {
  const server = await startPostgres({ home })
  const rows = await query(
    server.connection,
    `select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'jit') order by name`,
  )
  await server.stop()

  assert.deepEqual(
    rows.map((row) => Object.values(row as object).join(' ')),
    ['fsync on', 'full_page_writes on', 'jit off', 'synchronous_commit on'],
  )
})

test('logs no value of a row, a parameter or a statement when a statement fails', async () => {
  const server = await startPostgres({ home, settings })
  const client = new pg.Client(server.connection)
  await client.connect()
  await client.query('create table secret (value text primary key check (length(value) < 40))')
  await client.query('insert into secret values ($1)', ['hidden-one'])
  await assert.rejects(client.query('insert into secret values ($1)', ['hidden-one']))
  await assert.rejects(client.query('insert into secret values ($1)', ['hidden-two'.padEnd(50)]))
  await assert.rejects(client.query(`create role millwright password 'hidden-three'`))
  await client.end()
  await server.stop()

  const log = readFileSync(path.join(home, 'postgres', 'postgres.log'), 'utf8')
  assert.match(log, /duplicate key/)
  assert.doesNotMatch(log, /hidden/)
})

test('ends running queries quickly when the server is stopped', async () => {
  const server = await startPostgres({ home, settings })
  const client = new pg.Client(server.connection)
  client.on('error', () => {})
  await client.connect()
  const running = assert.rejects(client.query('select pg_sleep(60)'))
  const started = Date.now()
  await Promise.all([server.stop(), server.stop()])
  await running

  assert.ok(Date.now() - started < 50_000)
  const { code, signal, expected } = await server.exited
  assert.deepEqual({ code, signal, expected }, { code: 0, signal: null, expected: true })
  assert.equal(existsSync(server.connection.host), false)
  assert.equal(existsSync(path.join(home, 'postgres', 'lock')), false)
})

test('runs one server per home, and lets other processes attach to it', async () => {
  assert.equal(attachPostgres({ home }), undefined)
  const server = await startPostgres({ home, settings })
  const second = await refusal({ home })
  await assert.rejects(startPostgres({ home }), /is in use by this process since/)

  assert.equal(second.code, 1)
  assert.match(
    second.message,
    new RegExp(`^StartError: .* is in use by process ${process.pid} since .*: stop that process first`),
  )
  assert.deepEqual(attachPostgres({ home }), server.connection)
  await server.stop()
  assert.equal(attachPostgres({ home }), undefined)
})

test('runs the servers of two homes at the same time', async () => {
  const other = path.join(folder.path, 'other')
  const servers = await Promise.all([startPostgres({ home, settings }), startPostgres({ home: other, settings })])
  const answers = await Promise.all(servers.map(({ connection }) => query(connection, `show data_directory`)))
  await Promise.all(servers.map((server) => server.stop()))

  assert.deepEqual(answers, [[{ data_directory: data }], [{ data_directory: path.join(other, 'postgres', 'data') }]])
})

test('does not use a temporary folder whose path is too long for a socket', async () => {
  const before = process.env.TMPDIR
  process.env.TMPDIR = path.join(folder.path, 'long'.repeat(30))
  mkdirSync(process.env.TMPDIR)
  try {
    const server = await startPostgres({ home, settings })
    assert.equal(path.dirname(server.connection.host), '/tmp')
    await server.stop()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
})

test('stops the server when its owner process is killed, and keeps committed data', async () => {
  const owner = await ownerProcess({ home })
  await query(owner.connection, `insert into kept values ('committed')`)
  const { pid } = readPostmaster(data) ?? assert.fail('no server')
  owner.child.kill('SIGKILL')
  await until(() => !identify(pid).alive && !identify(owner.child.pid ?? 0).alive)

  const server = await startPostgres({ home, settings })
  assert.deepEqual(await query(server.connection, 'select value from kept'), [{ value: 'committed' }])
  await server.stop()
})

test('waits until the old server has stopped when its owner process was just killed', async () => {
  const owner = await ownerProcess({ home })
  owner.child.kill('SIGKILL')
  await until(() => !identify(owner.child.pid ?? 0).alive)

  const server = await startPostgres({ home, settings })
  assert.deepEqual(await query(server.connection, 'select value from kept'), [{ value: 'committed' }])
  await server.stop()
})

test('stops a server that runs without its owner process', async () => {
  const { uid, gid } = statSync(data)
  using sockets = temporaryFolder({ uid, gid })
  const command = serverArguments({ dataFolder: data, socketFolder: sockets.path, settings })
  const orphan = spawn(findBinaries().postgres, command, { uid, gid, cwd: '/', stdio: 'ignore' })
  await until(() => readPostmaster(data)?.isReady === true)

  const server = await startPostgres({ home, settings })
  assert.equal(identify(orphan.pid ?? 0).alive, false)
  assert.equal((await query(server.connection, 'select 1')).length, 1)
  await server.stop()
})

test('restarts the server each time its main process is killed while queries run', onlyInLongRuns, async () => {
  const warnings: string[] = []
  const server = await startPostgres({ home, settings, warn: (sentence) => warnings.push(sentence) })
  const killed = new Set<number>()
  for (let round = 1; round <= 3; round++) {
    const busy = new pg.Client(server.connection)
    busy.on('error', () => {})
    await busy.connect()
    const { rows } = await busy.query<{ pid: number }>('select pg_backend_pid() as pid')
    busy.query('select count(*) from generate_series(1, 100000000000) number').catch(() => {})
    // A stopped backend does not detect that its server has ended.
    if (round === 2) process.kill(rows[0]?.pid ?? 0, 'SIGSTOP')
    const { pid } = readPostmaster(data) ?? assert.fail('no server')
    process.kill(pid, 'SIGKILL')
    killed.add(pid)
    await until(() => {
      const { pid: next, isReady } = readPostmaster(data) ?? { pid, isReady: false }
      return isReady && !killed.has(next) && identify(next).alive
    })
    assert.deepEqual(await query(server.connection, 'select value from kept'), [{ value: 'committed' }])
    busy.end().catch(() => {})
  }
  // The server is ready a moment before its supervisor reports it.
  await until(() => warnings.filter((sentence) => sentence === 'PostgreSQL is running again.').length === 3)
  await server.stop()
  assert.equal((await server.exited).expected, true)
})

test('repeats failed restarts of the server, and can be stopped meanwhile', async () => {
  const warnings: string[] = []
  const server = await startPostgres({ home, settings, warn: (sentence) => warnings.push(sentence) })
  const kill = () => process.kill(readPostmaster(data)?.pid ?? assert.fail('no server'), 'SIGKILL')
  const control = path.join(data, 'global', 'pg_control')
  renameSync(control, `${control}.away`)
  kill()
  await until(() => warnings.some((sentence) => sentence.includes('Next attempt')))
  renameSync(`${control}.away`, control)
  await until(() => warnings.includes('PostgreSQL is running again.'))
  assert.deepEqual(await query(server.connection, 'select value from kept'), [{ value: 'committed' }])

  renameSync(control, `${control}.away`)
  kill()
  await until(() => warnings.filter((sentence) => sentence.includes('Next attempt')).length > 1)
  await server.stop()
  renameSync(`${control}.away`, control)
})

test('ignores stored process ids that now belong to other programs', async () => {
  const lock = { pid: process.pid, started: 'another time', since: 'long ago' }
  writeFileSync(path.join(home, 'postgres', 'lock'), JSON.stringify(lock))
  writeFileSync(path.join(data, 'postmaster.pid'), `${process.pid}\n${data}\n1\n5432\n/tmp\n\n0 0\nready   \n`)

  const server = await startPostgres({ home, settings })
  assert.equal((await query(server.connection, 'select 1')).length, 1)
  await server.stop()
})

test('removes the incomplete data of a first start that was killed', async () => {
  const fresh = path.join(folder.path, 'fresh')
  const unfinished = path.join(fresh, 'postgres', 'data.unfinished-abc')
  mkdirSync(unfinished, { recursive: true })
  writeFileSync(path.join(unfinished, 'PG_VERSION'), '18\n')

  const server = await startPostgres({ home: fresh, settings })
  await server.stop()
  assert.equal(existsSync(unfinished), false)
})

test('keeps one old log file of the server', async () => {
  const log = path.join(home, 'postgres', 'postgres.log')
  writeFileSync(log, 'x'.repeat(5 * 1024 * 1024))
  const server = await startPostgres({ home, settings })
  await server.stop()

  assert.equal(statSync(`${log}.1`).size, 5 * 1024 * 1024)
  assert.ok(statSync(log).size < 10_000)
})
