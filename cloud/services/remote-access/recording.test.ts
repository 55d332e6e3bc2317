import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { defaultRemotePolicy, remoteAccessLimits } from '@millwright/api/remote-access.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { plantedWord } from '../../platform/testing/secrets-shown.ts'
import {
  type ConnectedGateway,
  connectGateway,
  createPlant,
  createSession,
  type OnOpen,
  openStream,
  type Plant,
  readSession,
  terminalWith,
  until,
} from './testing.ts'

const output = 'Grüße from the device ✓'

describe('recordings', () => {
  let hub: TestHub
  let plant: Plant
  let user: TestCaller
  let connected: ConnectedGateway
  let url: string

  before(async () => {
    hub = await testHub()
    plant = await createPlant(hub)
    const data = { ...defaultRemotePolicy, recording: 'terminal' } as const
    await plant.admin['remote-access'].putPolicy({ params: { accessGroup: plant.groupId }, body: { data } })
    user = await hub.as('supervisor', { accessGroupId: plant.groupId })
    connected = await connectGateway(hub, plant.gateway, { onOpen: silentTerminal })
    url = await hub.listen()
  })
  after(async () => {
    await connected[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  /** A terminal that shows its output, and does not echo its input. */
  const silentTerminal: OnOpen = (stream, header) => {
    stream.accept()
    if (header.kind === 'tcp') {
      stream.on('error', () => {})
      // The version of ssh can follow other lines, and can be in two chunks.
      stream.write(header.port === 80 ? 'Welcome\r\nSS' : 'HTTP/1.1 200 OK\r\nServer: SSH-')
      setImmediate(() => stream.write('H-2.0-Device\r\n'))
      return
    }
    if (header.kind !== 'terminal') {
      stream.end()
      return
    }
    stream.on('message', () => {})
    stream.resume()
    // The bytes of a character can be in two chunks.
    const bytes = Buffer.from(output)
    stream.write(bytes.subarray(0, 3))
    setImmediate(() => stream.write(bytes.subarray(3)))
  }

  async function openTerminal(id: string) {
    const query = { kind: 'terminal', columns: '120', rows: '40' }
    const client = await openStream(id, { url, token: user.token, query })
    return client
  }

  async function recorded(): Promise<string> {
    const { id } = await createSession(user, { assetId: plant.assetId })
    const client = await openTerminal(id)
    await until(() => client.bytes.toString() === output)
    client.send(`${plantedWord} typed without an echo\r`)
    client.send({ type: 'answers', answers: [`${plantedWord} answered`] })
    await until(async () => (await readSession(user, id)).recordingBytes > 0)
    // The first part is stored, so this is in the second one.
    client.send({ type: 'size', columns: 100, rows: 30 })
    await user['remote-access'].endSession({ params: { id } })
    assert.equal((await client.end()).code, 4001)
    await until(async () => (await readSession(user, id)).recordingDigest !== undefined)
    return id
  }

  const download = (id: string, caller: TestCaller) =>
    hub.request({
      method: 'GET',
      path: `/remote-access/v1/sessions/${id}/recording`,
      headers: { authorization: `Bearer ${caller.token}` },
    })

  test('records a terminal as asciicast, without the input, and its digest is in the audit trail', async () => {
    const id = await recorded()
    const { status, headers, bytes, text } = await download(id, plant.admin)
    assert.deepEqual([status, headers.get('content-type')], [200, 'application/x-asciicast'])
    const [header, ...events] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      [header.version, header.width, header.height, header.title],
      [2, 120, 40, (await readSession(user, id)).assetName],
    )
    const of = (code: string) => events.filter((event) => event[1] === code)
    assert.equal(
      of('o')
        .map((event) => event[2])
        .join(''),
      output,
    )
    assert.deepEqual(
      of('r').map((event) => event[2]),
      ['120x40', '100x30'],
    )
    assert.ok(events.every((event, index) => index === 0 || event[0] >= events[index - 1][0]))
    assert.ok(!text.includes(plantedWord))
    const { recordingDigest, recordingBytes } = await readSession(user, id)
    assert.equal(recordingDigest, createHash('sha256').update(bytes).digest('hex'))
    assert.equal(recordingBytes, bytes.length)
    const query = { target: `remote-session/${id}`, action: 'remote-access.closeSession' }
    const { detail } = (await plant.admin.audit.listEntries({ query })).data[0] ?? {}
    assert.deepEqual([detail?.recordingDigest, detail?.recordingBytes], [recordingDigest, recordingBytes])
    const read = { target: `remote-session/${id}`, action: 'remote-access.readRecording' }
    assert.equal((await plant.admin.audit.listEntries({ query: read })).data.length, 1)
  })

  test('ends a plain TCP connection of a recorded access group if the device answers with ssh', async () => {
    for (const service of ['http', 'tcp'] as const) {
      const { id } = await createSession(user, { assetId: plant.assetId, service, port: 80 })
      const client = await openStream(id, { url, token: user.token })
      assert.equal((await client.end()).code, 4000)
      assert.equal(client.messages[0]?.code, 'forbidden')
      assert.ok(!client.bytes.includes('SSH-'))
      await user['remote-access'].endSession({ params: { id } })
    }
    const { id } = await createSession(user, { assetId: plant.assetId, service: 'tcp', port: 443 })
    using client = await openStream(id, { url, token: user.token })
    await until(() => client.bytes.includes('H-2.0-Device'))
    await user['remote-access'].endSession({ params: { id } })
  })

  test('stores the recording encrypted', async () => {
    const id = await recorded()
    const { rows } = await hub.asOwner((owner) =>
      owner.query('select sealed from remote_recording_parts where session_id = $1', [id]),
    )
    assert.ok(rows.length > 0)
    for (const { sealed } of rows) assert.ok(!sealed.includes(Buffer.from('device')))
  })

  const damages: Record<string, string> = {
    'a changed hash': `update remote_recording_parts set chain = decode('00', 'hex') where session_id = $1 and number = 0`,
    'changed content': `update remote_recording_parts set sealed = set_byte(sealed, length(sealed) - 1,
      (get_byte(sealed, length(sealed) - 1) + 1) % 256) where session_id = $1 and number = 0`,
    'a missing part': 'delete from remote_recording_parts where session_id = $1 and number = 0',
    'a missing last part that the session does not count': `with gone as (delete from remote_recording_parts
      where session_id = $1 and number = (select max(number) from remote_recording_parts where session_id = $1))
      update remote_sessions set recording_parts = recording_parts - 1 where id = $1`,
  }

  for (const [damage, statement] of Object.entries(damages)) {
    const options = damage === 'changed content' ? {} : onlyInLongRuns
    test(`does not send a recording with ${damage} completely`, options, async () => {
      const id = await recorded()
      const intact = await download(id, plant.admin)
      assert.equal(intact.status, 200)
      const { rows } = await hub.asOwner((owner) =>
        owner.query('select count(*)::int as parts from remote_recording_parts where session_id = $1', [id]),
      )
      assert.ok(rows[0].parts > 1, 'the recording has one part only')
      await hub.asOwner((owner) => owner.query(statement, [id]))
      const base = await hub.listen()
      const headers = { authorization: `Bearer ${plant.admin.token}` }
      const read = async () => {
        const response = await fetch(`${base}/remote-access/v1/sessions/${id}/recording`, { headers })
        return response.ok ? Buffer.from(await response.arrayBuffer()) : Buffer.alloc(0)
      }
      const damaged = await read().catch(() => Buffer.alloc(0))
      assert.ok(!damaged.equals(intact.bytes))
      assert.equal(damaged.length, 0)
    })
  }

  test('closes a session whose recording is damaged before its end, and explains why it has no recording', async () => {
    const { id } = await createSession(user, { assetId: plant.assetId })
    using client = await openTerminal(id)
    await until(() => client.bytes.toString() === output)
    await until(async () => (await readSession(user, id)).recordingBytes > 0)
    await hub.asOwner((owner) => owner.query(damages['changed content'] ?? '', [id]))
    await user['remote-access'].endSession({ params: { id } })
    const query = { target: `remote-session/${id}`, action: 'remote-access.closeSession' }
    await until(async () => (await plant.admin.audit.listEntries({ query })).data.length === 1)
    const { detail } = (await plant.admin.audit.listEntries({ query })).data[0] ?? {}
    assert.deepEqual(
      [detail?.recordingFault, detail?.recordingDigest],
      ['The recording is damaged: a part is missing or was changed', undefined],
    )
    assert.equal((await readSession(user, id)).recordingDigest, undefined)
    const refused = await download(id, plant.admin)
    assert.equal(refused.status, 409)
    assert.equal(JSON.parse(refused.text).code, 'recording_damaged')
  })

  test('only a supervisor reads a recording, and only after the end of the session', async () => {
    const id = await recorded()
    const connect = ['inventory_read_asset_data', 'remote_access_connect'] as const
    const own = await createCaller(hub, [{ permissions: connect, accessGroupId: plant.groupId }])
    assert.equal((await download(id, own)).status, 403)
    const { groupId } = await createPlant(hub, plant.admin)
    assert.equal((await download(id, await hub.as('supervisor', { accessGroupId: groupId }))).status, 404)
    const { id: running } = await createSession(user, { assetId: plant.assetId })
    const refused = await download(running, plant.admin)
    assert.deepEqual([refused.status, /The session has not ended/.test(refused.text)], [409, true])
    await user['remote-access'].endSession({ params: { id: running } })
    await until(async () => (await download(running, plant.admin)).status === 404)
  })

  test('shows one terminal at a time, and continues the recording with the next one', onlyInLongRuns, async () => {
    const { id } = await createSession(user, { assetId: plant.assetId })
    const first = await openTerminal(id)
    await until(() => first.bytes.toString() === output)
    const second = await openTerminal(id)
    assert.equal((await second.end()).code, 4000)
    assert.equal(second.messages[0]?.code, 'busy')
    first.socket.close()
    await until(async () => (await readSession(user, id)).streams === 0)
    const third = await openTerminal(id)
    await until(() => third.bytes.toString() === output)
    await user['remote-access'].endSession({ params: { id } })
    await until(async () => (await readSession(user, id)).recordingDigest !== undefined)
    const { text } = await download(id, plant.admin)
    const lines = text.trimEnd().split('\n')
    assert.equal(lines.filter((line) => line.startsWith('{')).length, 1)
    const events = lines.slice(1).map((line) => JSON.parse(line))
    assert.equal(
      events
        .filter((event) => event[1] === 'o')
        .map((event) => event[2])
        .join(''),
      output + output,
    )
  })

  test('a new terminal waits until the recording of the closed one is stored', onlyInLongRuns, async () => {
    const device = await createPlant(hub, plant.admin)
    const data = { ...defaultRemotePolicy, recording: 'terminal' } as const
    await plant.admin['remote-access'].putPolicy({ params: { accessGroup: device.groupId }, body: { data } })
    await using gateway = await connectGateway(hub, device.gateway, { onOpen: terminalWith(output) })
    const { id } = await createSession(plant.admin, { assetId: device.assetId })
    const open = () => openStream(id, { url, token: plant.admin.token, query: { kind: 'terminal' } })
    const opened = () => gateway.headers.filter(({ kind }) => kind === 'terminal').length
    await using lock = await lockTable('remote_host_keys')
    // The platform cannot store the host key of the first terminal, so it handles the messages of the gateway later.
    const first = await open()
    await until(() => lock.hasWaiter())
    first.socket.close()
    await until(async () => (await readSession(plant.admin, id)).streams === 0)
    using second = await open()
    using third = await open()
    await lock.release()
    await until(() => [second, third].some(({ bytes }) => bytes.toString() === output))
    await until(() => [second, third].some(({ closed }) => closed !== undefined))
    const [refused, shown] = second.closed === undefined ? [third, second] : [second, third]
    assert.deepEqual([refused.closed?.code, refused.messages[0]?.code], [4000, 'busy'])
    assert.deepEqual([shown.closed, shown.bytes.toString(), opened()], [undefined, output, 2])
    await plant.admin['remote-access'].endSession({ params: { id } })
    await until(async () => (await readSession(plant.admin, id)).recordingDigest !== undefined)
    const lines = (await download(id, plant.admin)).text.trimEnd().split('\n')
    assert.equal(lines.filter((line) => line.startsWith('{')).length, 1)
  })

  /** Prevents writes to a table until its release. */
  async function lockTable(table: string) {
    const released = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const done = hub.asOwner(async (owner) => {
      await owner.query('begin')
      await owner.query(`lock table ${table} in exclusive mode`)
      locked.resolve()
      await released.promise
    })
    await Promise.race([locked.promise, done])
    const release = () => {
      released.resolve()
      return done
    }
    const hasWaiter = async () => {
      const { rows } = await hub.asOwner((owner) =>
        owner.query('select 1 from pg_locks where relation = $1::regclass and not granted', [table]),
      )
      return rows.length > 0
    }
    return { release, hasWaiter, [Symbol.asyncDispose]: release }
  }

  test('ends a session whose recording reaches its maximum size', async () => {
    const { id } = await createSession(user, { assetId: plant.assetId })
    await hub.asOwner((owner) =>
      owner.query('update remote_sessions set recording_bytes = $2 where id = $1', [
        id,
        remoteAccessLimits.recordingBytes - 10,
      ]),
    )
    const client = await openTerminal(id)
    assert.equal((await client.end()).code, 4001)
    assert.equal((await readSession(user, id)).ending, 'recording-full')
  })

  test('deletes recordings and sessions after their retention', async () => {
    const id = await recorded()
    const age = (days: number) =>
      hub.asOwner((owner) =>
        owner.query(`update remote_sessions set ended_at = now() - make_interval(days => $2) where id = $1`, [
          id,
          days,
        ]),
      )
    const prune = () =>
      hub.contextOf('remote-access').tasks.runDue(hub.tenant.tenantId, { at: new Date(Date.now() + 2 * 3_600_000) })
    await age(remoteAccessLimits.recordingDays + 1)
    await prune()
    const answer = await download(id, plant.admin)
    assert.equal(answer.status, 404)
    assert.match(answer.text, /retention/)
    assert.equal((await readSession(user, id)).state, 'ended')
    await age(remoteAccessLimits.sessionDays + 1)
    await prune()
    await assert.rejects(readSession(user, id), { code: 'not_found' })
  })
})
