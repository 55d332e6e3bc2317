import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../platform/database/id.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { until } from './delivery/testing.ts'
import { emitAssetEvent } from './testing.ts'
import { createWebhook, HttpReceiver } from './webhooks/testing.ts'

describe('the owner of a subscription', () => {
  let hub: TestHub
  let admin: TestCaller
  let groupId: string

  before(async () => {
    hub = await testHub({ ownProcesses: true, outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
    const role = { name: 'only-hooks', permissions: ['glb_webhook_manage' as const] }
    await admin.authorization.createRole({ body: { data: role } })
    groupId = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-1' } } })).data.id
  })
  after(() => hub[Symbol.asyncDispose]())

  const types = ['io.millwright.inventory.']
  /** Emits an event about an asset, and waits until the webhook has handled it. */
  const emitAndHandle = async (id: string) => {
    const read = async () => (await admin.events.readWebhook({ params: { id } })).data
    const { newestPosition: before } = await read()
    await emitAssetEvent(hub, `asset/${newId()}`, groupId)
    await until(async () => {
      const { position, newestPosition } = await read()
      return newestPosition > before && position === newestPosition
    }, 'the event is handled')
  }

  test('sends only what the token of the owner permits, also if the owner has more roles', async () => {
    await using receiver = await HttpReceiver.open()
    const owner = await hub.as('administrator')
    const grant = { principal: owner.principalId, role: 'only-hooks' }
    await admin.authorization.createGrant({ body: { data: grant } })
    const limited = hub.withToken(await hub.tokenFor(owner.principalId, { roles: ['only-hooks'] }), owner.principalId)
    const { id } = await createWebhook(limited, { url: receiver.url, active: true, types })
    await emitAndHandle(id)
    assert.equal(receiver.requests.length, 0)
    // The same principal changes the webhook with a token that permits more, and then with the limited token again.
    await owner.events.updateWebhook({ params: { id }, body: { data: { types } } })
    await emitAndHandle(id)
    assert.equal(receiver.requests.length, 1)
    await limited.events.updateWebhook({ params: { id }, body: { data: { types } } })
    await emitAndHandle(id)
    assert.equal(receiver.requests.length, 1)
    await admin.events.deleteWebhook({ params: { id } })
  })

  test('changes with every field that decides what is sent or where, and not with the name or a pause', async () => {
    await using receiver = await HttpReceiver.open()
    const manager = await hub.as('only-hooks')
    const { url } = receiver
    const change = async (data: object) => {
      const { id } = await createWebhook(admin, { url, types })
      const { data: changed } = await manager.events.updateWebhook({ params: { id }, body: { data } })
      await admin.events.deleteWebhook({ params: { id } })
      return changed.owner.id
    }
    for (const data of [{ name: 'x' }, { active: true }, { name: 'x', active: false }])
      assert.equal(await change(data), admin.principalId, JSON.stringify(data))
    const fields = [{ url }, { types }, { accessGroup: null }, { filter: null }, { certificateAuthority: null }]
    for (const data of [...fields, { batchSize: 1 }, { name: 'x', active: true, url: `${url}/other` }])
      assert.equal(await change(data), manager.principalId, JSON.stringify(data))
  })
})
