import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { rightPassword } from '../identity/testing.ts'
import { type ConnectedGateway, connectGateway, createPlant, createSession, type Plant } from './testing.ts'

describe('the remote sessions of a user end', () => {
  let hub: TestHub
  let plant: Plant
  let admin: TestCaller
  let connected: ConnectedGateway

  before(async () => {
    hub = await testHub()
    plant = await createPlant(hub)
    admin = await hub.as('administrator')
    connected = await connectGateway(hub, plant.gateway)
  })
  after(async () => {
    await connected[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  const causes: [string, (user: TestCaller) => Promise<unknown>][] = [
    ['signs out everywhere', (user) => user.identity.deleteSessions({})],
    ['is signed out by an administrator', (user) => admin.identity.deleteUserSessions({ params: idOf(user) })],
    [
      'gets a new password',
      (user) => admin.identity.updateUser({ params: idOf(user), body: { data: { password: rightPassword } } }),
    ],
    ['loses the second factor', (user) => admin.identity.resetSecondFactor({ params: idOf(user) })],
  ]
  const idOf = ({ principalId }: TestCaller) => ({ id: principalId })
  const stateOf = async (id: string) => {
    const { data } = await plant.admin['remote-access'].readSession({ params: { id } })
    return [data.state, data.ending]
  }

  for (const [what, cause] of causes)
    test(`when the user ${what}`, async () => {
      const user = await hub.as('supervisor', { accessGroupId: plant.groupId })
      const other = await hub.as('supervisor', { accessGroupId: plant.groupId })
      const { id } = await createSession(user, { assetId: plant.assetId })
      const kept = await createSession(other, { assetId: plant.assetId })
      await cause(user)
      assert.deepEqual(await stateOf(id), ['ended', 'permission-lost'])
      assert.notEqual((await stateOf(kept.id))[0], 'ended')
    })
})
