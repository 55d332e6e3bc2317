import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { changeAccess, insertAccessGroup, insertGrant } from '../../platform/access/store.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { Database } from '../../platform/database/database.ts'
import { emit, emitAll } from '../../platform/events/events.ts'
import { Feed } from '../../platform/events/feed.ts'
import { extent } from '../../platform/events/store.ts'
import { openStream } from '../../platform/events/stream.ts'
import type { Message } from '../../platform/events/tail.ts'
import { limits } from '../../platform/limits.ts'
import { EventReader } from '../../platform/testing/event-reader.ts'
import { type TestHub, testHub } from '../../platform/testing/hub.ts'
import { eventMessage } from './message.ts'
import { emitAssetEvent, emitEvents } from './testing.ts'

function numbered(count: number, from = 1): string[] {
  return Array.from({ length: count }, (_, index) => `thing/${index + from}`)
}

/** Formats all events as the text of a stream. */
function formatAll(messages: readonly Message[]): string {
  return messages.map((message) => eventMessage(message, 'default')).join('')
}

async function takeSubjects(reader: EventReader, count: number): Promise<string[]> {
  return (await reader.take(count)).map(({ subject }) => subject)
}

async function problemOf(reader: EventReader): Promise<ProblemDocument> {
  return (await reader.response.json()) as ProblemDocument
}

async function createGroup(hub: TestHub, name: string): Promise<string> {
  return hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    return (await insertAccessGroup(tx, name))?.id ?? ''
  })
}

test('sends new events in order, with their positions as ids', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  await emitEvents(hub, ['thing/before'])
  await hub.settle()
  using reader = await EventReader.open(base, { token })
  assert.equal(reader.response.headers.get('content-type')?.split(';')[0], 'text/event-stream')
  for (let index = 1; index <= 30; index += 3) await emitEvents(hub, numbered(3, index))
  assert.deepEqual(await takeSubjects(reader, 30), numbered(30))
  assert.equal(reader.lastEventId, '31')
})

test('sends every missed event once to a reader that reconnects with its last event id', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  using first = await EventReader.open(base, { token })
  await emitEvents(hub, numbered(3))
  await takeSubjects(first, 2)
  first.close()
  await emitEvents(hub, numbered(997, 4))
  await hub.settle()
  using second = await EventReader.open(base, { token, lastEventId: first.lastEventId, query: { after: '500' } })
  await emitEvents(hub, numbered(10, 1001))
  assert.deepEqual(await takeSubjects(second, 1008), numbered(1008, 3))
  using third = await EventReader.open(base, { token, query: { after: '1000' } })
  assert.deepEqual(await takeSubjects(third, 10), numbered(10, 1001))
})

test('continues from the connection position for a reader that reconnects before its first event', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  await emitEvents(hub, numbered(5))
  await hub.settle()
  using reader = await EventReader.open(base, { token, query: { types: 'test.other' } })
  await emitEvents(hub, ['thing/6'])
  await emitEvents(hub, ['thing/7'], 'test.other')
  await reader.take(1)
  using early = await EventReader.open(base, { token, query: { after: '5' } })
  assert.deepEqual(await takeSubjects(early, 2), ['thing/6', 'thing/7'])
})

test('sends only events with the requested types and subjects', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  using typed = await EventReader.open(base, { token, query: { types: 'test.pump,io.millwright.test.valve.opened' } })
  using exact = await EventReader.open(base, { token, query: { subject: 'pump/2' } })
  using begun = await EventReader.open(base, { token, query: { subject: 'pump/*', types: 'test' } })
  await emitEvents(hub, ['pump/1', 'pump/2'], 'test.pump.started')
  await emitEvents(hub, ['valve/1'], 'test.valve.opened')
  await emitEvents(hub, ['valve/2'], 'test.valve.closed')
  await emitEvents(hub, ['pump/3'], 'test.pumps.counted')
  await emitEvents(hub, ['pump/2'], 'test.pump.stopped')
  assert.deepEqual(await takeSubjects(typed, 4), ['pump/1', 'pump/2', 'valve/1', 'pump/2'])
  assert.deepEqual(await takeSubjects(exact, 2), ['pump/2', 'pump/2'])
  assert.deepEqual(await takeSubjects(begun, 4), ['pump/1', 'pump/2', 'pump/3', 'pump/2'])
  for (const query of [{ types: '' }, { types: 'a,,b' }, { subject: '*' }, { subject: 'a*b' }, { after: '-1' }]) {
    const { response } = await EventReader.open(base, { token, query: query as Record<string, string> })
    assert.equal(response.status, 400, JSON.stringify(query))
    await response.body?.cancel()
  }
})

