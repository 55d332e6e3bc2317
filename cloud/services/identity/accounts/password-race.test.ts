import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { codeOf, personWithApp, TwoStepSignIn } from '../factors/testing.ts'
import { authorizePath, Browser, person, rightPassword, signedIn } from '../testing.ts'

const newPassword = `a new ${rightPassword}`
const attempts = Array.from({ length: 6 }, (_, index) => index)

async function sessionsOf(hub: TestHub, principalId: string): Promise<number> {
  const admin = await hub.as('administrator')
  return (await admin.identity.listUserSessions({ params: { id: principalId } })).data.length
}

async function pendingOf(hub: TestHub, principalId: string): Promise<number> {
  const text = 'select hash from pending_sign_ins where tenant_id = $1 and principal_id = $2'
  return (await hub.asOwner((owner) => owner.query(text, [hub.tenant.tenantId, principalId]))).rows.length
}

/** Opens the sign-in page in several browsers, resets the password, and submits the old password in the meantime. */
async function signInDuringReset(hub: TestHub, { id, signInName }: { id: string; signInName: string }) {
  const admin = await hub.as('administrator')
  const browsers = attempts.map(() => new Browser(hub))
  const pages = await Promise.all(browsers.map((browser) => browser.open(authorizePath(hub))))
  const reset = admin.identity.updateUser({ params: { id }, body: { data: { password: newPassword } } })
  const typed = { name: signInName, password: rightPassword }
  await Promise.all([
    reset,
    ...browsers.map((browser, index) => browser.submit(pages[index] ?? assert.fail('There is no page'), typed)),
  ])
}

test('a sign-in with the old password that overlaps a password reset starts no session', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  await signInDuringReset(hub, jane)
  assert.equal(await sessionsOf(hub, jane.id), 0)
})

test('a sign-in with the old password that overlaps a password reset does not wait for the second factor', async () => {
  await using hub = await testHub()
  const jane = await personWithApp(hub, 'jane')
  await signInDuringReset(hub, jane)
  assert.equal(await pendingOf(hub, jane.id), 0)
})

test('a second step that overlaps a password reset starts no session', async () => {
  await using hub = await testHub()
  const jane = await personWithApp(hub, 'jane')
  const admin = await hub.as('administrator')
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  const reset = admin.identity.updateUser({ params: { id: jane.id }, body: { data: { password: newPassword } } })
  await Promise.all([reset, signIn.submit(page, { code: codeOf(jane.secret) })])
  assert.equal(await sessionsOf(hub, jane.id), 0)
})

test('a change of the password with the old password does not overwrite a password reset', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const { accessToken } = await signedIn(hub, jane.signInName)
  const self = hub.withToken(accessToken)
  const admin = await hub.as('administrator')
  const data = { currentPassword: rightPassword, newPassword: `a stolen ${rightPassword}` }
  const reset = admin.identity.updateUser({ params: { id: jane.id }, body: { data: { password: newPassword } } })
  const change = self.identity.changePassword({ body: { data } })
  await Promise.allSettled([reset, change])
  const browser = new Browser(hub)
  const path = authorizePath(hub)
  const signInWith = (password: string) => browser.signIn(path, { name: jane.signInName, password })
  assert.equal((await signInWith(data.newPassword)).status, 401)
  assert.equal((await signInWith(newPassword)).status, 303)
})
