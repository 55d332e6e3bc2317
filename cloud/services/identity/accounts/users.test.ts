import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity } from '@millwright/api/identity.ts'
import { decodeJwt } from 'jose'
import { testHub } from '../../../platform/testing/hub.ts'
import { authorizePath, Browser, person, requestToken, rightPassword, signedIn } from '../testing.ts'
import { createServerUser, createUser, newServerUserSecret, resetPassword } from './accounts.ts'

const unknownId = '0198f0c2-7b1e-7c3a-9d55-0242ac120002'

test('creates, reads, lists by name, changes and deletes users', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { data: jane } = await admin.identity.createUser({
    body: { data: { name: 'jane.doe', displayName: 'Jane Doe', password: rightPassword } },
  })
  await admin.identity.createUser({ body: { data: { name: 'adam', password: rightPassword } } })
  assert.deepEqual(
    [jane.name, jane.displayName, jane.disabled, jane.lastSignInTimestamp],
    ['jane.doe', 'Jane Doe', false, null],
  )

  const all = await admin.identity.listUsers({ query: { limit: 2, offset: 1 } })
  assert.deepEqual([all.meta, all.data[1]?.name], [{ totalElements: 3, elements: 2, offset: 1 }, 'jane.doe'])
  const named = await admin.identity.listUsers({ query: { name: 'jane.doe' } })
  assert.deepEqual([named.meta.totalElements, named.data], [1, [jane]])

  const { data: renamed } = await admin.identity.updateUser({
    params: { id: jane.id },
    body: { data: { displayName: 'Jane D.' } },
  })
  assert.equal(renamed.displayName, 'Jane D.')
  await admin.identity.deleteUser({ params: { id: jane.id } })
  await assert.rejects(admin.identity.readUser({ params: { id: jane.id } }), { code: 'not_found' })
})

test('refuses invalid user names, weak passwords and unknown users', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await person(hub, 'jane.doe')
  const create = (data: { name: string; password: string; displayName?: string }) =>
    admin.identity.createUser({ body: { data } })
  await assert.rejects(create({ name: 'jane.doe', password: rightPassword }), { code: 'already_exists' })
  await assert.rejects(create({ name: 'joe', password: 'short' }), { code: 'weak_password' })
  await assert.rejects(create({ name: 'Joe', password: rightPassword }), { code: 'invalid_body' })
  await assert.rejects(create({ name: 'joe@plant', password: rightPassword }), { code: 'invalid_body' })
  await assert.rejects(create({ name: 'joe', password: rightPassword, displayName: 'a\u0000b' }), {
    code: 'invalid_body',
  })
  for (const id of [unknownId, admin.principalId]) {
    await assert.rejects(admin.identity.readServerUser({ params: { id } }), { code: 'not_found' })
  }
  await assert.rejects(admin.identity.deleteUser({ params: { id: unknownId } }), { code: 'not_found' })
})

test('returns 403 for account operations when the caller lacks glb_access_manage', async () => {
  await using hub = await testHub()
  const operator = await hub.as('operator')
  await assert.rejects(operator.identity.listUsers({}), { code: 'forbidden' })
  await assert.rejects(operator.identity.createServerUser({ body: { data: { name: 'x' } } }), { code: 'forbidden' })
})

test('changes a user only when If-Match has its current version', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const jane = await person(hub, 'jane.doe')
  const read = await admin.exchange(identity, 'readUser', { params: { id: jane.id } })
  const etag = read.headers.get('etag') ?? ''
  const update = (displayName: string) =>
    admin.identity.updateUser({
      params: { id: jane.id },
      headers: { 'if-match': etag },
      body: { data: { displayName } },
    })
  await update('first')
  await assert.rejects(update('second'), { code: 'precondition_failed' })
  await assert.rejects(admin.identity.deleteUser({ params: { id: jane.id }, headers: { 'if-match': etag } }), {
    code: 'precondition_failed',
  })
})

