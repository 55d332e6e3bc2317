import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { authorization } from '@millwright/api/authorization.ts'
import { SignJWT } from 'jose'
import type { Caller } from './access/caller.ts'
import { rightsOf } from './access/rights.ts'
import { systemCaller } from './access/system.ts'
import { peerTokens } from './peer-token.ts'
import { createSecrets } from './secrets/secrets.ts'
import { type TestHub, testHub } from './testing/hub.ts'

const secrets = createSecrets(randomBytes(32))
const tokens = peerTokens(secrets)

describe('peer tokens', () => {
  const caller: Caller = {
    ...systemCaller({ tenantId: '01980000-0000-7000-8000-000000000001', tenantName: 'default' }),
    principal: { id: '01980000-0000-7000-8000-000000000002', kind: 'user', name: 'jane' },
    rights: rightsOf([{ accessGroupId: 'line-1', permissions: ['inventory_read_asset_data'] }]),
    request: { id: 'a-request-of-jane', address: '192.0.2.7' },
  }

  test('returns the original caller from a verified peer token', async () => {
    assert.deepEqual(await tokens.verify(await tokens.sign(caller)), { ...caller, byPeer: true })
  })

  test('refuses a peer token that is expired, of another type or from another installation', async () => {
    const stranger = peerTokens(createSecrets(Buffer.alloc(32, 7)))
    await assert.rejects(tokens.verify(await stranger.sign(caller)))
    const { key } = secrets.keyFor('peer calls')
    const sign = (typ: string, expires: string) =>
      new SignJWT({ tenant: caller.tenantId })
        .setProtectedHeader({ alg: 'HS256', typ, kid: '1' })
        .setExpirationTime(expires)
        .sign(key)
    await assert.rejects(tokens.verify(await sign('at+jwt', '1m')))
    await assert.rejects(tokens.verify(await sign('peer+jwt', '-1m')))
  })
})

for (const arrangement of ['one process', 'split'] as const) {
  describe(`calls between services (${arrangement})`, () => {
    test('calls another service with the rights of the caller, in the same or another process', async () => {
      await using hub = await testHub({ arrangement })
      const admin = await callerOf(hub, 'administrator')
      const made = await hub.context
        .peers(authorization, admin)
        .createAccessGroup({ body: { data: { name: 'by a peer' } } })
      assert.equal(made.data.name, 'by a peer')
      const viewer = await callerOf(hub, 'viewer')
      await assert.rejects(
        hub.context.peers(authorization, viewer).createAccessGroup({ body: { data: { name: 'no' } } }),
        { code: 'forbidden' },
      )
      await assert.rejects(
        hub.context.peers(authorization, admin).createAccessGroup({ body: { data: { name: '' } } }),
        { code: 'invalid_body' },
      )
      const missing = { params: { id: '01980000-0000-7000-8000-00000000ffff' } }
      await assert.rejects(hub.context.peers(authorization, admin).readGrant(missing), { code: 'not_found' })
    })

    test('records the client address of a forwarded request in the audit trail, and ignores forged headers', async () => {
      await using hub = await testHub({ arrangement })
      const admin = await hub.as('administrator')
      const invented = { 'x-millwright-client': '6.6.6.6', 'x-millwright-client-proof': 'none' }
      const answer = await hub.request({
        method: 'POST',
        path: '/authorization/v1/access-groups',
        headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json', ...invented },
        body: JSON.stringify({ data: { name: 'from far' } }),
        from: '192.0.2.7',
      })
      assert.equal(answer.status, 201)
      const { data } = await admin.audit.listEntries({ query: { action: 'authorization.createAccessGroup' } })
      assert.deepEqual(
        data.map(({ address }) => address),
        ['192.0.2.7'],
      )
    })
  })
}

test('returns 503 with the setting to change for a service that is not configured', async () => {
  await using hub = await testHub()
  const nowhere = { ...authorization, name: 'nowhere' }
  await assert.rejects(hub.context.peers(nowhere, systemCaller()).listRoles({}), {
    code: 'unavailable',
    message: /MILLWRIGHT_PEERS/,
  })
})

async function callerOf(hub: TestHub, role: string): Promise<Caller> {
  const made = await hub.as(role)
  const access = await hub.context.access.of(hub.tenant.tenantId, made.principalId)
  assert.ok(access !== undefined)
  return {
    tenantId: hub.tenant.tenantId,
    tenantName: hub.tenant.name,
    principal: access.principal,
    roles: [role],
    rights: access.rights,
    request: { id: 'a-request-of-a-peer', address: undefined },
  }
}