test('sends only events about assets of the groups that the caller can read', async () => {
  await using hub = await testHub({ ownProcesses: true })
  const base = await hub.listen()
  const [line1, line2] = [await createGroup(hub, 'line-1'), await createGroup(hub, 'line-2')]
  const inLine1 = await hub.as('viewer', { accessGroupId: line1 })
  const viewer = await hub.as('viewer')
  const withoutRoles = await hub.as(undefined)
  using some = await EventReader.open(base, inLine1)
  using all = await EventReader.open(base, viewer)
  using none = await EventReader.open(base, withoutRoles)
  await emitAssetEvent(hub, 'asset/in-2', line2)
  await emitEvents(hub, ['relation/1'], 'inventory.relation.created')
  await emitEvents(hub, ['user/1'], 'identity.user.created')
  await emitAssetEvent(hub, 'asset/in-1', line1)
  await emitEvents(hub, ['relation/2'], 'inventory.relation.deleted')
  await emitAssetEvent(hub, 'asset/also-in-1', line1)
  assert.deepEqual(await takeSubjects(some, 2), ['asset/in-1', 'asset/also-in-1'])
  assert.deepEqual(await takeSubjects(all, 5), [
    'asset/in-2',
    'relation/1',
    'asset/in-1',
    'relation/2',
    'asset/also-in-1',
  ])
  await hub.clouds.at(-1)?.close()
  assert.equal(await none.next(), undefined)
})

test('sends events about assets and their relations, in order for each asset', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const operator = await hub.as('operator')
  using reader = await EventReader.open(base, operator)
  const ids: string[] = []
  for (const name of ['pump', 'motor']) {
    const identifier = { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }
    const asset = { functional_object_type: 'Device', name, asset_identifiers: [identifier] }
    await operator.exchange(inventory, 'createAsset', { body: { data: { asset } } })
    const [created] = await reader.take(1)
    assert.equal(created?.type, 'io.millwright.inventory.asset.created')
    assert.equal(created?.data.name, name)
    ids.push(String(created?.data.id))
  }
  const [pump = '', motor = ''] = ids
  const triple = {
    subject: { type: 'asset', id: motor },
    predicate: 'is_module_of',
    object: { type: 'asset', id: pump },
  }
  await operator.exchange(inventory, 'createRelation', { body: { data: triple } })
  await operator.exchange(inventory, 'deleteAssets', { body: { data: { ids: [motor] } } })
  const received = await reader.take(3)
  assert.equal(received[0]?.type, 'io.millwright.inventory.relation.created')
  const ends = received.slice(1).map(({ type }) => type)
  assert.deepEqual(ends.toSorted(), [
    'io.millwright.inventory.asset.deleted',
    'io.millwright.inventory.relation.deleted',
  ])
  assert.equal(received.find(({ subject }) => subject === `asset/${motor}`)?.data.version, 2)
})

test('applies revoked and granted permissions to an open event stream', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const [line1, line2] = [await createGroup(hub, 'line-1'), await createGroup(hub, 'line-2')]
  const admin = await hub.as('administrator')
  const viewer = await hub.as('viewer', { accessGroupId: line1 })
  using reader = await EventReader.open(base, { ...viewer, query: { types: 'inventory' } })
  await emitAssetEvent(hub, 'asset/1', line1)
  assert.deepEqual(await takeSubjects(reader, 1), ['asset/1'])
  const { data: grants } = await admin.authorization.listGrants({ query: { principal: viewer.principalId } })
  await admin.authorization.deleteGrant({ params: { id: grants[0]?.id ?? '' } })
  await hub.contextOf('events').access.poll()
  await emitAssetEvent(hub, 'asset/2', line1)
  await hub.settle()
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    await insertGrant(tx, { principalId: viewer.principalId, role: 'viewer', accessGroupId: line2 })
  })
  await hub.contextOf('events').access.poll()
  await emitAssetEvent(hub, 'asset/3', line1)
  await emitAssetEvent(hub, 'asset/4', line2)
  const [next] = await reader.take(1)
  assert.notEqual(next?.subject, 'asset/2')
  assert.equal(next?.subject, 'asset/4')
})

