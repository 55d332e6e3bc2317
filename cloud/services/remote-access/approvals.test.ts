import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { defaultRemotePolicy } from '@millwright/api/remote-access.ts'
import { changeAccess, insertGrant, insertPrincipal } from '../../platform/access/store.ts'
import { newId } from '../../platform/database/id.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { connectGateway, createPlant, createSession, openStream, type Plant, readSession, until } from './testing.ts'

describe('approvals', () => {
  let hub: TestHub
  let plant: Plant
  let user: TestCaller
  let supervisor: TestCaller

  before(async () => {
    hub = await testHub()
    plant = await createPlant(hub)
    const { admin, groupId } = plant
    const data = { ...defaultRemotePolicy, approval: 'required' } as const
    await admin['remote-access'].putPolicy({ params: { accessGroup: groupId }, body: { data } })
    user = await hub.as('supervisor', { accessGroupId: groupId })
    supervisor = await hub.as('supervisor', { accessGroupId: groupId })
  })
  after(() => hub[Symbol.asyncDispose]())

  const approve = (caller: TestCaller, id: string) => caller['remote-access'].approveSession({ params: { id } })
  const deny = (caller: TestCaller, id: string, reason?: string) =>
    caller['remote-access'].denySession({
      params: { id },
      ...(reason === undefined ? {} : { body: { data: { reason } } }),
    })
  const request = () => createSession(user, { assetId: plant.assetId, reason: 'firmware check', durationMinutes: 20 })

  test('connects an approved session when its gateway connects', async () => {
    const { id, jobId, state, address } = await request()
    assert.deepEqual([state, address], ['pending-approval', undefined])
    const url = await hub.listen()
    await assert.rejects(openStream(id, { url, token: user.token }), { code: 'conflict' })
    await assert.rejects(user['remote-access'].createTicket({ params: { id } }), { code: 'conflict' })
    const { data: approved } = await approve(supervisor, id)
    assert.deepEqual([approved.state, approved.decidedBy?.id], ['connecting', supervisor.principalId])
    const minutes = (Date.parse(approved.expiresTimestamp) - Date.now()) / 60_000
    assert.ok(minutes > 19 && minutes <= 20, String(minutes))
    await using connected = await connectGateway(hub, plant.gateway)
    await until(async () => (await readSession(user, id)).state === 'open')
    assert.equal(connected.headers.length, 1)
    using client = await openStream(id, { url, token: user.token })
    client.send('x')
    await until(() => client.bytes.length === 1)
    const extend = user['remote-access'].extendSession({ params: { id }, body: { data: { minutes: 5 } } })
    await assert.rejects(extend, { code: 'conflict', message: /needs approval/ })
    await user['remote-access'].endSession({ params: { id } })
    const { data: job } = await plant.admin.jobs.getJob({ params: { id: jobId } })
    assert.deepEqual(
      job.history.map((entry) => entry.state),
      ['OPEN', 'OPENING', 'OPENED', 'CLOSED'],
    )
  })

  test('lets neither the requester nor a service account nor a user without the permission decide', async () => {
    const { id } = await request()
    for (const decide of [approve, deny]) {
      await assert.rejects(decide(user, id), { code: 'forbidden', message: /Another person/ })
      await assert.rejects(decide(await serviceAccount(), id), { code: 'forbidden', message: /Only a person/ })
      const { groupId } = await createPlant(hub, plant.admin)
      const elsewhere = await hub.as('supervisor', { accessGroupId: groupId })
      await assert.rejects(decide(elsewhere, id), { code: 'not_found' })
      const blind = await createCaller(hub, [{ permissions: ['remote_access_approve'], accessGroupId: plant.groupId }])
      await assert.rejects(decide(blind, id), { code: 'not_found' })
    }
    assert.equal((await readSession(user, id)).state, 'pending-approval')
    await user['remote-access'].endSession({ params: { id } })
  })

  /** Creates a service account with all permissions. */
  async function serviceAccount(): Promise<TestCaller> {
    const principal = await hub.context.database.transaction(hub.tenant, async (tx) => {
      await changeAccess(tx)
      const made = await insertPrincipal(tx, { kind: 'server_user', name: `historian-${newId()}` })
      await insertGrant(tx, { principalId: made.id, role: 'administrator' })
      return made
    })
    return hub.withToken(await hub.tokenFor(principal.id, { roles: ['administrator'] }), principal.id)
  }

  test('lists the requests that wait for the caller, and not the own ones', async () => {
    const { id } = await request()
    const awaiting = async (caller: TestCaller) => {
      const { data } = await caller['remote-access'].listSessions({ query: { awaitsMe: true } })
      return data.map((session) => session.id)
    }
    assert.deepEqual(await awaiting(supervisor), [id])
    assert.deepEqual(await awaiting(user), [])
    assert.deepEqual(await awaiting(await serviceAccount()), [])
    const { groupId } = await createPlant(hub, plant.admin)
    assert.deepEqual(await awaiting(await hub.as('supervisor', { accessGroupId: groupId })), [])
    await deny(supervisor, id)
    assert.deepEqual(await awaiting(supervisor), [])
  })

  test('denies a session without a reason, with and without a body', async () => {
    for (const body of [undefined, '{"data":{}}']) {
      const { id } = await request()
      const { status, text } = await hub.request({
        method: 'POST',
        path: `/remote-access/v1/sessions/${id}/deny`,
        headers: {
          authorization: `Bearer ${supervisor.token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
      })
      assert.equal(status, 200, text)
      const { ending, endingDetail } = await readSession(user, id)
      assert.deepEqual([ending, endingDetail], ['denied', undefined])
    }
  })

  test('ends a denied session with the reason, and cannot approve it afterwards', async () => {
    const { id, jobId } = await request()
    const { data } = await deny(supervisor, id, 'Wait for the end of the shift')
    assert.deepEqual(
      [data.state, data.ending, data.endingDetail, data.decidedBy?.id],
      ['ended', 'denied', 'Wait for the end of the shift', supervisor.principalId],
    )
    await assert.rejects(approve(supervisor, id), { code: 'conflict' })
    await assert.rejects(deny(supervisor, id), { code: 'conflict' })
    const { data: job } = await plant.admin.jobs.getJob({ params: { id: jobId } })
    assert.equal(job.state, 'FAILED')
  })

  test('of two concurrent decisions, one takes effect', async () => {
    const { id } = await request()
    const other = await hub.as('supervisor', { accessGroupId: plant.groupId })
    const results = await Promise.allSettled([approve(supervisor, id), deny(other, id)])
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    const session = await readSession(user, id)
    const isDenied = session.ending === 'denied'
    assert.equal(session.decidedBy?.id, isDenied ? other.principalId : supervisor.principalId)
    await user['remote-access'].endSession({ params: { id } })
  })

  test('checks the permission of the requester again', async () => {
    const requester = await hub.as('supervisor', { accessGroupId: plant.groupId })
    const { id } = await createSession(requester, { assetId: plant.assetId })
    const { data: grants } = await plant.admin.authorization.listGrants({ query: { principal: requester.principalId } })
    await plant.admin.authorization.deleteGrant({ params: { id: grants[0]?.id ?? '' } })
    await assert.rejects(approve(supervisor, id), { code: 'conflict' })
    const session = await readSession(supervisor, id)
    assert.deepEqual([session.state, session.ending], ['ended', 'permission-lost'])
  })

  test('ends a request without a decision in time, also if the approval arrives too late', async () => {
    const expired = async () => {
      const { id } = await request()
      await hub.asOwner((owner) =>
        owner.query(`update remote_sessions set expires_at = now() - interval '1 second' where id = $1`, [id]),
      )
      return id
    }
    const late = await expired()
    await assert.rejects(approve(supervisor, late), { code: 'conflict' })
    const id = await expired()
    await until(async () => (await readSession(user, id)).ending === 'approval-expired')
    const { jobId } = await readSession(user, id)
    // The job is canceled after the session has ended.
    await until(async () => (await plant.admin.jobs.getJob({ params: { id: jobId } })).data.state === 'CANCELED')
  })
})