test('returns 403 when an operator changes or deletes a user with more permissions', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await admin.authorization.createRole({ body: { data: { name: 'door_keeper', permissions: ['glb_access_manage'] } } })
  const keeper = await hub.as('door_keeper')
  const boss = await person(hub, 'the.boss', 'administrator')
  const equal = await person(hub, 'an.equal', 'door_keeper')
  const params = { id: boss.id }
  for (const data of [{ password: rightPassword }, { disabled: true }, { displayName: 'x' }]) {
    await assert.rejects(keeper.identity.updateUser({ params, body: { data } }), { code: 'would_escalate' })
  }
  await assert.rejects(keeper.identity.deleteUser({ params }), { code: 'would_escalate' })
  await keeper.identity.updateUser({ params: { id: equal.id }, body: { data: { password: `new ${rightPassword}` } } })

  const program = await createServerUser(hub.context, hub.tenant, { name: 'strong', role: 'administrator' })
  await assert.rejects(keeper.identity.rotateServerUserSecret({ params: { id: program.id } }), {
    code: 'would_escalate',
  })
  await assert.rejects(keeper.identity.deleteServerUser({ params: { id: program.id } }), { code: 'would_escalate' })
})

test('returns 409 when the last administrator is disabled or deleted', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const params = { id: admin.principalId }
  await assert.rejects(admin.identity.updateUser({ params, body: { data: { disabled: true } } }), {
    code: 'last_administrator',
  })
  await assert.rejects(admin.identity.deleteUser({ params }), { code: 'last_administrator' })
  await person(hub, 'another', 'administrator')
  await admin.identity.deleteUser({ params })
})

test("changes the caller's password only with the current password", async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe', 'administrator')
  const { accessToken } = await signedIn(hub, jane.signInName)
  const self = hub.withToken(accessToken)
  const change = self.identity.updateUser({
    params: { id: jane.id },
    body: { data: { password: `new ${rightPassword}` } },
  })
  await assert.rejects(change, { code: 'conflict' })
})

test("shows a service account's secret once, rotates it, and refuses it after the account is disabled or deleted", async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const created = await admin.exchange(identity, 'createServerUser', { body: { data: { name: 'line 1 import' } } })
  const { data } = created.body as Awaited<ReturnType<typeof admin.identity.createServerUser>>
  assert.equal(created.headers.get('cache-control'), 'no-store')
  assert.equal(data.tokenUrl, `${hub.context.settings.baseUrl}/oauth/token`)
  const params = { id: data.id }
  const read = await admin.identity.readServerUser({ params })
  assert.ok(!('clientSecret' in read.data))
  const ask = async (secret: string) =>
    (await requestToken(hub, { grant_type: 'client_credentials', client_id: data.clientId, client_secret: secret }))
      .status

  assert.equal(await ask(data.clientSecret), 200)
  const { data: rotated } = await admin.identity.rotateServerUserSecret({ params })
  assert.deepEqual([await ask(data.clientSecret), await ask(rotated.clientSecret)], [401, 200])
  assert.ok(rotated.secretCreatedTimestamp >= data.secretCreatedTimestamp)

  await admin.identity.updateServerUser({ params, body: { data: { disabled: true } } })
  assert.equal(await ask(rotated.clientSecret), 401)
  await admin.identity.updateServerUser({ params, body: { data: { disabled: false, name: 'line 2 import' } } })
  assert.equal(await ask(rotated.clientSecret), 200)
  assert.deepEqual((await admin.identity.listServerUsers({ query: { name: 'line 2 import' } })).meta.totalElements, 1)

  await admin.identity.deleteServerUser({ params })
  assert.equal(await ask(rotated.clientSecret), 401)
  const left = await hub.asOwner((owner) => owner.query('select from directory where key = $1', [data.clientId]))
  assert.equal(left.rowCount, 0)
})

test('refuses the tokens of a disabled service account immediately', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const created = await createServerUser(hub.context, hub.tenant, { name: 'program', role: 'viewer' })
  const form = { grant_type: 'client_credentials', client_id: created.clientId, client_secret: created.clientSecret }
  const program = hub.withToken((await requestToken(hub, form)).body.access_token ?? '')
  await program.authorization.readOwnRights({})
  await admin.identity.updateServerUser({ params: { id: created.id }, body: { data: { disabled: true } } })
  await assert.rejects(program.authorization.readOwnRights({}), { code: 'unauthenticated' })
})

