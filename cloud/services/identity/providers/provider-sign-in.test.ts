import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { configure, type FakeProvider, ProviderBrowser, startFakeProvider } from './testing.ts'

describe('sign-in with an identity provider', () => {
  let hub: TestHub
  let admin: TestCaller
  let provider: FakeProvider
  let providerId: string
  let group: string

  before(async () => {
    provider = await startFakeProvider()
    hub = await testHub({ outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
    group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line-1' } } })).data.id
    const created = await configure(admin, provider.issuer, {
      mappings: [
        { value: 'operators', role: 'operator' },
        { value: 'line-1', role: 'operator', accessGroup: group },
        { value: 'viewers', role: 'viewer' },
      ],
    })
    providerId = created.id
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await provider.stop()
  })

  const signIn = async (claims: Record<string, unknown>) => {
    const browser = new ProviderBrowser(hub)
    const back = await browser.signInWith(provider, providerId, claims)
    assert.equal(back.status, 303, back.text)
    return { browser, ...(await browser.tokens(back)) }
  }

  test('signs in a user, creates the account and grants the roles of the groups claim', async () => {
    const { accessToken } = await signIn({ sub: 'jane-1', preferred_username: 'jane', groups: ['line-1', 'canteen'] })
    const claims = decodeJwt(accessToken)
    assert.deepEqual([claims.kind, claims.roles], ['external', ['operator']])
    const { data: grants } = await admin.authorization.listGrants({ query: { principal: String(claims.sub) } })
    assert.deepEqual(
      grants.map(({ role, accessGroup, provider: title, principalName }) => [role, accessGroup, title, principalName]),
      [['operator', group, 'Company', 'jane']],
    )
    const refused = await hub.withToken(accessToken).identity.listUsers({}).catch((error) => error.code)
    assert.equal(refused, 'forbidden')
  })
})
