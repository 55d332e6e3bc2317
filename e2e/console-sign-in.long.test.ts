import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { codeOf, wrongCodeFor } from '@millwright/cloud/services/identity/factors/testing.ts'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import {
  assertAxeClean,
  assertAxeCleanEverywhere,
  type ConsoleBrowser,
  consoleOf,
  follow,
  mainHeading,
  signOut,
  submitSignIn,
} from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { createCredential, endCredential, requireStepUpForCredentials, saveCredential } from './step-up.ts'

const password = `the ${plantedWord} of a user`
/** The time step of an authenticator app. */
const totpStepMs = 30_000
const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36'
const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

describe('sign-in security in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let admin: Caller
  /** The page of a user who signs in first and does nothing until the sign-in is old. */
  let oldPage: Page
  let oldSignInAt: number
  /** The page of a user with a passkey and an authenticator app, whose sign-in is as old. */
  let factorPage: Page
  let factorSecret: string

  before(async () => {
    // Browsers allow passkeys for a host name only.
    const environment = { MILLWRIGHT_HOST: 'localhost' }
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path, environment }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    admin = await callerOf(platform)
    oldPage = await signedIn('carla', { roles: ['credential_manager'] })
    factorPage = await signedIn('kim', { roles: ['credential_manager'] })
    oldSignInAt = Date.now()
    factorSecret = await addApp(factorPage)
    await addAuthenticator(factorPage)
    await button(factorPage, 'Add passkey').click()
    const dialog = factorPage.getByRole('dialog', { name: 'Add passkey' })
    await dialog.getByLabel('Name').fill('Security key')
    await dialog.getByRole('button', { name: 'Add passkey' }).click()
    await factorPage.getByRole('cell', { name: 'Security key', exact: true }).waitFor()
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  type SignedInOptions = { roles?: readonly string[]; path?: string }

  /** Creates a user and returns a page on which the user is signed in. */
  async function signedIn(name: string, { roles = ['viewer'], path = '/account' }: SignedInOptions = {}) {
    const { data } = await admin.identity.createUser({ body: { data: { name, password } } })
    for (const role of roles) await admin.authorization.createGrant({ body: { data: { principal: data.id, role } } })
    const { page } = await consoleBrowser.open({ userAgent: chrome })
    await consoleBrowser.signIn(page, { user: { name, password }, path })
    return page
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  /** Starts the sign-in on the page for signed-out users, up to the second step. */
  const startSignIn = async (page: Page, name: string) => {
    await button(page, 'Sign in').click()
    await submitSignIn(page, { name, password })
  }
  /** Adds the authenticator app on the page of the account, and returns its secret. */
  const addApp = async (page: Page) => {
    await follow(page, '/account?view=security')
    await button(page, 'Add authenticator app').click()
    const dialog = page.getByRole('dialog', { name: 'Add authenticator app' })
    const secret = ((await dialog.locator('code').textContent()) ?? '').replaceAll(' ', '')
    await dialog.getByLabel('Code').fill(codeOf(secret, -1))
    await button(page, 'Confirm').click()
    const stored = page.getByRole('dialog', { name: 'Save your recovery codes' })
    await stored.getByLabel('I have saved the codes').check()
    await button(page, 'Done').click()
    await stored.waitFor({ state: 'hidden' })
    return secret
  }

  /** Gives the browser of a page a security key that confirms every request. */
  const addAuthenticator = async (page: Page) => {
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    } as const
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options })
    return { cdp, authenticatorId }
  }

  test('adds an authenticator app, and requires a code or a recovery code at the next sign-in', async () => {
    const page = await signedIn('tess')
    await follow(page, '/account?view=security')
    await page.getByText('Your sign-in is protected by a password only').waitFor()
    await assertAxeCleanEverywhere(page, 'security without a second factor')
    await button(page, 'Add authenticator app').click()
    const dialog = page.getByRole('dialog', { name: 'Add authenticator app' })
    const picture = dialog.getByRole('img', { name: 'QR code for the authenticator app' })
    await picture.waitFor()
    await until('the QR code is drawn', () =>
      picture.evaluate((image) => image instanceof HTMLImageElement && image.complete && image.naturalWidth > 0),
    )
    const secret = ((await dialog.locator('code').textContent()) ?? '').replaceAll(' ', '')
    await assertAxeCleanEverywhere(page, 'add authenticator app dialog')
    await dialog.getByLabel('Code').fill(wrongCodeFor(secret))
    await button(page, 'Confirm').click()
    await dialog.locator('.field-error').waitFor()
    await dialog.getByLabel('Code').fill(codeOf(secret, -1))
    const usedStep = Math.floor(Date.now() / totpStepMs) - 1
    await button(page, 'Confirm').click()

    const codes = page.getByRole('dialog', { name: 'Save your recovery codes' })
    await codes.waitFor()
    const recoveryCodes = await codes.locator('li code').allTextContents()
    assert.equal(new Set(recoveryCodes).size, 10)
    await page.keyboard.press('Escape')
    assert.equal(await codes.isVisible(), true, 'Escape closed the dialog before the codes were saved')
    await assertAxeClean(page, 'recovery codes')
    const saving = page.waitForEvent('download')
    await button(page, 'Download file').click()
    assert.equal((await saving).suggestedFilename(), 'millwright-recovery-codes.txt')
    await codes.getByLabel('I have saved the codes').check()
    await button(page, 'Done').click()
    await page.getByText('Your sign-in is protected by a second factor').waitFor()
    await page.getByText('10 unused codes').waitFor()
    await assertAxeCleanEverywhere(page, 'security with an authenticator app')

    await signOut(page)
    await startSignIn(page, 'tess')
    await page.getByLabel('Code').fill(wrongCodeFor(secret))
    await button(page, 'Confirm').click()
    await page.getByRole('alert').waitFor()
    await until('the app shows a new code', () => Math.floor(Date.now() / totpStepMs) > usedStep)
    await page.getByLabel('Code').fill(codeOf(secret))
    await button(page, 'Confirm').click()
    await mainHeading(page).waitFor()

    await signOut(page)
    await startSignIn(page, 'tess')
    await page.getByLabel('Code').fill(recoveryCodes[0] ?? '')
    await button(page, 'Confirm').click()
    await mainHeading(page).waitFor()
    await follow(page, '/account?view=security')
    await page.getByText('9 unused codes').waitFor()
  })

  test('adds, uses, renames and removes a passkey', async () => {
    const page = await signedIn('pat')
    const { cdp, authenticatorId } = await addAuthenticator(page)
    await follow(page, '/account?view=security')
    await button(page, 'Add passkey').click()
    const dialog = page.getByRole('dialog', { name: 'Add passkey' })
    await assertAxeClean(page, 'add passkey dialog')
    await dialog.getByLabel('Name').fill('Office laptop')
    await dialog.getByRole('button', { name: 'Add passkey' }).click()
    const codes = page.getByRole('dialog', { name: 'Save your recovery codes' })
    await codes.getByLabel('I have saved the codes').check()
    await button(page, 'Done').click()
    await page.getByRole('cell', { name: 'Office laptop', exact: true }).waitFor()
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
    assert.deepEqual(
      credentials.map(({ rpId }) => rpId),
      ['localhost'],
    )
    await assertAxeCleanEverywhere(page, 'security with a passkey')

    await button(page, 'Add passkey').click()
    await dialog.getByLabel('Name').fill('The same laptop')
    await dialog.getByRole('button', { name: 'Add passkey' }).click()
    await dialog.getByText('This device already has a passkey for your account.').waitFor()
    await page.keyboard.press('Escape')

    await button(page, 'Rename Office laptop').click()
    await page.getByRole('dialog', { name: 'Rename Office laptop' }).getByLabel('Name').fill('Laptop of Pat')
    await button(page, 'Save').click()
    await page.getByRole('cell', { name: 'Laptop of Pat', exact: true }).waitFor()

    await signOut(page)
    await startSignIn(page, 'pat')
    await button(page, 'Use passkey').click()
    await mainHeading(page).waitFor()
    await follow(page, '/account?view=sessions')
    await page.getByRole('cell', { name: 'Password, Passkey' }).waitFor()

    await follow(page, '/account?view=security')
    await button(page, 'Remove Laptop of Pat').click()
    await button(page, 'Remove').click()
    await page.getByText('No passkeys yet').waitFor()
    await page.getByText('Your sign-in is protected by a password only').waitFor()
  })

  test('shows a notice of a sign-in with a new device, until the user confirms it or ends the session', async () => {
    const page = await signedIn('nora', { path: '/' })
    const notice = page.getByRole('region', { name: 'New sign-in to your account' })
    const other = await consoleBrowser.open({ userAgent: firefox })
    await consoleBrowser.signIn(other.page, { user: { name: 'nora', password } })
    await page.reload()
    await notice.getByText(/Firefox on Windows, .*127\.0\.0\.1|::1/).waitFor()
    await assertAxeCleanEverywhere(page, 'start page with a notice')
    await notice.getByRole('link', { name: 'Review' }).click()
    await button(page, 'End the session: Firefox on Windows').click()
    await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click()
    await button(page, 'End the session: Firefox on Windows').waitFor({ state: 'hidden' })
    await other.page.reload()
    await button(other.page, 'Sign in').waitFor()

    await startSignIn(other.page, 'nora')
    await mainHeading(other.page).waitFor()
    await follow(page, '/')
    await notice.getByText('1 new sign-in to your account.').waitFor()
    await notice.getByRole('link', { name: 'Review' }).click()
    await button(page, 'That was me: Firefox on Windows').click()
    await page.getByText('New device').waitFor({ state: 'hidden' })
    await page.getByText('This session').waitFor()
    await follow(page, '/')
    await mainHeading(page).waitFor()
    await notice.waitFor({ state: 'hidden' })
    await other.context.close()
  })

  test('lists sessions, ends one session and all other sessions, and signs out everywhere', async () => {
    const page = await signedIn('sam', { path: '/account?view=sessions' })
    const [second, third] = await Promise.all([0, 1].map(() => consoleBrowser.open({ userAgent: chrome })))
    assert.ok(second !== undefined && third !== undefined)
    const sam = { user: { name: 'sam', password }, path: '/account' }
    await consoleBrowser.signIn(second.page, sam)
    await page.reload()
    await page
      .getByRole('row', { name: /^Chrome on Linux/ })
      .nth(1)
      .waitFor()
    await assertAxeCleanEverywhere(page, 'sessions')
    await page.getByRole('button', { name: 'End the session: Chrome on Linux' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click()
    await button(page, 'End all other sessions').waitFor({ state: 'hidden' })
    await second.page.reload()
    await button(second.page, 'Sign in').waitFor()

    await consoleBrowser.signIn(second.page, sam)
    await consoleBrowser.signIn(third.page, sam)
    await page.reload()
    await button(page, 'End all other sessions').click()
    await page.getByRole('dialog').getByRole('button', { name: 'End all other sessions' }).click()
    await page.getByText('All other sessions have ended').first().waitFor()
    await third.page.reload()
    await button(third.page, 'Sign in').waitFor()

    await consoleBrowser.signIn(second.page, sam)
    await page.reload()
    await button(page, 'Sign out everywhere').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByText('You are signed out.').waitFor()
    await second.page.reload()
    await button(second.page, 'Sign in').waitFor()
    await Promise.all([second.context.close(), third.context.close()])
  })

  test('shows the second factor and the sessions of users to an administrator, who resets and ends them', async () => {
    const userPage = await signedIn('uma')
    await addApp(userPage)
    const { page } = await consoleBrowser.open({ userAgent: chrome })
    await consoleBrowser.signIn(page, { path: '/access' })
    const row = page.getByRole('row').filter({ hasText: 'uma' })
    await row.getByText('Local account').waitFor()
    await row.getByText('Yes', { exact: true }).waitFor()
    await row.getByRole('gridcell', { name: 'uma' }).first().click()
    await page.getByRole('cell', { name: /^Chrome on Linux/ }).waitFor()
    await assertAxeCleanEverywhere(page, 'user with sessions')
    await button(page, 'Reset second factor').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Reset second factor' }).click()
    await page.getByText('No sessions').waitFor()
    await button(page, 'Reset second factor').waitFor({ state: 'hidden' })
    await userPage.reload()
    await startSignIn(userPage, 'uma')
    await mainHeading(userPage).waitFor()
    await page.context().close()
  })

  test('changes the sign-in policy, and requires a factor of the administrator before it requires factors', async () => {
    const { page } = await consoleBrowser.open({ userAgent: chrome })
    await consoleBrowser.signIn(page, { path: '/access?view=policy' })
    await page.getByLabel('Required for').selectOption({ label: 'All users' })
    await assertAxeCleanEverywhere(page, 'sign-in policy')
    await button(page, 'Save policy').click()
    await page.getByText('First add a second factor to your own account').waitFor()
    await assertAxeClean(page, 'sign-in policy with an error')
    await page.getByLabel('Required for').selectOption({ label: 'No user' })
    const minutes = page.getByLabel('A confirmation is valid for (minutes)')
    assert.equal(await minutes.isDisabled(), true)
    await page.getByLabel('Credentials: create, change, assign and delete').check()
    await minutes.fill('0')
    await page.getByText('From 1 to 720').waitFor()
    await minutes.fill('1')
    await button(page, 'Save policy').click()
    await page.getByText('Sign-in policy saved').first().waitFor()
    const { data } = await admin.identity.readSignInPolicy({})
    assert.deepEqual([data.stepUp, data.stepUpMinutes, data.secondFactor], [['credentials'], 1, 'nobody'])
    await page.context().close()
  })

  test('requires the password before a credential is created, and then creates it', async () => {
    await requireStepUpForCredentials(admin)
    await until('the sign-in is older than one minute', () => Date.now() - oldSignInAt > 61_000)
    const stepUp = oldPage.getByRole('dialog', { name: 'Confirm your identity' })
    await createCredential(oldPage, 'line 1')
    await stepUp.getByLabel('Password').waitFor()
    await assertAxeCleanEverywhere(oldPage, 'step-up dialog')
    await stepUp.getByRole('button', { name: 'Close' }).click()
    await oldPage.getByRole('alert').getByText('step_up_required').waitFor()
    await saveCredential(oldPage)
    await stepUp.getByLabel('Password').fill('not the password')
    await stepUp.getByRole('button', { name: 'Confirm' }).click()
    await stepUp.getByText('The password is wrong.').waitFor()
    await stepUp.getByLabel('Password').fill(password)
    await stepUp.getByRole('button', { name: 'Confirm' }).click()
    await stepUp.waitFor({ state: 'hidden' })
    await endCredential(oldPage, 'line 1')
    await createCredential(oldPage, 'line 2')
    await endCredential(oldPage, 'line 2')
    const { data } = await admin.credentials.listInstances({ query: {} })
    assert.deepEqual(data.map(({ name }) => name).toSorted(), ['line 1', 'line 2'])
  })

  test('requires a code or a passkey, and not the password, from a user with a second factor', async () => {
    const stepUp = factorPage.getByRole('dialog', { name: 'Confirm your identity' })
    await createCredential(factorPage, 'line 3')
    await stepUp.getByLabel('Code').fill(wrongCodeFor(factorSecret))
    assert.equal(await stepUp.getByLabel('Password').count(), 0)
    await assertAxeCleanEverywhere(factorPage, 'step-up dialog with a second factor')
    await stepUp.getByRole('button', { name: 'Confirm' }).click()
    await stepUp.locator('.field-error').waitFor()
    await stepUp.getByLabel('Code').fill(codeOf(factorSecret))
    await stepUp.getByRole('button', { name: 'Confirm' }).click()
    await endCredential(factorPage, 'line 3')

    const confirmedAt = Date.now()
    await until('the confirmation is older than one minute', () => Date.now() - confirmedAt > 61_000)
    await createCredential(factorPage, 'line 4')
    await stepUp.getByRole('button', { name: 'Use passkey' }).click()
    await endCredential(factorPage, 'line 4')
    await admin.identity.updateSignInPolicy({ body: { data: { stepUp: [] } } })
  })

  test('warns a user without activity, and signs the user out at the idle limit', async () => {
    await admin.identity.updateSignInPolicy({ body: { data: { idleMinutes: 5 } } })
    await admin.identity.createUser({ body: { data: { name: 'ida', password } } })
    const { page } = await consoleBrowser.open({ userAgent: chrome })
    await page.clock.install()
    await consoleBrowser.signIn(page, { user: { name: 'ida', password }, path: '/account' })
    await page.getByRole('heading', { name: 'Your permissions' }).waitFor()
    const warning = page.getByRole('dialog', { name: 'Are you still there?' })
    await page.clock.fastForward('04:10')
    await warning.waitFor()
    await assertAxeCleanEverywhere(page, 'warning before the sign-out')
    await button(page, 'Stay signed in').click()
    await warning.waitFor({ state: 'hidden' })
    await page.clock.fastForward('04:10')
    await warning.waitFor()
    await page.clock.fastForward('01:00')
    await page.getByText('You were signed out after 5 minutes without activity.').waitFor()
    await page.goto('/console/account')
    await button(page, 'Sign in').waitFor()
    await admin.identity.updateSignInPolicy({ body: { data: { idleMinutes: 720 } } })
    await page.context().close()
  })

  test('no page of sign-in security violates the content security policy', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
