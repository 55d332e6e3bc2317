import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import {
  type ConnectedGateway,
  connectGateway,
  createPlant,
  createSession,
  openStream,
  type Plant,
  until,
} from './testing.ts'

describe('tickets', () => {
  let hub: TestHub
  let plant: Plant
  let user: TestCaller
  let connected: ConnectedGateway
  let url: string

  before(async () => {
    hub = await testHub()
    plant = await createPlant(hub)
    user = await hub.as('supervisor', { accessGroupId: plant.groupId })
    connected = await connectGateway(hub, plant.gateway)
    url = await hub.listen()
  })
  after(async () => {
    await connected[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  const open = (caller = user) => createSession(caller, { assetId: plant.assetId })
  const ticketOf = async (id: string, caller = user) =>
    (await caller['remote-access'].createTicket({ params: { id } })).data
  const withTicket = (id: string, ticket: string) => openStream(id, { url, query: { ticket } })

  test('opens one stream without a token, and cannot be used again', async () => {
    const { id } = await open()
    const { ticket, expiresTimestamp } = await ticketOf(id)
    const seconds = (Date.parse(expiresTimestamp) - Date.now()) / 1_000
    assert.ok(seconds > 50 && seconds <= 60)
    using client = await withTicket(id, ticket)
    client.send('x')
    await until(() => client.bytes.length === 1)
    await assert.rejects(withTicket(id, ticket), { code: 'unauthenticated' })
  })

  test('of concurrent uses, one succeeds', async () => {
    const { id } = await open()
    const { ticket } = await ticketOf(id)
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => withTicket(id, ticket)))
    const opened = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    assert.equal(opened.length, 1)
    for (const client of opened) client[Symbol.dispose]()
  })

  test('is not valid for another session, also of the same user', async () => {
    const [first, second] = [await open(), await open()]
    const { ticket } = await ticketOf(first.id)
    await assert.rejects(withTicket(second.id, ticket), { code: 'unauthenticated' })
    using client = await withTicket(first.id, ticket)
    assert.equal(client.closed, undefined)
  })

  test('is not valid after its time, after the end of the session, or if it was changed', async () => {
    const { id } = await open()
    const { ticket: expired } = await ticketOf(id)
    await hub.asOwner((owner) =>
      owner.query(`update remote_tickets set expires_at = now() - interval '1 second' where session_id = $1`, [id]),
    )
    await assert.rejects(withTicket(id, expired), { code: 'unauthenticated' })
    const { ticket } = await ticketOf(id)
    for (const changed of [
      `${ticket.slice(0, -1)}${ticket.endsWith('_') ? 'A' : '_'}`,
      `${ticket}A`,
      ticket.slice(1),
      'x',
      ticket.toUpperCase(),
    ])
      await assert.rejects(withTicket(id, changed), { code: 'unauthenticated' }, changed)
    await user['remote-access'].endSession({ params: { id } })
    await assert.rejects(withTicket(id, ticket), { code: 'unauthenticated' })
  })

  test('only the user of an open session creates tickets', async () => {
    const { id } = await open()
    await assert.rejects(ticketOf(id, plant.admin), { code: 'forbidden' })
    const other = await createCaller(hub, [
      { permissions: ['inventory_read_asset_data', 'remote_access_connect'], accessGroupId: plant.groupId },
    ])
    await assert.rejects(ticketOf(id, other), { code: 'not_found' })
    const tenant = await hub.anotherTenant()
    await assert.rejects(ticketOf(id, await hub.as('administrator', { tenant })), { code: 'not_found' })
  })

  test('has the rights that its user has now', async () => {
    const requester = await hub.as('supervisor', { accessGroupId: plant.groupId })
    const { id } = await open(requester)
    const { ticket } = await ticketOf(id, requester)
    const { data: grants } = await plant.admin.authorization.listGrants({ query: { principal: requester.principalId } })
    await plant.admin.authorization.deleteGrant({ params: { id: grants[0]?.id ?? '' } })
    await assert.rejects(withTicket(id, ticket), (error: { code: string }) =>
      ['forbidden', 'not_found', 'unauthenticated'].includes(error.code),
    )
  })

  test('a page of another origin cannot open a stream with a ticket', async () => {
    const { id } = await open()
    const { ticket } = await ticketOf(id)
    const refused = openStream(id, { url, query: { ticket }, headers: { origin: 'https://attacker.example' } })
    await assert.rejects(refused, { code: 'forbidden' })
    using client = await withTicket(id, ticket)
    assert.equal(client.closed, undefined)
  })

  test('the database stores only the hash of a ticket', async () => {
    const { id } = await open()
    const { ticket } = await ticketOf(id)
    const { rows } = await hub.asOwner((owner) =>
      owner.query('select hash, to_jsonb(t)::text as text from remote_tickets t where session_id = $1', [id]),
    )
    assert.deepEqual(rows[0].hash, createHash('sha256').update(Buffer.from(ticket, 'base64url')).digest())
    assert.ok(!rows[0].text.includes(ticket))
  })
})