test('ends the event stream of a disabled user within about a second, with the reason', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const admin = await hub.as('administrator')
  const viewer = await hub.as('viewer')
  using reader = await EventReader.open(base, viewer)
  await admin.identity.updateUser({ params: { id: viewer.principalId }, body: { data: { disabled: true } } })
  const end = await reader.next()
  assert.equal(end?.event, 'end')
  assert.equal((JSON.parse(end?.data ?? '') as ProblemDocument).code, 'unauthenticated')
  assert.equal(await reader.next(), undefined)
})

test('ends an event stream when its token expires, with the reason as the last message', onlyInLongRuns, async () => {
  await using hub = await testHub({ tokenLifetimeSeconds: 8 })
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  using reader = await EventReader.open(base, { token, query: { types: 'none' } })
  const end = await reader.next()
  assert.equal(end?.event, 'end')
  assert.match((JSON.parse(end?.data ?? '') as ProblemDocument).detail, /expired/)
  assert.equal(await reader.next(), undefined)
})

test('sends events that another process writes and publishes', async () => {
  await using hub = await testHub()
  await using sibling = await hub.sibling()
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  using reader = await EventReader.open(base, { token })
  for (let index = 1; index <= 20; index++) {
    await emitEvents(index % 2 === 0 ? hub : sibling, [`thing/${index}`])
    await (index % 3 === 0 ? hub : sibling).settle()
  }
  assert.deepEqual(await takeSubjects(reader, 20), numbered(20))
})

test('sends the events of a stopped process once, after another process has published them', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  using reader = await EventReader.open(base, { token })
  const dying = new Database({ address: hub.database.app, server: hub.database.server, connections: 1 })
  await dying.transaction(hub.tenant, (tx) => emit(tx, { type: 'test.last', subject: 'last words', data: {} }))
  await dying.close()
  await hub.settle()
  await emitEvents(hub, ['after the restart'])
  assert.deepEqual(await takeSubjects(reader, 2), ['last words', 'after the restart'])
})

test('sends every event once and in order to every reader, with many concurrent writers', onlyInLongRuns, async () => {
  await using hub = await testHub()
  await using sibling = await hub.sibling()
  const bases = [await hub.listen(), await sibling.listen()]
  const { token } = await hub.as('administrator')
  using open = new DisposableStack()
  const readers = await Promise.all(
    Array.from({ length: 6 }, async (_, index) =>
      open.use(await EventReader.open(bases[index % 2] ?? '', { token, query: { after: '0' } })),
    ),
  )
  const writing = Array.from({ length: 60 }, async (_, index) => {
    for (const step of 'abcde') await emitEvents(index % 2 === 0 ? hub : sibling, [`${index}${step}`])
  })
  const [events] = await Promise.all([Promise.all(readers.map((reader) => reader.take(300))), ...writing])
  for (const seen of events) {
    assert.deepEqual(
      seen.map(({ sequence }) => Number(sequence)),
      Array.from({ length: 300 }, (_, index) => index + 1),
    )
    assert.deepEqual(
      seen.filter(({ subject }) => Number.parseInt(subject, 10) === 7).map(({ subject }) => subject),
      ['7a', '7b', '7c', '7d', '7e'],
    )
  }
})

test('refuses to stream from a position whose events are deleted or from a position that does not exist', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  await emitEvents(hub, numbered(5))
  await hub.settle()
  await hub.asOwner((owner) =>
    owner.query('delete from events where tenant_id = $1 and position < 3', [hub.tenant.tenantId]),
  )
  for (const [lastEventId, status, code] of [
    [1, 410, 'events_gone'],
    [6, 400, 'invalid_cursor'],
    ['six', 400, 'invalid_header'],
  ] as const) {
    const reader = await EventReader.open(base, { token, lastEventId })
    assert.equal(reader.response.status, status)
    assert.equal((await problemOf(reader)).code, code)
  }
  using reader = await EventReader.open(base, { token, lastEventId: 2 })
  assert.deepEqual(await takeSubjects(reader, 3), numbered(3, 3))
})

