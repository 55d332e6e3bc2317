import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { plantedWord } from '../../../platform/testing/secrets-shown.ts'
import { clientId, configure, type FakeProvider, ProviderBrowser, startFakeProvider } from './testing.ts'

describe('configuration of identity providers', () => {
  let hub: TestHub
  let admin: TestCaller
  let provider: FakeProvider

  before(async () => {
    provider = await startFakeProvider()
    hub = await testHub({ outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await provider.stop()
  })

  const withProvider = async (
    fields: Parameters<typeof configure>[2],
    work: (created: Awaited<ReturnType<typeof configure>>) => Promise<void>,
  ) => {
    const created = await configure(admin, provider.issuer, fields)
    try {
      await work(created)
    } finally {
      await admin.identity.deleteIdentityProvider({ params: { id: created.id } }).catch(() => {})
    }
  }
  const update = (id: string, data: object, caller = admin) =>
    caller.identity.updateIdentityProvider({ params: { id }, body: { data } })
  const signIn = async (id: string, claims: Record<string, unknown>) => {
    const browser = new ProviderBrowser(hub)
    return browser.tokens(await browser.signInWith(provider, id, claims))
  }

  test('creates a provider with defaults, and never returns the client secret', async () => {
    await withProvider({ name: 'entra' }, async (created) => {
      const { data } = await admin.identity.readIdentityProvider({ params: { id: created.id } })
      assert.deepEqual(data, created)
      const { scopes, nameClaim, groupsClaim, mappings, apiAudience, disabled, hasClientSecret } = data
      assert.deepEqual([scopes, nameClaim, groupsClaim], [['profile'], 'preferred_username', 'groups'])
      assert.deepEqual([mappings, apiAudience, disabled, hasClientSecret], [[], null, false, true])
      const { baseUrl } = hub.context.settings
      assert.equal(data.redirectUri, `${baseUrl}/oauth/callback/${data.id}`)
      assert.equal(data.backchannelLogoutUri, `${baseUrl}/oauth/backchannel-logout/${data.id}`)
      assert.doesNotMatch(
        JSON.stringify((await admin.identity.listIdentityProviders({})).data),
        new RegExp(plantedWord),
      )
      const publicClient = await update(created.id, { clientSecret: null })
      assert.equal(publicClient.data.hasClientSecret, false)
    })
  })

  test('refuses a second provider with the same name or issuer, and more providers than the limit', async () => {
    await withProvider({ name: 'first' }, async () => {
      await assert.rejects(configure(admin, provider.issuer), { code: 'already_exists', message: /issuer/ })
      await assert.rejects(configure(admin, 'https://a.example', { name: 'first', disabled: true }), {
        code: 'already_exists',
        message: /named first/,
      })
      const ids = []
      for (let count = 1; count < 20; count++)
        ids.push((await configure(admin, `https://idp${count}.example.com`, { disabled: true })).id)
      await assert.rejects(configure(admin, 'https://b.example', { disabled: true }), { code: 'conflict' })
      for (const id of ids) await admin.identity.deleteIdentityProvider({ params: { id } })
    })
  })

  test('refuses a host that the installation does not allow, and names the setting', async () => {
    const issuer = 'https://192.0.2.9'
    await assert.rejects(configure(admin, issuer), {
      code: 'outbound_not_allowed',
      message: /MILLWRIGHT_OUTBOUND_ALLOW/,
    })
    const created = await configure(admin, issuer, { disabled: true })
    await assert.rejects(update(created.id, { disabled: false }), { code: 'outbound_not_allowed' })
    const { data } = await admin.identity.checkIdentityProvider({ params: { id: created.id } })
    assert.equal(data.isUsable, false)
    assert.match(data.problems.join(), /MILLWRIGHT_OUTBOUND_ALLOW/)
    await admin.identity.deleteIdentityProvider({ params: { id: created.id } })
  })

  test('refuses an issuer with a query, a fragment, a user name or a path of a discovery document', async () => {
    const issuers = [
      'https://login.example.com?x=1',
      'https://login.example.com#x',
      'https://jane:pw@login.example.com',
      'https://login.example.com/.well-known/openid-configuration',
      'ftp://login.example.com',
      'javascript:alert(1)',
    ]
    for (const issuer of issuers) await assert.rejects(configure(admin, issuer), { code: 'invalid_body' }, issuer)
  })

  test('refuses the client id as the audience of API tokens', async () => {
    await assert.rejects(configure(admin, provider.issuer, { apiAudience: clientId }), { code: 'invalid_body' })
    await withProvider({}, async ({ id }) => {
      await assert.rejects(update(id, { apiAudience: clientId }), { code: 'invalid_body' })
      await update(id, { apiAudience: 'api' })
      await assert.rejects(update(id, { clientId: 'api' }), { code: 'invalid_body' })
    })
  })

  test('checks a provider, and returns its endpoints', async () => {
    await withProvider({}, async ({ id }) => {
      const { data } = await admin.identity.checkIdentityProvider({ params: { id } })
      assert.deepEqual([data.isUsable, data.problems], [true, []])
      assert.equal(data.endpoints.token_endpoint, `${provider.issuer}/token`)
      provider.keys = []
      const failed = await admin.identity.checkIdentityProvider({ params: { id } })
      provider.keys = [provider.jwk]
      assert.match(failed.data.problems.join(), /does not return keys/)
    })
  })

  test('refuses mappings with unknown roles and access groups', async () => {
    const unknown = '0197a4f2-0000-7000-8000-000000000001'
    await assert.rejects(configure(admin, provider.issuer, { mappings: [{ value: 'a', role: 'no-such-role' }] }), {
      code: 'role_not_found',
    })
    const mappings = [{ value: 'a', role: 'viewer', accessGroup: unknown }]
    await assert.rejects(configure(admin, provider.issuer, { mappings }), { code: 'access_group_not_found' })
  })

  test('maps the administrator role only with mayGrantAdministrator', async () => {
    const mappings = [{ value: 'admins', role: 'administrator' }]
    await assert.rejects(configure(admin, provider.issuer, { mappings }), { code: 'invalid_body' })
    await withProvider({ mappings, mayGrantAdministrator: true }, async ({ id }) => {
      await assert.rejects(update(id, { mayGrantAdministrator: false }), { code: 'invalid_body' })
      const { accessToken } = await signIn(id, { sub: 'root', groups: ['admins'] })
      assert.deepEqual(decodeJwt(accessToken).roles, ['administrator'])
    })
  })

  test('refuses to extend a mapped role with glb_access_manage, and to delete a mapped role', async () => {
    const name = 'helper'
    await admin.authorization.createRole({ body: { data: { name, permissions: ['glb_jobs_read'] } } })
    await withProvider({ mappings: [{ value: 'helpers', role: name }] }, async ({ id }) => {
      const change = { params: { name }, body: { data: { permissions: ['glb_access_manage' as const] } } }
      await assert.rejects(admin.authorization.updateRole(change), { code: 'conflict', message: /Company/ })
      await assert.rejects(admin.authorization.deleteRole({ params: { name } }), { code: 'role_in_use' })
      // The check at the sign-in also holds if the role is changed without the check of the configuration.
      await hub.asOwner((owner) =>
        owner.query(`update roles set permissions = '{glb_access_manage}' where tenant_id = $1 and name = $2`, [
          hub.tenant.tenantId,
          name,
        ]),
      )
      const { accessToken } = await signIn(id, { sub: 'sly', groups: ['helpers'] })
      assert.deepEqual(decodeJwt(accessToken).roles, [])
    })
  })

  test('does not let a caller map, change or delete roles that the caller does not hold', async () => {
    const name = 'access-manager'
    const permissions = ['glb_access_manage'] as const
    await admin.authorization.createRole({ body: { data: { name, permissions: [...permissions] } } })
    const manager = await hub.as(name)
    const mappings = [{ value: 'operators', role: 'operator' }]
    await assert.rejects(configure(manager, provider.issuer, { mappings }), { code: 'would_escalate' })
    await withProvider({ mappings }, async ({ id }) => {
      for (const change of [{ groupsClaim: 'nickname' }, { clientId: 'mine' }, { clientSecret: 'x' }, { mappings: [] }])
        await assert.rejects(update(id, change, manager), { code: 'would_escalate' })
      const remove = manager.identity.deleteIdentityProvider({ params: { id } })
      await assert.rejects(remove, { code: 'would_escalate' })
    })
  })

  test('disables a provider whose mapping names a deleted access group', async () => {
    const group = await admin.authorization.createAccessGroup({ body: { data: { name: 'old-line' } } })
    const mappings = [{ value: 'fitters', role: 'operator', accessGroup: group.data.id }]
    await withProvider({ mappings }, async ({ id }) => {
      await admin.authorization.deleteAccessGroup({ params: { id: group.data.id } })
      assert.equal((await update(id, { disabled: true })).data.disabled, true)
      await assert.rejects(update(id, { mappings }), { code: 'access_group_not_found' })
    })
  })

  test('does not let a caller take over accounts with manual grants that the caller does not hold', async () => {
    const name = 'provider-manager'
    await admin.authorization.createRole({ body: { data: { name, permissions: ['glb_access_manage'] } } })
    const manager = await hub.as(name)
    const { id } = await configure(admin, provider.issuer)
    const { accessToken } = await signIn(id, { sub: 'boss' })
    const principal = String(decodeJwt(accessToken).sub)
    const grant = await admin.authorization.createGrant({ body: { data: { principal, role: 'administrator' } } })
    for (const change of [{ clientId: 'mine' }, { clientSecret: 'x' }, { apiAudience: 'mine' }])
      await assert.rejects(update(id, change, manager), { code: 'would_escalate' })
    await admin.identity.deleteIdentityProvider({ params: { id } })
    await assert.rejects(configure(manager, provider.issuer, { clientId: 'mine' }), { code: 'would_escalate' })

    await admin.authorization.deleteGrant({ params: { id: grant.data.id } })
    const again = await configure(manager, provider.issuer, { clientId: 'mine' })
    await manager.identity.deleteIdentityProvider({ params: { id: again.id } })
  })

  test('does not count administrators of a provider as the last administrator', async () => {
    const other = await hub.anotherTenant()
    const only = await hub.as('administrator', { tenant: other })
    const mappings = [{ value: 'admins', role: 'administrator' }]
    const { id } = await configure(only, provider.issuer, { mappings, mayGrantAdministrator: true })
    const browser = new ProviderBrowser(hub)
    const url = await browser.start(id, { tenant: other.name })
    const { redirectUri, parameters } = provider.authorize(url, { sub: 'root', groups: ['admins'] })
    const { accessToken } = await browser.tokens(await browser.return(redirectUri, parameters))
    const external = hub.withToken(accessToken)
    const disable = { params: { id: only.principalId }, body: { data: { disabled: true } } }
    await assert.rejects(external.identity.updateUser(disable), { code: 'last_administrator' })
    const [grant] = (await external.authorization.listGrants({ query: { principal: only.principalId } })).data
    const revoke = external.authorization.deleteGrant({ params: { id: grant?.id ?? '' } })
    await assert.rejects(revoke, { code: 'last_administrator' })
  })

  test('revokes the grants of a removed mapping at once', async () => {
    const [one, two] = [
      { value: 'a', role: 'viewer' },
      { value: 'b', role: 'operator' },
    ]
    await withProvider({ mappings: [one, two] }, async ({ id }) => {
      const { accessToken } = await signIn(id, { sub: 'both', groups: ['a', 'b'] })
      const principal = String(decodeJwt(accessToken).sub)
      const roles = async () =>
        (await admin.authorization.listGrants({ query: { principal } })).data.map(({ role }) => role).toSorted()
      assert.deepEqual(await roles(), ['operator', 'viewer'])
      await update(id, { mappings: [one] })
      assert.deepEqual(await roles(), ['viewer'])
      await update(id, { groupsClaim: 'roles' })
      assert.deepEqual(await roles(), [])
    })
  })

  test('deletes the grants from the claims with the provider, and keeps the accounts and manual grants', async () => {
    await withProvider({ mappings: [{ value: 'a', role: 'viewer' }] }, async ({ id }) => {
      const { accessToken } = await signIn(id, { sub: 'stays', preferred_username: 'stays', groups: ['a'] })
      const principal = String(decodeJwt(accessToken).sub)
      await admin.authorization.createGrant({ body: { data: { principal, role: 'operator' } } })
      await admin.identity.deleteIdentityProvider({ params: { id } })
      const { data } = await admin.authorization.listGrants({ query: { principal } })
      assert.deepEqual(
        data.map(({ role, provider: title }) => [role, title]),
        [['operator', null]],
      )
      const user = (await admin.identity.readUser({ params: { id: principal } })).data
      assert.deepEqual([user.name, user.provider], ['stays', provider.issuer])
    })
  })

  test('returns 412 for a change of an outdated version', async () => {
    await withProvider({}, async ({ id }) => {
      const outdated = { params: { id }, headers: { 'if-match': '"7"' } }
      const change = admin.identity.updateIdentityProvider({ ...outdated, body: { data: { title: 'New' } } })
      await assert.rejects(change, { code: 'precondition_failed' })
      await assert.rejects(admin.identity.deleteIdentityProvider(outdated), { code: 'precondition_failed' })
    })
  })

  test('accepts one of two changes of the mappings that are based on the same version', async () => {
    await withProvider({}, async ({ id }) => {
      let etag: string | undefined
      await admin.identity.readIdentityProvider({ params: { id } }, ({ headers }) => {
        etag = headers.get('etag') ?? undefined
      })
      const add = (value: string) => {
        const data = { mappings: [{ value, role: 'viewer' }] }
        return admin.identity.updateIdentityProvider({ params: { id }, headers: { 'if-match': etag }, body: { data } })
      }
      await add('first')
      await assert.rejects(add('second'), { code: 'precondition_failed' })
      const { mappings } = (await admin.identity.readIdentityProvider({ params: { id } })).data
      assert.deepEqual(
        mappings.map(({ value }) => value),
        ['first'],
      )
    })
  })

  test('does not show providers of a tenant to another tenant', async () => {
    await withProvider({}, async ({ id }) => {
      const stranger = await hub.as('administrator', { tenant: await hub.anotherTenant() })
      assert.deepEqual((await stranger.identity.listIdentityProviders({})).data, [])
      await assert.rejects(stranger.identity.readIdentityProvider({ params: { id } }), { code: 'not_found' })
      await assert.rejects(update(id, { disabled: true }, stranger), { code: 'not_found' })
      await assert.rejects(stranger.identity.checkIdentityProvider({ params: { id } }), { code: 'not_found' })
    })
  })
})
