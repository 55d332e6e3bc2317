import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import {
  bearer,
  type Caller,
  callerOf,
  databaseEnded,
  type Platform,
  startPlatform,
  temporaryFolder,
  until,
} from './platform.ts'
import { withinLimit } from './time-limit.ts'

/** All tests share one home. The first test leaves no data that affects the next test. */
const home = temporaryFolder()
after(() => home[Symbol.dispose]())

const writers = 16
const answersBeforeTheCrash = 200

test('preserves every confirmed write when the platform is killed during many writes', onlyInLongRuns, async () => {
  const first = await startPlatform({ home: home.path })
  const storm = startStorm(await callerOf(first))
  await until('enough is written', () => storm.answered.size >= answersBeforeTheCrash)
  first.program.child.kill('SIGKILL')
  await first.program.ended
  await storm.over
  await databaseEnded(home.path)

  await using second = await startPlatform({ home: home.path })
  const caller = await callerOf(second)
  const remaining = await createdIds(caller)
  assert.deepEqual(storm.answered.difference(remaining), new Set(), 'answered for, but lost')
  assert.ok(remaining.size - storm.answered.size <= writers, 'more objects exist than were requested')

  await until('the audit trail is sealed', async () =>
    (await audited(caller)).every(({ sequence }) => sequence !== null),
  )
  const targets = new Set((await audited(caller)).map(({ target }) => target))
  assert.deepEqual(storm.answered.difference(targets), new Set(), 'written, but not in the audit trail')
  const { data: verdict } = await caller.audit.verify({})
  assert.deepEqual([verdict.intact, verdict.firstFault], [true, null])
  assert.ok(verdict.checked >= storm.answered.size)
})

/** Starts many writers that send one write after the other until the platform stops responding. */
function startStorm(caller: Caller): { answered: Set<string>; over: Promise<unknown> } {
  const answered = new Set<string>()
  const write = async (writer: number) => {
    for (let count = 0; ; count++) {
      const body = { data: { name: `storm-${writer}-${count}` } }
      try {
        if (count % 2 === 0) {
          const { data } = await caller.authorization.createAccessGroup({ body })
          answered.add(`access-group/${data.id}`)
        } else {
          const { data } = await caller.identity.createServerUser({ body })
          answered.add(`server-user/${data.id}`)
        }
      } catch (error) {
        // A broken connection is expected. A refused write is a fault.
        if (error instanceof TypeError) return
        throw error
      }
    }
  }
  return { answered, over: Promise.all(Array.from({ length: writers }, (_, writer) => write(writer))) }
}

/** Returns the ids of all access groups and server users that the writers created. */
async function createdIds(caller: Caller): Promise<Set<string>> {
  const groups = await allPages((query) => caller.authorization.listAccessGroups({ query }))
  const serverUsers = await allPages((query) => caller.identity.listServerUsers({ query }))
  return new Set([
    ...groups.filter(({ name }) => name.startsWith('storm-')).map(({ id }) => `access-group/${id}`),
    ...serverUsers.filter(({ name }) => name.startsWith('storm-')).map(({ id }) => `server-user/${id}`),
  ])
}

function audited(caller: Caller) {
  return allPages((query) => caller.audit.listEntries({ query }))
}

type Page<Item> = { data: Item[]; meta: { totalElements?: number } }

async function allPages<Item>(read: (query: { limit: number; offset: number }) => Promise<Page<Item>>) {
  const items: Item[] = []
  for (;;) {
    const { data } = await read({ limit: 100, offset: items.length })
    items.push(...data)
    if (data.length < 100) return items
  }
}

test('completes accepted requests after SIGTERM, and does not wait for them indefinitely', onlyInLongRuns, async () => {
  const platform = await startPlatform({ home: home.path })
  const { token } = await callerOf(platform)
  const accepted = await Promise.all(
    Array.from({ length: 8 }, (_, index) => beginWrite(platform, token, `last-${index}`)),
  )
  await using sleeper = await beginWrite(platform, token, 'never-finished')

  platform.program.child.kill('SIGTERM')
  await until('new connections are refused', () => isRefused(platform.baseUrl))
  const answers = await Promise.all(accepted.map((write) => write.finish()))
  assert.equal(platform.program.child.exitCode, null, 'a completed connection is closed while others are still open')
  for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 201 /m)
  const { code, stderr } = await platform.program.ended
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  await databaseEnded(home.path)

  await using second = await startPlatform({ home: home.path })
  const { authorization } = await callerOf(second)
  for (const { name } of [...accepted, sleeper]) {
    const { meta } = await authorization.listAccessGroups({ query: { name } })
    assert.equal(meta.totalElements, name === sleeper.name ? 0 : 1, name)
  }
})

type Write = { name: string; finish(): Promise<string> } & AsyncDisposable

/** Starts a write and waits until the platform has accepted its headers. The platform then waits for the body. */
async function beginWrite({ baseUrl }: Platform, token: string, name: string): Promise<Write> {
  const { hostname, port } = new URL(baseUrl)
  const body = JSON.stringify({ data: { name } })
  const socket = connect(Number(port), hostname)
  socket.setEncoding('utf8').on('error', () => {})
  let received = ''
  socket.on('data', (text: string) => {
    received += text
  })
  const head = {
    host: `${hostname}:${port}`,
    ...bearer(token),
    'content-type': 'application/json',
    'content-length': String(body.length),
    expect: '100-continue',
  }
  const lines = Object.entries(head).map(([key, value]) => `${key}: ${value}`)
  socket.write(`POST /authorization/v1/access-groups HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  await until('the request is accepted', () => received.startsWith('HTTP/1.1 100 Continue'))
  return {
    name,
    async finish() {
      socket.write(body)
      await closed(socket)
      return received
    },
    async [Symbol.asyncDispose]() {
      socket.destroy()
      await closed(socket)
    },
  }
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await withinLimit('the connection closes', once(socket, 'close'))
}

async function isRefused(baseUrl: string): Promise<boolean> {
  return fetch(`${baseUrl}/healthz`).then(
    () => false,
    () => true,
  )
}
