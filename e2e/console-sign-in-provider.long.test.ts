import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startIndependentProvider } from '@millwright/cloud/services/identity/providers/independent-provider-testing.ts'
import { clientId, clientSecret } from '@millwright/cloud/services/identity/providers/testing.ts'
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
} from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { createCredential, endCredential, requireStepUpForCredentials } from './step-up.ts'

describe('sign-in with an identity provider in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let provider: Awaited<ReturnType<typeof startIndependentProvider>>
  let consoleBrowser: ConsoleBrowser
  let admin: Caller
  let adminPage: Page
  /** The page of Jane, who signs in with the provider. */
  let janePage: Page
  let janeSignInAt: number

  before(async () => {
    provider = await startIndependentProvider({ jane: ['key-holders'], omar: [] })
    const environment = { MILLWRIGHT_HOST: 'localhost', MILLWRIGHT_OUTBOUND_ALLOW: '127.0.0.1' }
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path, environment }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    admin = await callerOf(platform)
    ;({ page: adminPage } = await consoleBrowser.open())
    await consoleBrowser.signIn(adminPage, { path: '/access?view=providers' })
    ;({ page: janePage } = await consoleBrowser.open())
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    await provider?.stop()
    folder[Symbol.dispose]()
  })

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  /** Signs in on the pages of the provider, and allows the access. */
  const signInAtProvider = async (page: Page, login: string) => {
    await page.getByPlaceholder('Enter any login').fill(login)
    await page.getByPlaceholder('and password').fill('any')
    await button(page, 'Sign-in').click()
    await button(page, 'Continue').click()
  }

  test('adds an identity provider, checks its connection, and maps a group to a role', async () => {
    await adminPage.getByText('No identity providers yet').waitFor()
    await adminPage.getByText('MILLWRIGHT_OUTBOUND_ALLOW').waitFor()
    await assertAxeCleanEverywhere(adminPage, 'identity providers, empty')
    await button(adminPage, 'Add identity provider').click()
    const dialog = adminPage.getByRole('dialog', { name: 'Add identity provider' })
    await dialog.getByRole('button', { name: 'Add identity provider' }).click()
    assert.equal(await dialog.getByText('Required', { exact: true }).count(), 4)
    await assertAxeCleanEverywhere(adminPage, 'add identity provider dialog')
    await dialog.getByLabel('Title').fill('Company Login')
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'company-login')
    await dialog.getByLabel('Issuer').fill('http://192.0.2.7')
    await dialog.getByLabel('Client ID').fill(clientId)
    await dialog.getByLabel('Client secret').fill(clientSecret)
    await dialog.getByRole('button', { name: 'Add identity provider' }).click()
    await dialog.getByText('outbound_not_allowed').waitFor()
    await dialog.getByLabel('Issuer').fill(provider.issuer)
    await dialog.getByRole('button', { name: 'Add identity provider' }).click()
    await adminPage.getByRole('heading', { name: 'Company Login', level: 1 }).waitFor()
    await button(adminPage, 'Check connection').click()
    await adminPage.getByText('The provider is usable').waitFor()

    await button(adminPage, 'Edit').click()
    await adminPage.getByLabel('Scopes').fill('profile groups')
    await assertAxeClean(adminPage, 'edit identity provider dialog')
    await button(adminPage, 'Save').click()
    await adminPage.getByText('openid profile groups').waitFor()
    await button(adminPage, 'Add mapping').click()
    const mapping = adminPage.getByRole('dialog', { name: 'Add mapping' })
    await mapping.getByLabel('Value of the groups claim').fill('key-holders')
    await mapping.getByLabel('Role').selectOption('administrator')
    await mapping.getByRole('button', { name: 'Add mapping' }).click()
    await mapping.getByRole('alert').waitFor()
    await mapping.getByLabel('Role').selectOption('credential_manager')
    await mapping.getByRole('button', { name: 'Add mapping' }).click()
    await adminPage.getByRole('cell', { name: 'key-holders', exact: true }).waitFor()
    await assertAxeCleanEverywhere(adminPage, 'identity provider')

    const [created] = (await admin.identity.listIdentityProviders({ query: {} })).data
    assert.ok(created !== undefined)
    await adminPage.getByText(created.redirectUri).waitFor()
    provider.register({ ...created, logoutUri: `${platform.baseUrl}/` })
  })

  test('keeps a mapping that another administrator adds at the same time', async () => {
    const [{ id, mappings } = assert.fail('no provider')] = (await admin.identity.listIdentityProviders({ query: {} }))
      .data
    const values = async () =>
      (await admin.identity.readIdentityProvider({ params: { id } })).data.mappings.map(({ value }) => value)
    let others = 0
    await adminPage.route('**/identity-providers/*', async (route) => {
      if (route.request().method() === 'PATCH' && others++ === 0) {
        const data = { mappings: [...mappings, { value: 'night-shift', role: 'viewer' }] }
        await admin.identity.updateIdentityProvider({ params: { id }, body: { data } })
      }
      await route.continue()
    })
    await button(adminPage, 'Add mapping').click()
    const dialog = adminPage.getByRole('dialog', { name: 'Add mapping' })
    await dialog.getByLabel('Value of the groups claim').fill('early-shift')
    await dialog.getByRole('button', { name: 'Add mapping' }).click()
    await dialog.getByRole('alert').getByText('precondition_failed').waitFor()
    assert.deepEqual(await values(), ['key-holders', 'night-shift'])
    await dialog.getByRole('button', { name: 'Add mapping' }).click()
    await adminPage.getByRole('cell', { name: 'early-shift', exact: true }).waitFor()
    assert.deepEqual(await values(), ['key-holders', 'night-shift', 'early-shift'])

    await button(adminPage, 'Remove the mapping of early-shift to viewer').click()
    await adminPage.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await adminPage.getByRole('cell', { name: 'early-shift', exact: true }).waitFor({ state: 'hidden' })
    assert.deepEqual(await values(), ['key-holders', 'night-shift'])
  })

  test('signs in with the identity provider, and shows it in the account and in the list of users', async () => {
    await janePage.goto('/console/account')
    await button(janePage, 'Sign in').click()
    await assertAxeClean(janePage, 'sign-in page with an identity provider')
    await button(janePage, 'Sign in with Company Login').click()
    await signInAtProvider(janePage, 'jane')
    await mainHeading(janePage).waitFor()
    janeSignInAt = Date.now()
    await janePage.getByText('Company Login', { exact: true }).waitFor()
    await follow(janePage, '/account?view=security')
    await janePage.getByText('The identity provider checks your password and your second factor.').waitFor()
    assert.equal(await janePage.getByRole('heading', { name: 'Change your password' }).count(), 0)
    await assertAxeCleanEverywhere(janePage, 'security of a user of an identity provider')
    await follow(janePage, '/account?view=sessions')
    await janePage.getByRole('cell', { name: 'Company Login', exact: true }).waitFor()

    await follow(adminPage, '/access')
    const row = adminPage.getByRole('row').filter({ hasText: 'jane@example.com' })
    await row.getByText('Company Login').waitFor()
    await row.getByText('At the provider').waitFor()
    await row.getByRole('gridcell').first().click()
    await adminPage.getByText('From groups of Company Login').waitFor()
    assert.equal(await button(adminPage, 'Set password').count(), 0)
    await assertAxeClean(adminPage, 'user of an identity provider')
  })

  test('confirms the identity at the provider in another window, and continues on the same page', async () => {
    await requireStepUpForCredentials(admin)
    await until('the sign-in is older than one minute', () => Date.now() - janeSignInAt > 61_000)
    await createCredential(janePage, 'line 1')
    const stepUp = janePage.getByRole('dialog', { name: 'Confirm your identity' })
    await stepUp.getByText('You sign in with an identity provider.').waitFor()
    await assertAxeCleanEverywhere(janePage, 'step-up dialog with an identity provider')

    const confirmAs = async (login: string) => {
      const opening = janePage.waitForEvent('popup')
      await stepUp.getByRole('button', { name: 'Sign in again' }).click()
      const popup = await opening
      const closing = popup.waitForEvent('close')
      await button(popup, 'Sign in with Company Login').click()
      await signInAtProvider(popup, login)
      await closing
    }
    await confirmAs('omar')
    await stepUp.getByText('Another user signed in.').waitFor()
    await confirmAs('jane')
    await stepUp.waitFor({ state: 'hidden' })
    await endCredential(janePage, 'line 1')
    await admin.identity.updateSignInPolicy({ body: { data: { stepUp: [] } } })
  })

  test('signs out in the console and at the identity provider', async () => {
    await signOut(janePage)
    await button(janePage, 'Yes, sign me out').click()
    await janePage.waitForURL(`${platform.baseUrl}/console/`)
    await button(janePage, 'Sign in').click()
    await button(janePage, 'Sign in with Company Login').click()
    await janePage.getByPlaceholder('Enter any login').waitFor()
    await signInAtProvider(janePage, 'jane')
    await mainHeading(janePage).waitFor()
  })

  test('ends the sessions of a disabled provider, and offers only local accounts', async () => {
    await follow(adminPage, '/access?view=providers')
    await adminPage.getByRole('gridcell', { name: 'Company Login' }).click()
    await button(adminPage, 'Disable').click()
    await adminPage.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await button(adminPage, 'Enable').waitFor()
    await janePage.reload()
    await button(janePage, 'Sign in').click()
    await janePage.getByLabel('User name').waitFor()
    assert.equal(await button(janePage, 'Sign in with Company Login').count(), 0)
    await button(adminPage, 'Delete').click()
    await adminPage.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await adminPage.getByText('No identity providers yet').waitFor()
  })

  test('no page of the console violates the content security policy', () => {
    // The pages of the provider request a font. This request is not made by the console.
    const violations = consoleBrowser.violations.filter((each) => !each.startsWith('https://fonts.googleapis.com/'))
    assert.deepEqual(violations, [])
  })
})
