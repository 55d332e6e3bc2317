import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { claimsFor, signToken } from '../identity/oauth/access-token.ts'
import { createMonitoring } from './testing.ts'

const code = (expected: string) => (problem: { code: string }) => problem.code === expected

describe('the confirmation of monitorings that assign credentials', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    await admin.identity.updateSignInPolicy({ body: { data: { stepUp: ['credentials'], stepUpMinutes: 15 } } })
  })
  after(() => hub[Symbol.asyncDispose]())

  /** Returns the administrator with a token of a sign-in some minutes ago. */
  async function signedInBefore(minutes: number): Promise<TestCaller> {
    const now = new Date()
    const authenticatedAt = new Date(now.getTime() - minutes * 60_000)
    const bearer = {
      tenant: { id: hub.tenant.tenantId, name: hub.tenant.name },
      principal: { id: admin.principalId, kind: 'user' as const },
      clientId: 'console',
      roles: ['administrator'],
      signIn: { authenticatedAt, methods: ['pwd'], endsAt: new Date(now.getTime() + 3_600_000) },
    }
    const token = await signToken(claimsFor(bearer, hub.context.settings, now), hub.keys)
    return hub.withToken(token, admin.principalId)
  }

  test('only requests that assign credentials need a recent sign-in', async () => {
    const { data: template } = await admin.credentials.createInstancesTemplate({ body: { data: { name: 'any' } } })
    const late = await signedInBefore(16)
    const recent = await signedInBefore(14)
    const targets = { filter: `name eq 'none'` }
    const input = { targets, instancesTemplateId: template.id, schedule: { cron: '0 0 1 1 *' } }
    const required = code('step_up_required')
    await assert.rejects(createMonitoring(late, { ...input, assignWorking: true }), required)
    const id = await createMonitoring(late, input)
    const update = (
      caller: TestCaller,
      data: Parameters<TestCaller['monitoring']['updateMonitoring']>[0]['body']['data'],
    ) => caller.monitoring.updateMonitoring({ params: { id }, body: { data } })
    await assert.rejects(update(late, { assignWorking: true }), required)
    assert.equal((await update(recent, { assignWorking: true })).data.assignWorking, true)
    await update(late, { name: 'Fans' })
    await assert.rejects(update(late, { targets }), required, 'the caller would become the owner')
    assert.equal((await update(late, { assignWorking: false })).data.assignWorking, false)
    await createMonitoring(recent, { ...input, assignWorking: true })
  })
})
