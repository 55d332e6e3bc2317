import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testHub } from '../platform/testing/hub.ts'

const promisedMs = 1_000

test('a revocation takes effect in every process within a second, a disabled principal at once', async () => {
  await using hub = await testHub()
  await using elsewhere = await hub.sibling()
  const admin = await hub.as('administrator')
  const { data: user } = await admin.identity.createServerUser({ body: { data: { name: 'robot' } } })
  const { data: grant } = await admin.authorization.createGrant({
    body: { data: { principal: user.id, role: 'administrator' } },
  })
  const token = await hub.tokenFor(user.id, { roles: ['administrator'] })
  const statusIn = async (place: typeof hub) =>
    (await place.request({ method: 'GET', path: '/iam/v1/users', headers: { authorization: `Bearer ${token}` } }))
      .status
  assert.deepEqual([await statusIn(hub), await statusIn(elsewhere)], [200, 200])

  await admin.authorization.deleteGrant({ params: { id: grant.id } })
  assert.equal(await statusIn(hub), 403)
  await changes(() => statusIn(elsewhere), 403)

  await admin.identity.updateServerUser({ params: { id: user.id }, body: { data: { disabled: true } } })
  assert.equal(await statusIn(hub), 401)
  await changes(() => statusIn(elsewhere), 401)
})

/** Polls until it is so; the promise is the deadline. */
async function changes(look: () => Promise<number>, wanted: number): Promise<void> {
  const deadline = performance.now() + promisedMs
  for (let seen = await look(); seen !== wanted; seen = await look()) {
    assert.ok(performance.now() < deadline, `still ${seen} after ${promisedMs} ms`)
  }
}
