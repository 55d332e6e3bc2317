import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { as, candidates, chooseAccount, parseUsers, type User, withParents } from './account.ts'
import { readPostmaster } from './instance.ts'
import { startPostgres } from './postgres.ts'
import { isRoot, nobody, ownerProcess, query, quick, refusal, temporaryFolder } from './testing.ts'

const root: User = { name: 'root', uid: 0, gid: 0 }
const alice: User = { name: 'alice', uid: 1000, gid: 1000 }
const postgres: User = { name: 'postgres', uid: 70, gid: 71 }
const nobodyUser: User = { name: 'nobody', uid: 65534, gid: 65533 }
const everybody = [root, alice, nobodyUser, postgres]
const unnamed = { uid: 4711, gid: 4712 }
const settings = quick
const skip = !isRoot && 'needs root'

/** Prints an account as `alice`, or as `4711 as 70` for user 4711 that appears as user 70 in its namespace. */
function printed(accounts: ReturnType<typeof candidates>): string[] {
  return accounts.map(({ name, uid, appearsAs }) =>
    appearsAs === undefined ? `${name} ${uid}` : `${name} ${uid} as ${appearsAs.uid}`,
  )
}

const cases: { title: string; known: Parameters<typeof candidates>[0]; expected: string[] }[] = [
  {
    title: 'an ordinary user starts it',
    known: { self: alice, home: alice, data: undefined, users: everybody },
    expected: ['alice 1000', 'alice 1000 as 70'],
  },
  {
    title: 'a user without a name starts it',
    known: { self: unnamed, home: unnamed, data: undefined, users: [root, nobodyUser] },
    expected: ['user 4711 4711', 'user 4711 4711 as 65534'],
  },
  {
    title: 'root starts it with a new home of another user',
    known: { self: root, home: alice, data: undefined, users: everybody },
    expected: ['alice 1000', 'alice 1000 as 70', 'root 0 as 70'],
  },
  {
    title: 'root starts the platform with a new home, and the account `postgres` exists',
    known: { self: root, home: root, data: undefined, users: everybody },
    expected: ['postgres 70', 'root 0 as 70'],
  },
  {
    title: 'root starts the platform with a new home, and the account `postgres` does not exist, but `nobody` does',
    known: { self: root, home: root, data: undefined, users: [root, alice, nobodyUser] },
    expected: ['nobody 65534', 'root 0 as 65534'],
  },
  {
    title: 'root starts the platform with a new home, and the accounts `postgres` and `nobody` do not exist',
    known: { self: root, home: root, data: undefined, users: [root, alice] },
    expected: ['root 0 as 1000'],
  },
  {
    title: 'root starts it on a system without a list of users',
    known: { self: root, home: root, data: undefined, users: [] },
    expected: ['root 0 as 65534'],
  },
  {
    title: 'root starts it with existing data of another user',
    known: { self: root, home: root, data: alice, users: everybody },
    expected: ['alice 1000', 'alice 1000 as 70'],
  },
  {
    title: 'root starts it with existing data that root owns',
    known: { self: root, home: alice, data: root, users: everybody },
    expected: ['root 0 as 70'],
  },
]

for (const { title, known, expected } of cases) {
  test(`selects the accounts for the server when ${title}`, () =>
    assert.deepEqual(printed(candidates(known)), expected))
}

test('parses only the lines of a passwd file that have a numeric id', () => {
  const passwd = 'root:x:0:0:root:/root:/bin/sh\n\n# comment\n+::::::\npostgres:x:70:71::/var:/bin/sh\n'
  assert.deepEqual(parseUsers(passwd), [root, postgres])
})

test('returns a folder and its parents from the root down', () => {
  assert.deepEqual(withParents('/a/b c'), ['/', '/a', '/a/b c'])
})

test('runs the server as the ordinary user that starts it', { skip }, async () => {
  using folder = temporaryFolder(nobody)
  const home = path.join(folder.path, 'home')
  await using owner = await ownerProcess({ home }, { owner: nobody })
  assert.equal((await query(owner.connection, 'select 1')).length, 1)
  assert.equal(statSync(path.join(home, 'postgres', 'data')).uid, nobody.uid)

  const second = await refusal({ home })
  assert.match(second.message, /is in use by process/)
})

test('runs the server as the owner of the home when root starts it, and does not change the owner', {
  skip,
}, async () => {
  using folder = temporaryFolder(nobody)
  const server = await startPostgres({ home: folder.path, settings })
  await query(server.connection, 'create table kept (value text)')
  await server.stop()
  assert.equal(statSync(path.join(folder.path, 'postgres')).uid, nobody.uid)

  await using owner = await ownerProcess({ home: folder.path }, { owner: nobody })
  assert.deepEqual(await query(owner.connection, 'select * from kept'), [])
})

test('uses a user namespace for a home below a folder that only root can enter', {
  skip: skip || !canNamespace(),
}, async () => {
  using folder = temporaryFolder()
  chmodSync(folder.path, 0o700)
  const home = path.join(folder.path, 'home')
  for (const round of ['made', 'found']) {
    const server = await startPostgres({ home, settings })
    assert.equal((await query(server.connection, 'select 1')).length, 1, round)
    assert.equal(statSync(path.join(home, 'postgres', 'data')).uid, 0)
    await server.stop()
    assert.equal(readPostmaster(path.join(home, 'postgres', 'data')), undefined)
  }
})

test('reports the folder that the server user cannot enter', { skip }, () => {
  using folder = temporaryFolder()
  const closed = path.join(folder.path, 'closed')
  const inner = path.join(closed, 'inner')
  mkdirSync(inner, { recursive: true })
  chmodSync(folder.path, 0o755)
  chmodSync(closed, 0o700)
  const accounts = [{ ...nobody, name: 'nobody' }]
  assert.throws(() => chooseAccount(accounts, { folders: [inner], isNew: true }), {
    name: 'StartError',
    message: `PostgreSQL cannot run as user "nobody": it cannot enter ${closed}. Change the permissions of that folder, or start Millwright as an ordinary user with its own home.`,
  })
  chownSync(closed, nobody.uid, nobody.gid)
  assert.equal(chooseAccount(accounts, { folders: [inner], isNew: true }).name, 'nobody')
})

test('refuses to start with data of another user when an ordinary user starts the server', { skip }, async () => {
  using folder = temporaryFolder(nobody)
  const server = await startPostgres({ home: folder.path, settings })
  await server.stop()
  chownSync(path.join(folder.path, 'postgres', 'data'), 4711, 4711)
  chmodSync(path.join(folder.path, 'postgres', 'data'), 0o755)
  const { code, message } = await refusal({ home: folder.path }, { owner: nobody })
  assert.equal(code, 1)
  assert.match(message, /belongs to user 4711: start Millwright as that user/)
})

function canNamespace(): boolean {
  const account = { ...root, appearsAs: nobody }
  const { program, programArguments } = as(account, '/bin/true', [])
  return spawnSync(program, programArguments).status === 0
}