/** Emits events. Some of their messages are larger than the socket buffer of the operating system. */
async function emitLargeEvents(hub: TestHub, subjects: readonly string[]): Promise<void> {
  const data = { text: 'x'.repeat(100_000) }
  await hub.context.database.transaction(hub.tenant, (tx) =>
    emitAll(
      tx,
      subjects.map((subject) => ({ type: 'test.large', subject, data })),
    ),
  )
}

/** Opens a stream, but does not read the response. */
async function idleReader(base: string, token: string) {
  const { hostname, port } = new URL(base)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.write(`GET /events/v1/stream HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n\r\n`)
  await new Promise((resolve) => socket.once('readable', resolve))
  socket.pause()
  return socket
}

test(
  'does not delay other readers when one reader is slow, and sends the slow reader all events later',
  onlyInLongRuns,
  async () => {
    await using hub = await testHub()
    const base = await hub.listen()
    const { token } = await hub.as('administrator')
    const slow = await idleReader(base, token)
    using quick = await EventReader.open(base, { token })
    const [rounds, each] = [6, 25]
    for (let round = 0; round < rounds; round++) {
      const subjects = numbered(each, round * each + 1)
      await emitLargeEvents(hub, subjects)
      assert.deepEqual(await takeSubjects(quick, each), subjects)
    }
    const received: string[] = []
    slow.setEncoding('utf8').on('data', (chunk: string) => received.push(chunk))
    slow.resume()
    while (
      !received
        .slice(-2)
        .join('')
        .includes(`thing/${rounds * each}"`)
    )
      await new Promise((resolve) => slow.once('data', resolve))
    const ids = [...received.join('').matchAll(/\nid: (\d+)\nevent/g)].map(([, id]) => Number(id))
    assert.deepEqual(
      ids,
      Array.from({ length: rounds * each }, (_, index) => index + 1),
    )
    slow.destroy()
  },
)

test(
  'ends event streams when the process stops, without waiting for readers that do not read',
  onlyInLongRuns,
  async () => {
    await using hub = await testHub({ ownProcesses: true })
    const base = await hub.listen()
    const { token } = await hub.as('administrator')
    const idle = await idleReader(base, token)
    using reader = await EventReader.open(base, { token, query: { types: 'test.thing' } })
    await emitLargeEvents(hub, numbered(150))
    await emitEvents(hub, numbered(3))
    assert.deepEqual(await takeSubjects(reader, 3), numbered(3))
    await hub.clouds.at(-1)?.close()
    assert.equal(await reader.next(), undefined)
    let received = 0
    idle
      .on('error', () => {})
      .on('data', (chunk) => {
        received += chunk.length
      })
    idle.resume()
    if (!idle.closed) await once(idle, 'close')
    assert.ok(received < 150 * 100_000, 'it was cut off before it had everything')
  },
)

/** Opens a stream as soon as the limit allows it. If it waits too long, the test runner ends the test. */
async function openWhenAllowed(base: string, token: string): Promise<EventReader> {
  for (;;) {
    const reader = await EventReader.open(base, { token })
    if (reader.response.status === 200) return reader
    assert.equal(reader.response.status, 429)
    await reader.response.body?.cancel()
  }
}

test('limits the event streams of a principal, and accepts a new one after one is closed', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const admin = await hub.as('administrator')
  const other = await hub.as('administrator')
  using readers = new DisposableStack()
  const open = async () => readers.use(await EventReader.open(base, admin))
  const [first] = await Promise.all(Array.from({ length: limits.streamsPerPrincipal }, open))
  const refused = await open()
  assert.equal(refused.response.status, 429)
  assert.equal((await problemOf(refused)).code, 'too_many_requests')
  using another = await EventReader.open(base, other)
  assert.equal(another.response.status, 200)
  first?.close()
  readers.use(await openWhenAllowed(base, admin.token))
})

