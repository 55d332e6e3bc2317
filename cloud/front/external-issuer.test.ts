import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { changeAccess, insertPrincipal } from '../platform/access/store.ts'
import { type TestHub, type TestTenant, testHub } from '../platform/testing/hub.ts'
import { checkExternalIssuers } from './external-issuer.ts'

const issuer = 'https://login.company.example'

describe('token of an external identity provider', () => {
  let hub: TestHub
  let other: TestTenant
  let provider: Awaited<ReturnType<typeof startProvider>>

  before(async () => {
    provider = await startProvider()
    const plain = await testHub()
    other = await plain.anotherTenant()
    hub = await plain.sibling({
      externalIssuers: checkExternalIssuers([
        {
          issuer,
          audience: 'millwright-at-company',
          jwksUri: provider.jwksUri,
          tenant: plain.tenant.name,
          subjectClaim: 'email',
          rolesClaim: 'groups',
          roles: {
            'plant-admins': { role: 'administrator' },
            'line-1': { role: 'operator', accessGroup: 'line-1' },
            'line-2': { role: 'operator', accessGroup: 'line-2' },
          },
        },
      ]),
    })
    const admin = await plain.as('administrator')
    for (const name of ['line-1', 'line-2']) await admin.authorization.createAccessGroup({ body: { data: { name } } })
    cleanUp = async () => {
      await hub[Symbol.asyncDispose]()
      await plain[Symbol.asyncDispose]()
    }
  })

  let cleanUp: () => Promise<void>
  after(async () => {
    await cleanUp()
    await provider.stop()
  })

  const rights = async (claims: Record<string, unknown>, options = {}) => {
    const token = await provider.sign({ email: 'jane@company.example', ...claims }, options)
    return hub.request({
      method: 'GET',
      path: '/authorization/v1/rights',
      headers: { authorization: `Bearer ${token}` },
    })
  }

  test('gives an external token the roles that its claim is mapped to', async () => {
    const answer = await rights({ groups: ['plant-admins', 'canteen'] })
    assert.equal(answer.status, 200)
    const { data } = answer.body as { data: { name: string; tenant: string; roles: string[] } }
    assert.deepEqual([data.name, data.tenant, data.roles], ['jane@company.example', hub.tenant.name, ['administrator']])
  })

  test('limits the role of an external token to the access groups that its claim is mapped to', async () => {
    for (const groups of [['line-1'], ['line-1', 'line-2']]) {
      const answer = await rights({ email: 'olga@company.example', groups })
      const { data } = answer.body as {
        data: { permissions: { permission: string; accessGroups: string[] | 'all' }[] }
      }
      const write = data.permissions.find(({ permission }) => permission === 'inventory_write_asset_data')
      assert.equal(write?.accessGroups.length, groups.length)
    }
  })

  test('removes a role in one access group when the external provider removes that group from the claim', async () => {
    const mayWriteIn = async (groups: string[]) => {
      const answer = await rights({ email: 'omar@company.example', groups })
      const { data } = answer.body as { data: { permissions: { permission: string; accessGroups: string[] }[] } }
      return data.permissions.find(({ permission }) => permission === 'inventory_write_asset_data')?.accessGroups
    }
    const both = await mayWriteIn(['line-1', 'line-2'])
    const one = await mayWriteIn(['line-2'])
    assert.deepEqual([both?.length, one?.length], [2, 1])
    assert.deepEqual(
      await mayWriteIn(['line-1']),
      both?.filter((group) => group !== one?.[0]),
    )
  })

  test('refuses a write in an access group that only an earlier token of the external user allowed', async () => {
    const admin = await hub.as('administrator')
    const sent = async (claims: string[] | undefined, asset: object) => {
      const token = await provider.sign({ email: 'otto@company.example', groups: claims })
      const caller = claims === undefined ? admin : hub.withToken(token)
      const { data } = await caller.inventory.createAsset({ body: { data: { asset: { ...asset } } } })
      await hub.settle()
      const status = await admin.inventory.readStatus({ params: { id: data.statusId } })
      return [status.data.state, (status.data.detail.result as { code?: string }).code]
    }
    const pump = (accessGroup: object) => ({
      functional_object_type: 'Device',
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: 'pump-of-line-1' }],
      ...accessGroup,
    })
    assert.deepEqual(await sent(undefined, pump({ access_group: 'line-1' })), ['finished', undefined])
    assert.deepEqual(await sent(['line-1', 'line-2'], pump({ name: 'mine' })), ['finished', undefined])
    assert.deepEqual(await sent(['line-2'], pump({ name: 'stolen' })), ['failed', 'identity_taken'])
    assert.deepEqual(await sent(['line-1'], pump({ name: 'mine again' })), ['finished', undefined])
  })

  test('accepts an external token when a principal of another provider already has the same name', async () => {
    await hub.context.database.transaction(hub.tenant, async (tx) => {
      await changeAccess(tx)
      await insertPrincipal(tx, { kind: 'external', name: 'same@company.example' })
    })
    const answer = await rights({ email: 'same@company.example', groups: [] })
    assert.equal((answer.body as { data: { name: string } }).data.name, `same@company.example (${issuer})`)
  })

  test('returns 403 when only an earlier token of the external user had the required role', async () => {
    await rights({ groups: ['plant-admins'] })
    const token = await provider.sign({ email: 'jane@company.example', groups: [] })
    const answer = await hub.request({
      method: 'GET',
      path: '/iam/v1/users',
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.status, 403)
  })

  test('creates one principal for concurrent first requests of an external user', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => rights({ email: 'race@company.example', groups: ['plant-admins'] })),
    )
    const ids = new Set(answers.map(({ body }) => (body as { data: { principal: string } }).data.principal))
    assert.deepEqual([answers.map(({ status }) => status).join(), ids.size], [Array(8).fill(200).join(), 1])
  })

  test('records the first sign-in of an external user in the audit trail', async () => {
    await rights({ email: 'new@company.example', groups: ['plant-admins'] })
    const admin = await hub.as('administrator')
    const { data } = await admin.audit.listEntries({ query: { action: 'identity.externalSignIn' } })
    assert.ok(data.some(({ principalName }) => principalName === 'new@company.example'))
  })

  test('refuses an external token that is expired, for another audience or signed with another key', async () => {
    assert.equal((await rights({ groups: ['plant-admins'] }, { audience: 'another' })).status, 401)
    assert.equal((await rights({ groups: ['plant-admins'] }, { expires: '-1h' })).status, 401)
    const stranger = await startProvider()
    const token = await stranger.sign({ email: 'jane@company.example', groups: ['plant-admins'] })
    await stranger.stop()
    assert.equal(
      (
        await hub.request({
          method: 'GET',
          path: '/authorization/v1/rights',
          headers: { authorization: `Bearer ${token}` },
        })
      ).status,
      401,
    )
  })

  test('does not let an external token select another tenant with a claim', async () => {
    const answer = await rights({ groups: ['plant-admins'], tenant: other.tenantId })
    assert.equal((answer.body as { data: { tenant: string } }).data.tenant, hub.tenant.name)
  })

  test('refuses an external token once its principal is disabled', async () => {
    const first = await rights({ email: 'gone@company.example', groups: ['plant-admins'] })
    const { principal } = (first.body as { data: { principal: string } }).data
    await hub.asOwner((owner) =>
      owner.query('update principals set disabled = true where tenant_id = $1 and id = $2', [
        hub.tenant.tenantId,
        principal,
      ]),
    )
    await hub.asOwner((owner) =>
      owner.query('update access_versions set version = version + 1 where tenant_id = $1', [hub.tenant.tenantId]),
    )
    const deadline = performance.now() + 60_000
    while ((await rights({ email: 'gone@company.example', groups: ['plant-admins'] })).status !== 401)
      assert.ok(performance.now() < deadline)
  })
})

test('reports an invalid configuration of an external issuer in one sentence', () => {
  assert.throws(() => checkExternalIssuers({}), /must be a JSON array/)
  assert.throws(() => checkExternalIssuers([{ issuer }]), /has no audience/)
  assert.throws(
    () => checkExternalIssuers([{ issuer, audience: 'a', jwksUri: 'http://x/', tenant: 't', roles: { a: {} } }]),
    /has no role/,
  )
  assert.throws(() => checkExternalIssuers([{ issuer, audience: 'a', jwksUri: 'x', tenant: 't' }]), /jwksUri is not/)
  assert.throws(
    () => checkExternalIssuers([{ issuer, audience: 'a', jwksUri: 'http://x/', tenant: 't', roles: null }]),
    /roles must be an object/,
  )
})

/** Starts a minimal identity provider. It publishes its keys at a URL and signs tokens with them. */
async function startProvider() {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'company', alg: 'ES256' }] }
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(keys)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    jwksUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    sign: (claims: Record<string, unknown>, { audience = 'millwright-at-company', expires = '5m' } = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'company' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime(expires)
        .sign(privateKey),
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
