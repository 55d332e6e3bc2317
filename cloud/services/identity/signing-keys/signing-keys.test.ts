import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { statement } from '../../../platform/database/statement.ts'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { createServerUser } from '../accounts/accounts.ts'
import { requestToken } from '../testing.ts'
import { ensureSigningKey, KeyRing, rotateSigningKey } from './signing-keys.ts'

const tokenLifetimeSeconds = 3600

async function program(hub: TestHub) {
  const { clientId, clientSecret } = await createServerUser(hub.context, hub.tenant, {
    name: 'program',
    role: 'viewer',
  })
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  return async (through: TestHub) => (await requestToken(through, form)).body.access_token ?? ''
}

const kidOf = (token: string) => decodeProtectedHeader(token).kid

const isAccepted = (hub: TestHub, token: string) =>
  hub
    .withToken(token)
    .authorization.readOwnRights({})
    .then(
      () => true,
      () => false,
    )

test('accepts tokens from before and after a signing key rotation in every process', async (t) => {
  await using hub = await testHub({ own: true })
  if (hub.database.shared) return t.skip('other tests use the same keys')
  const tokenFrom = await program(hub)
  await using before = await hub.sibling()
  const old = [await tokenFrom(hub), await tokenFrom(before)]

  const rotation = { tokenLifetimeSeconds, activeInSeconds: 0 }
  const kid = await hub.asOwner((owner) => rotateSigningKey(owner, hub.context.secrets, rotation))
  await using after = await hub.sibling()
  await using later = await hub.sibling()
  const fresh = await tokenFrom(after)
  assert.equal(kidOf(fresh), kid)
  for (const token of old) {
    assert.notEqual(kidOf(token), kid)
    for (const process of [hub, before, after, later]) assert.ok(await isAccepted(process, token))
  }
  for (const process of [after, later]) assert.ok(await isAccepted(process, fresh))
})

test('publishes a new signing key in every process before the key signs its first token', async (t) => {
  await using hub = await testHub({ own: true })
  if (hub.database.shared) return t.skip('other tests use the same keys')
  let now = 0
  const parts = { database: hub.context.database, secrets: hub.context.secrets }
  const rings = [new KeyRing(parts, () => now), new KeyRing(parts, () => now)] as const
  const signers = async () => Promise.all(rings.map(async (ring) => (await ring.signing()).kid))
  const published = async () => Promise.all(rings.map(async (ring) => (await ring.published()).map(({ kid }) => kid)))

  const [old = ''] = await signers()
  const kid = await hub.asOwner((owner) => rotateSigningKey(owner, hub.context.secrets, { tokenLifetimeSeconds }))
  assert.deepEqual(await published(), [[old], [old]], 'no process has read the keys yet')
  now += 5_000
  assert.deepEqual(await published(), [
    [old, kid],
    [old, kid],
  ])
  assert.deepEqual(await signers(), [old, old], 'the old one still signs')

  await hub.asOwner((owner) =>
    owner.query(`update signing_keys set active_from = now() - interval '1 millisecond' where kid = $1`, [kid]),
  )
  now += 5_000
  assert.deepEqual(await signers(), [kid, kid])
  assert.deepEqual(
    (await published()).map((kids) => kids.toSorted()),
    [[old, kid].toSorted(), [old, kid].toSorted()],
  )
})

test('publishes a new signing key in the JWKS document before the key signs its first token', async () => {
  await using hub = await testHub({ own: true })
  const tokenFrom = await program(hub)
  const kid = await hub.asOwner((owner) => rotateSigningKey(owner, hub.context.secrets, { tokenLifetimeSeconds }))
  await using other = await hub.sibling()
  const { body } = await other.request({ method: 'GET', path: '/.well-known/jwks.json' })
  const published = (body as { keys: { kid: string }[] }).keys.map((key) => key.kid)
  assert.ok(published.includes(kid))
  const token = await tokenFrom(other)
  assert.notEqual(kidOf(token), kid)
  assert.ok(published.includes(kidOf(token) ?? ''))
})

test('prunes an old signing key after its last token has expired', async (t) => {
  await using hub = await testHub({ own: true })
  if (hub.database.shared) return t.skip('other tests use the same keys')
  const published = async () =>
    (await new KeyRing({ database: hub.context.database, secrets: hub.context.secrets }).published()).map(
      ({ kid }) => kid,
    )
  const [old] = await published()
  await hub.asOwner((owner) =>
    rotateSigningKey(owner, hub.context.secrets, { tokenLifetimeSeconds, activeInSeconds: 30 }),
  )
  const left = await hub.asOwner((owner) =>
    owner.query<{ seconds: number }>(
      'select extract(epoch from expires_at - now())::float8 as seconds from signing_keys where kid = $1',
      [old],
    ),
  )
  assert.ok(Math.abs((left.rows[0]?.seconds ?? 0) - (30 + tokenLifetimeSeconds + 60)) < 5)
  assert.equal((await published()).length, 2)

  await hub.asOwner((owner) => owner.query('update signing_keys set expires_at = now() where kid = $1', [old]))
  assert.ok(!(await published()).includes(old))
  await hub.asOwner((owner) => ensureSigningKey(owner, hub.context.secrets))
  const kept = await hub.asOwner((owner) => owner.query('select from signing_keys where kid = $1', [old]))
  assert.equal(kept.rowCount, 0)
})

test('creates one signing key when several processes start at the same time', async (t) => {
  await using hub = await testHub({ own: true })
  if (hub.database.shared) return t.skip('other tests use the same keys')
  await hub.asOwner((owner) => owner.query('delete from signing_keys'))
  await Promise.all(
    Array.from({ length: 4 }, () => hub.asOwner((owner) => ensureSigningKey(owner, hub.context.secrets))),
  )
  const { rowCount } = await hub.asOwner((owner) => owner.query('select from signing_keys'))
  assert.equal(rowCount, 1)
})

test('seals the private signing key, and lets the application role only read signing keys', async () => {
  await using hub = await testHub()
  const change = hub.context.database.reference((handle) => handle.run(statement('delete from signing_keys')))
  await assert.rejects(change, { code: '42501' })
  const { rows } = await hub.asOwner((owner) =>
    owner.query<{ sealed: Buffer; jwk: object }>(
      'select sealed_private_jwk as sealed, public_jwk as jwk from signing_keys',
    ),
  )
  for (const { sealed, jwk } of rows) {
    assert.ok(!sealed.toString('latin1').includes('"d"'))
    assert.ok(!('d' in jwk))
  }
})