test('refuses a duplicate service account name, and shows no secret when the create request is repeated', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const create = (key: string) =>
    admin.identity.createServerUser({ headers: { 'idempotency-key': key }, body: { data: { name: 'program' } } })
  await create('key-1')
  await assert.rejects(create('key-1'), { code: 'already_answered' })
  await assert.rejects(create('key-2'), { code: 'already_exists' })
})

test('records every change of an account in the audit trail and in events, without its secrets', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { data: jane } = await admin.identity.createUser({
    body: { data: { name: 'jane.doe', password: rightPassword } },
  })
  await admin.identity.updateUser({ params: { id: jane.id }, body: { data: { password: `new ${rightPassword}` } } })
  await admin.identity.deleteUser({ params: { id: jane.id } })
  const { data: program } = await admin.identity.createServerUser({ body: { data: { name: 'program' } } })
  await admin.identity.rotateServerUserSecret({ params: { id: program.id } })
  await admin.identity.deleteServerUser({ params: { id: program.id } })

  const actionsOn = async (target: string) =>
    (await admin.audit.listEntries({ query: { target } })).data.map(({ action }) => action).toReversed()
  assert.deepEqual(await actionsOn(`user/${jane.id}`), [
    'identity.createUser',
    'identity.updateUser',
    'identity.deleteUser',
  ])
  assert.deepEqual(await actionsOn(`server-user/${program.id}`), [
    'identity.createServerUser',
    'identity.rotateServerUserSecret',
    'identity.deleteServerUser',
  ])
  const events = await hub.asOwner((owner) =>
    owner.query<{ type: string }>('select type from events where tenant_id = $1 order by id', [hub.tenant.tenantId]),
  )
  assert.deepEqual(
    events.rows.map(({ type }) => type).filter((type) => type.startsWith('identity.')),
    [
      'user.created',
      'user.updated',
      'user.deleted',
      'server_user.created',
      'server_user.updated',
      'server_user.deleted',
    ].map((type) => `identity.${type}`),
  )
})

test('hides accounts of other tenants and allows the same name in two tenants', async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  const jane = await person(hub, 'jane.doe', 'viewer')
  await createUser(hub.context, other, { name: 'jane.doe', password: `other ${rightPassword}`, role: 'administrator' })
  const theirs = await hub.as('administrator', { tenant: other })
  await assert.rejects(theirs.identity.readUser({ params: { id: jane.id } }), { code: 'not_found' })
  const wrongTenant = await new Browser(hub).signIn(authorizePath(hub), {
    name: `jane.doe@${other.name}`,
    password: rightPassword,
  })
  assert.equal(wrongTenant.status, 401)
  const { accessToken } = await signedIn(hub, jane.signInName)
  assert.deepEqual([decodeJwt(accessToken).tenant, decodeJwt(accessToken).roles], [hub.tenant.tenantId, ['viewer']])
})

test('accepts prepared credentials only after the service account is created, and resets a lost password', async () => {
  await using hub = await testHub()
  const secret = newServerUserSecret()
  const form = { grant_type: 'client_credentials', client_id: secret.clientId, client_secret: secret.clientSecret }
  assert.equal((await requestToken(hub, form)).status, 401)
  await createServerUser(hub.context, hub.tenant, { name: 'first', secret, role: 'administrator' })
  assert.equal((await requestToken(hub, form)).status, 200)

  await assert.rejects(createUser(hub.context, hub.tenant, { name: 'weak', password: 'short' }), {
    code: 'weak_password',
  })
  const jane = await createUser(hub.context, hub.tenant, {
    name: 'jane',
    password: `old ${rightPassword}`,
    role: 'viewer',
  })
  await resetPassword(hub.context, hub.tenant, { name: 'jane', password: rightPassword })
  const { accessToken } = await signedIn(hub, `jane@${hub.tenant.name}`)
  assert.equal(decodeJwt(accessToken).sub, jane.id)
  await hub.withToken(accessToken).identity.readPreferences({})
  await resetPassword(hub.context, hub.tenant, { name: 'jane', password: `new ${rightPassword}` })
  await assert.rejects(hub.withToken(accessToken).identity.readPreferences({}), { code: 'unauthenticated' })
  await assert.rejects(resetPassword(hub.context, hub.tenant, { name: 'no-one', password: rightPassword }), {
    code: 'not_found',
  })
})
