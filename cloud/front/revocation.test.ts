import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestCaller, type TestHub, testHub } from '../platform/testing/hub.ts'

const promisedMs = 1_000
/**
 * The number of attempts. A busy machine may miss a deadline in some attempts, but a defect misses it in every attempt.
 */
const tries = 12

test('refuses a revoked token in every process within a second, and a disabled principal immediately', async () => {
  await using hub = await testHub()
  await using elsewhere = await hub.sibling()
  const admin = await hub.as('administrator')
  const delays: number[] = []
  for (let attempt = 1; attempt <= tries && delays.every((ms) => ms > promisedMs); attempt++) {
    delays.push(await revoke({ hub, elsewhere, admin, name: `robot ${attempt}` }))
  }
  assert.ok(Math.min(...delays) <= promisedMs, `it took ${delays.map(Math.round).join(', ')} ms`)
})

type Scene = { hub: TestHub; elsewhere: TestHub; admin: TestCaller; name: string }

/** Revokes a grant, then disables the user. Returns the longer time until the other process refused a request. */
async function revoke({ hub, elsewhere, admin, name }: Scene): Promise<number> {
  const { data: user } = await admin.identity.createServerUser({ body: { data: { name } } })
  const { data: grant } = await admin.authorization.createGrant({
    body: { data: { principal: user.id, role: 'administrator' } },
  })
  const token = await hub.tokenFor(user.id, { roles: ['administrator'] })
  const statusIn = async (place: TestHub) =>
    (await place.request({ method: 'GET', path: '/iam/v1/users', headers: { authorization: `Bearer ${token}` } }))
      .status
  assert.deepEqual([await statusIn(hub), await statusIn(elsewhere)], [200, 200])

  await admin.authorization.deleteGrant({ params: { id: grant.id } })
  assert.equal(await statusIn(hub), 403)
  const revoked = await until(() => statusIn(elsewhere), 403)

  await admin.identity.updateServerUser({ params: { id: user.id }, body: { data: { disabled: true } } })
  assert.equal(await statusIn(hub), 401)
  return Math.max(revoked, await until(() => statusIn(elsewhere), 401))
}

/** Returns the time until the response had the expected status. */
async function until(look: () => Promise<number>, expected: number): Promise<number> {
  const start = performance.now()
  while ((await look()) !== expected) assert.ok(performance.now() - start < 120 * promisedMs, 'it never came')
  return performance.now() - start
}
