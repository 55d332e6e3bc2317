import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { codeOf, wrongCodeFor } from '@millwright/cloud/services/identity/factors/testing.ts'
import type { Browser, Page } from 'playwright-core'
import { assertAccessibleEverywhere } from './accessibility.ts'
import { openBrowser } from './browser.ts'
import { runCommand } from './command.ts'
import { assertAxeCleanEverywhere, type ConsoleBrowser, consoleOf, mainHeading, submitSignIn } from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder } from './platform.ts'

const password = `the ${plantedWord} of a user`

describe('second factor on the sign-in page', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let admin: Caller

  before(async () => {
    // Browsers allow passkeys for a host name only.
    const environment = { MILLWRIGHT_HOST: 'localhost' }
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path, environment }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    admin = await callerOf(platform)
    await admin.identity.updateSignInPolicy({ body: { data: { secondFactor: 'everyone' } } })
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  async function createUser(name: string): Promise<void> {
    const { data } = await admin.identity.createUser({ body: { data: { name, password } } })
    await admin.authorization.createGrant({ body: { data: { principal: data.id, role: 'viewer' } } })
  }

  /** Opens the console and submits the password. */
  async function startSignIn(page: Page, name: string): Promise<void> {
    await page.goto('/console/account')
    await button(page, 'Sign in').click()
    await submitSignIn(page, { name, password })
  }

  async function assertUsable(page: Page, where: string): Promise<void> {
    await assertAccessibleEverywhere(page, where)
    await assertAxeCleanEverywhere(page, where)
  }

  test('sets up an authenticator app during the sign-in and uses a recovery code in another browser', async () => {
    await createUser('tina')
    const { page, context } = await consoleBrowser.open()
    await startSignIn(page, 'tina')
    await page.getByRole('heading', { name: 'Add a second factor' }).waitFor()
    await assertUsable(page, 'enrolment')
    const secret = (await page.locator('#secret').textContent()) ?? ''
    await page.getByLabel('Code of the app').fill(wrongCodeFor(secret))
    await button(page, 'Confirm').click()
    await page.getByText('The code is wrong').waitFor()
    await assertUsable(page, 'enrolment after a wrong code')
    assert.equal(await page.locator('#secret').textContent(), secret)
    await page.getByLabel('Code of the app').fill(codeOf(secret))
    await button(page, 'Confirm').click()
    await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor()
    await assertUsable(page, 'recovery codes')
    const codes = await page.locator('li code').allTextContents()
    assert.equal(codes.length, 10)
    await button(page, 'I have saved the codes').click()
    await mainHeading(page).waitFor()
    await context.close()

    const other = await consoleBrowser.open()
    await startSignIn(other.page, 'tina')
    await other.page.getByRole('heading', { name: 'Confirm your identity' }).waitFor()
    await assertUsable(other.page, 'second step')
    await other.page.getByLabel('Code').fill(codes[0] ?? '')
    await button(other.page, 'Confirm').click()
    await mainHeading(other.page).waitFor()
    await other.context.close()
  })

  test('sets up a passkey during the sign-in and signs in with it', async () => {
    await createUser('pia')
    const { page, context } = await consoleBrowser.open()
    const cdp = await context.newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'usb', hasUserVerification: true, isUserVerified: true },
    })
    await startSignIn(page, 'pia')
    await button(page, 'Add passkey').click()
    await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor()
    await button(page, 'I have saved the codes').click()
    await mainHeading(page).waitFor()
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
    assert.equal(credentials.length, 1)

    // Without the session cookie, the next sign-in needs the password and the passkey.
    await context.clearCookies()
    await startSignIn(page, 'pia')
    await assertUsable(page, 'second step with a passkey')
    await button(page, 'Use passkey').click()
    await mainHeading(page).waitFor()

    await context.clearCookies()
    await startSignIn(page, 'pia')
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
    await cdp.send('WebAuthn.removeCredential', {
      authenticatorId,
      credentialId: credentials[0]?.credentialId ?? '',
    })
    await button(page, 'Use passkey').click()
    await page.getByText('The browser did not return a passkey').waitFor()
    await context.close()
  })

  test('shows the form for codes without scripts, and no passkey button', async () => {
    await createUser('nils')
    const { page, context } = await consoleBrowser.open({ javaScriptEnabled: false })
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'console',
      redirect_uri: `${platform.baseUrl}/auth/callback`,
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    await page.goto(`/oauth/authorize?${query}`)
    await submitSignIn(page, { name: 'nils', password })
    const secret = (await page.locator('#secret').textContent()) ?? ''
    assert.equal(await button(page, 'Add passkey').isVisible(), false)
    await page.getByLabel('Code of the app').fill(codeOf(secret))
    await button(page, 'Confirm').click()
    await button(page, 'I have saved the codes').click()
    await page.waitForURL(/\/auth\/callback\?code=/)
    await context.close()
  })

  test('removes the second factor of a user on the server, who sets up a new one at the next sign-in', async () => {
    await createUser('rosa')
    const { page, context } = await consoleBrowser.open()
    const setUp = async () => {
      await startSignIn(page, 'rosa')
      const secret = (await page.locator('#secret').textContent()) ?? ''
      await page.getByLabel('Code of the app').fill(codeOf(secret))
      await button(page, 'Confirm').click()
      await button(page, 'I have saved the codes').click()
      await mainHeading(page).waitFor()
      return secret
    }
    const secret = await setUp()
    const { code, stdout } = await runCommand(['users', 'reset-second-factor', 'rosa'], { home: folder.path })
    assert.equal(code, 0)
    assert.match(stdout, /rosa@default no longer has a second factor/)
    await page.goto('/console/account')
    await button(page, 'Sign in').waitFor()
    assert.notEqual(await setUp(), secret)
    await context.close()

    const unknown = await runCommand(['users', 'reset-second-factor', 'no-one'], { home: folder.path })
    assert.notEqual(unknown.code, 0)
    assert.match(unknown.stderr, /User no-one does not exist/)
  })

  test('no page of the second step violates the content security policy', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
