import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { isHeld, lockHome, parseHolder, parsePostmaster } from './instance.ts'
import { identify, isServerOf, parseStat } from './processes.ts'
import { temporaryFolder } from './testing.ts'

const holder = { pid: 7, started: 'boot/100', since: 'then' }

for (const { title, now, expected } of [
  { title: 'the same process runs', now: { alive: true, started: 'boot/100' }, expected: true },
  { title: 'the process is dead', now: { alive: false, started: 'boot/100' }, expected: false },
  { title: 'a later process has the same id', now: { alive: true, started: 'boot/200' }, expected: false },
  {
    title: 'a process has the same start ticks after a reboot',
    now: { alive: true, started: 'next/100' },
    expected: false,
  },
  { title: 'the start time of the process is unknown', now: { alive: true, started: undefined }, expected: true },
]) {
  test(`treats the lock of a home as ${expected ? 'held' : 'free'} when ${title}`, () =>
    assert.equal(isHeld(holder, now), expected))
}

test('finds no holder in an invalid lock file', () => {
  for (const text of [undefined, '', '{', '{"pid":0}', '{"pid":"1"}', '[]']) assert.equal(parseHolder(text), undefined)
  assert.deepEqual(parseHolder(JSON.stringify(holder)), holder)
})

test('locks a home once, takes over the lock of a dead process, and releases the lock', async () => {
  using folder = temporaryFolder()
  const lock = path.join(folder.path, 'lock')
  const dead = spawn('/bin/true')
  await once(dead, 'exit')
  writeFileSync(lock, JSON.stringify({ ...holder, pid: dead.pid }))

  const release = lockHome(folder.path, lock)
  assert.throws(() => lockHome(folder.path, lock), { name: 'StartError' })
  release()
  assert.deepEqual(readdirSync(folder.path), [])
})

test('reports a lock file that cannot be written', () => {
  using folder = temporaryFolder()
  mkdirSync(path.join(folder.path, 'there'))
  assert.throws(() => lockHome(folder.path, path.join(folder.path, 'missing', 'lock')), /cannot be written: ENOENT/)
})

test('parses the state of a process whose name contains spaces or parentheses', () => {
  const rest = 'S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20'
  for (const name of ['node', 'a b', ') Z 1', '((']) {
    assert.deepEqual(parseStat(`12 (${name}) ${rest}`), { state: 'S', startTicks: '4242' })
  }
})

test('identifies this process as alive and an unused process id as dead', () => {
  assert.equal(identify(process.pid).alive, true)
  assert.equal(identify(process.pid).started, identify(process.pid).started)
  assert.equal(identify(2 ** 30).alive, false)
})

for (const { command, expected } of [
  { command: '/x/bin/postgres -D /home/a b/data -c fsync=on', expected: true },
  { command: 'postgres -D /home/a b/data', expected: true },
  { command: 'postgres -D /home/a b/data2', expected: false },
  { command: 'tail -f /home/a b/data/postgres.log', expected: false },
  { command: '', expected: false },
]) {
  test(`${expected ? 'recognizes' : 'does not recognize'} "${command}" as the server of the folder`, () =>
    assert.equal(isServerOf(command, '/home/a b/data'), expected))
}

test('parses the address and state of the server from postmaster.pid', () => {
  const lines = ['42', '/home/data', '1700000000', '5432', '/tmp/millwright-1', '', '  123  4', 'ready   ', '']
  const expected = { pid: 42, port: 5432, socketFolder: '/tmp/millwright-1', isReady: true }
  assert.deepEqual(parsePostmaster(lines.join('\n')), expected)
  assert.deepEqual(parsePostmaster(lines.with(7, 'starting').join('\n')), { ...expected, isReady: false })
  for (const text of [undefined, '', 'nonsense\n']) assert.equal(parsePostmaster(text), undefined)
})