test('closes the stream when a reader disconnects before the response or sends a HEAD request', async () => {
  await using hub = await testHub()
  const base = await hub.listen()
  const { token } = await hub.as('administrator')
  const headers = { authorization: `Bearer ${token}` }
  for (let index = 0; index < limits.streamsPerPrincipal * 2; index++) {
    const abort = new AbortController()
    const response = fetch(`${base}/events/v1/stream`, { headers, signal: abort.signal }).catch(() => undefined)
    setTimeout(() => abort.abort(), index % 8)
    await response
    const head = await fetch(`${base}/events/v1/stream`, { method: 'HEAD', headers })
    assert.ok([200, 429].includes(head.status), `${head.status}`)
  }
  using readers = new DisposableStack()
  // The server notices a disconnected reader only after a short time.
  for (let index = 0; index < limits.streamsPerPrincipal; index++) readers.use(await openWhenAllowed(base, token))
})

test('polls for events of other processes only while streams are open', async (t) => {
  await using hub = await testHub()
  const { database, log } = hub.context
  t.mock.timers.enable({ apis: ['setInterval'] })
  const caller = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
  const stream = await openStream(hub.context, new Feed({ database, log }), {
    caller,
    after: undefined,
    format: formatAll,
  })
  await stream.next()
  const looks = async () => {
    const sent = await hub.statements(async () => {
      for (let half = 0; half < 4; half++) {
        t.mock.timers.tick(500)
        await database.read(hub.tenant, extent)
      }
    })
    return sent.filter(({ text }) => text.includes('position > $2')).length
  }
  // A poll that was in progress when the clock moved can count in either round. The test therefore repeats rounds until the
  // counts are stable.
  const settles = async (isRight: (count: number) => boolean) => {
    const deadline = performance.now() + 120_000
    while (!isRight(await looks())) assert.ok(performance.now() < deadline, 'it never settled')
  }
  await settles((count) => count > 0)
  await stream.return?.()
  await settles((count) => count === 0)
})

test('sends the current position on an idle stream, and ends the stream when the reader disconnects', async () => {
  await using hub = await testHub()
  const { database, log } = hub.context
  const caller = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
  const wish = { caller, after: undefined, format: () => '', heartbeatMs: 1 }
  const stream = await openStream(hub.context, new Feed({ database, log }), wish)
  assert.equal((await stream.next()).value, 'retry: 1000\nid: 0\n\n')
  await emitEvents(hub, numbered(3))
  while ((await stream.next()).value !== ': still here\nid: 3\n\n');
  const idle = await openStream(hub.context, new Feed({ database, log }), { ...wish, heartbeatMs: 3_600_000 })
  await idle.next()
  const pending = idle.next()
  await Promise.all([idle.return?.(), stream.return?.()])
  assert.equal((await pending).done, true)
})

test('reads events from the database for a stream that is behind the cache, until it has caught up', async () => {
  await using hub = await testHub()
  const { database, log } = hub.context
  const feed = new Feed({ database, log })
  const caller = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
  const open = () => openStream(hub.context, feed, { caller, after: undefined, format: formatAll })
  const [slow, quick] = [await open(), await open()]
  await slow.next()
  const subjects = numbered(2_500)
  await database.transaction(hub.tenant, (tx) =>
    emitAll(
      tx,
      subjects.map((subject) => ({ type: 'test.thing.changed', subject, data: {} })),
    ),
  )
  const readAll = async (stream: AsyncIterableIterator<string>) => {
    let text = ''
    while (!text.includes('"thing/2500"')) text += (await stream.next()).value
    return [...text.matchAll(/"subject":"([^"]+)"/g)].map(([, subject]) => subject)
  }
  const reads = (sent: { text: string; values: readonly unknown[] }[]) =>
    sent.filter(({ text, values }) => text.includes('position > $2') && Number(values[1]) < subjects.length).length
  assert.deepEqual(await readAll(quick), subjects)
  const caughtUp = await hub.statements(async () => assert.deepEqual(await readAll(slow), subjects))
  assert.ok(reads(caughtUp) >= 5 && reads(caughtUp) < 10, String(reads(caughtUp)))
  await Promise.all([slow.return?.(), quick.return?.()])
})

test('streams events to a caller inside the process, without a socket', async () => {
  await using hub = await testHub()
  const { token } = await hub.as('administrator')
  const response = await hub.clouds.at(-1)?.inject({
    url: '/events/v1/stream',
    headers: { authorization: `Bearer ${token}` },
    payloadAsStream: true,
  })
  assert.equal(response?.statusCode, 200)
  await emitEvents(hub, ['thing/1'])
  for await (const chunk of response?.stream() ?? []) if (String(chunk).includes('thing/1')) break
})
