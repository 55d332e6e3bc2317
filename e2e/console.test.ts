import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import type { Browser, Page } from 'playwright-core'
import { assertAccessible, assertAccessibleEverywhere } from './accessibility.ts'
import { openBrowser } from './browser.ts'
import {
  assertAxeCleanEverywhere,
  type ConsoleBrowser,
  consoleOf,
  mainHeading,
  navigationTo,
  signOut,
  submitSignIn,
} from './console.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder } from './platform.ts'
import { clickAsPerson } from './reachability.ts'

/** Jane is a user without any role. */
const jane = { name: 'jane', password: `the ${plantedWord} of a user` }

describe('the console in a browser', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let janeId: string

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), announced()])
    consoleBrowser = consoleOf(platform, browser)
    const admin = await callerOf(platform)
    const made = await admin.identity.createUser({ body: { data: { ...jane, displayName: 'Jane Doe' } } })
    janeId = made.data.id
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function announced() {
    const opened = await openBrowser()
    process.stdout.write(`# ${opened.which}\n`)
    return opened
  }

  const adminPassword = () => ({ name: platform.access.adminUser, password: platform.access.adminPassword })

  test('the page before sign-in introduces the product and names the file with the initial password', async () => {
    const { context, page } = await consoleBrowser.open()
    await page.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.match((await page.locator('main').textContent()) ?? '', /industrial asset management.*first-run\.json/s)
    assert.equal(await page.getByRole('link', { name: 'API reference' }).first().getAttribute('href'), '/docs')
    assert.equal(await page.getByRole('link', { name: 'Problem codes' }).getAttribute('href'), '/docs/problems')
    await context.close()
  })

  test('rejects a wrong password, and shows user and permissions after sign-in', async () => {
    const { context, page } = await consoleBrowser.open()
    await page.goto('/console/account')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await submitSignIn(page, { name: 'admin', password: 'not the one' })
    assert.equal(await page.getByRole('alert').textContent(), 'Wrong user name or password.')
    await submitSignIn(page, adminPassword())
    await page.getByRole('heading', { name: 'Administrator', level: 1 }).waitFor()
    await page.getByText('Manage users, service accounts, roles, access groups and grants').waitFor()
    const profile = await page.locator('.key-values .key-value').allTextContents()
    assert.deepEqual(profile, ['User nameadmin@default', 'Tenantdefault', 'Rolesadministrator'])
    assert.equal(page.url(), `${platform.baseUrl}/console/account`, 'the authorization code is still in the URL')
    await context.close()
  })

  test('stores no token in the browser, and stays signed in after a reload', async () => {
    const { context, page } = await consoleBrowser.open()
    await consoleBrowser.signIn(page, { path: '/account?from=a-link#here' })
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    )
    const [local, session, cookie] = JSON.parse(kept)
    assert.deepEqual([local, cookie], [{ 'millwright.signed-in': 'yes' }, ''])
    assert.doesNotMatch(JSON.stringify(session), /token|eyJ/i)
    await page.reload()
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    assert.equal(
      page.url(),
      `${platform.baseUrl}/console/account?from=a-link#here`,
      'the deep link is lost during sign-in',
    )
    await context.close()
  })

  test('rejects a sign-in response that this browser did not request', async () => {
    const { context, page } = await consoleBrowser.open()
    await page.goto('/auth/callback?code=stolen&state=guessed')
    assert.match((await page.getByRole('alert').textContent()) ?? '', /This sign-in was not started in this browser/)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await context.close()
  })

  test('hides assets from a user without permission, and explains why when a page is opened directly', async () => {
    const admin = await callerOf(platform)
    const { context, page } = await consoleBrowser.open()
    await consoleBrowser.signIn(page, { user: jane, path: '/account' })
    await page.getByText('You have no roles.').waitFor()
    await page.goto('/console/assets')
    await page.getByText('inventory_read_asset_data').waitFor()
    await page
      .getByText('Ask an administrator of the tenant default to assign you a role with one of these permissions.')
      .waitFor()
    assert.equal(await navigationTo(page, 'Assets').count(), 0)
    await page.goto('/console/nowhere')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await admin.authorization.createGrant({ body: { data: { principal: janeId, role: 'viewer' } } })
    await page.goto('/console/account')
    await page.getByText('Read assets').waitFor()
    await navigationTo(page, 'Assets').waitFor()
    await context.close()
  })

  test('shows the code of a failed request, and retries the request', async () => {
    const { context, page } = await consoleBrowser.open()
    await page.route('**/authorization/v1/permissions', (route) => route.abort())
    await consoleBrowser.signIn(page, { path: '/account' })
    const notice = page.getByRole('alert')
    await notice.waitFor()
    assert.match((await notice.textContent()) ?? '', /Can’t reach the server.*Code no_answer/s)
    await page.unroute('**/authorization/v1/permissions')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Read the audit trail').waitFor()
    await context.close()
  })

  test('renews an expired token in the background', async () => {
    const { context, page } = await consoleBrowser.open()
    await page.clock.install()
    await consoleBrowser.signIn(page)
    const renewal = page.waitForRequest((request) => request.postData()?.includes('grant_type=refresh_token') ?? false)
    await page.clock.fastForward('01:00:00')
    await openAccount(page)
    await renewal
    await page.getByText('Read the audit trail').waitFor()
    await context.close()
  })

  async function openAccount(page: Page): Promise<void> {
    await clickAsPerson(page.getByTitle('Account menu'))
    await clickAsPerson(page.getByRole('menuitem', { name: 'Your account' }))
  }

  test('navigation, account menu and command palette can be used with the keyboard alone', async () => {
    const { context, page } = await consoleBrowser.open()
    await consoleBrowser.signIn(page)
    const reached: string[] = []
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    for (let presses = 0; presses < 8; presses++) {
      await page.keyboard.press('Tab')
      reached.push(await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200) ?? ''))
    }
    for (const pattern of [/class="skip"/, /search-button/, /account-button/, /ix-menu/]) {
      assert.ok(
        reached.some((each) => pattern.test(each)),
        `${pattern} is not reached: ${reached.join('\n')}`,
      )
    }
    await page.keyboard.press('Control+k')
    await page.keyboard.type('passw')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    await page.getByTitle('Account menu').press('Enter')
    await page.keyboard.press('d')
    await page.keyboard.press('Enter')
    await page.locator('html[data-ix-color-schema=dark]').waitFor()
    await context.close()
  })

  test('stores the theme and language of a user on the server for every browser', async () => {
    const { context, page } = await consoleBrowser.open()
    await consoleBrowser.signIn(page, { path: '/account' })
    const kept = page.waitForResponse((response) => response.url().endsWith('/preferences/language'))
    await clickAsPerson(page.getByTitle('Account menu'))
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Passwort ändern' }).waitFor()
    assert.equal((await kept).status(), 204)
    await context.close()
    const elsewhere = await consoleBrowser.open()
    await consoleBrowser.signIn(elsewhere.page, { path: '/account' })
    await elsewhere.page.getByRole('heading', { name: 'Passwort ändern' }).waitFor()
    assert.equal(await elsewhere.page.locator('html').getAttribute('lang'), 'de')
    const back = elsewhere.page.waitForResponse((response) => response.url().endsWith('/preferences/language'))
    await elsewhere.page.getByTitle('Kontomenü').click()
    await elsewhere.page.getByRole('menuitemradio', { name: 'English' }).click()
    await back
    await elsewhere.context.close()
  })

  test('shows the sign-in page and errors in German when the browser language is German', async () => {
    const { context, page } = await consoleBrowser.open({ locale: 'de-DE' })
    await page.goto('/console/assets')
    await page.getByRole('button', { name: 'Anmelden' }).click()
    await page.getByLabel('Benutzername').fill(jane.name)
    await page.getByLabel('Passwort').fill('not the one')
    await page.getByRole('button', { name: 'Anmelden' }).click()
    assert.equal(await page.getByRole('alert').textContent(), 'Benutzername oder Passwort falsch.')
    await assertAccessible(page, 'sign in, German')
    await page.getByLabel('Passwort').fill(jane.password)
    await page.getByRole('button', { name: 'Anmelden' }).click()
    await mainHeading(page).waitFor()
    await page.goto('/console/assets?filter=nmae%20eq%201')
    const notice = page.getByRole('alert')
    await notice.getByText('Unbekannte Eigenschaft').waitFor()
    assert.match((await notice.locator('[lang=en]').textContent()) ?? '', /Unknown property "nmae"/)
    await context.close()
  })

  test('the console is accessible in light and dark mode, on a desktop and on a phone', async () => {
    const { context, page } = await consoleBrowser.open()
    await page.goto('/')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await assertAxeCleanEverywhere(page, 'signed out')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('Password').waitFor()
    await assertAccessibleEverywhere(page, 'sign in')
    await consoleBrowser.signIn(page, { path: '/account' })
    await page.getByText('Read the audit trail').waitFor()
    await page.getByLabel('Current password').fill('wrong')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.locator('.field-error').waitFor()
    await assertAxeCleanEverywhere(page, 'account')
    await clickAsPerson(page.getByTitle('Account menu'))
    await assertAxeCleanEverywhere(page, 'menu')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await assertAxeCleanEverywhere(page, 'command palette')
    await page.goto('/docs/problems')
    await assertAccessibleEverywhere(page, 'problem codes')
    await context.close()
  })

  test('redirects the console from localhost to the configured address', async () => {
    const { context, page } = await consoleBrowser.open()
    await page.goto(`http://localhost:${new URL(platform.baseUrl).port}/console/account`)
    await page.getByText('Sign in to open').waitFor()
    assert.equal(page.url(), `${platform.baseUrl}/console/account`)
    await context.close()
  })

  test('changes the password and ends all other sessions', async () => {
    const elsewhere = await consoleBrowser.open()
    await elsewhere.page.clock.install()
    await consoleBrowser.signIn(elsewhere.page)
    const { context, page } = await consoleBrowser.open()
    await consoleBrowser.signIn(page, { path: '/account' })
    const next = `a new ${plantedWord} for the console`
    await change(page, { current: adminPassword().password, next: 'short' })
    await page.getByText('Use at least 12 characters.').waitFor()
    await change(page, { current: 'something else', next })
    await page.getByText('The current password is wrong.').waitFor()
    await change(page, { current: adminPassword().password, next })
    await page.getByText('Password changed.').first().waitFor()

    // The start page polls the platform, so it detects that its session has ended.
    await elsewhere.page.clock.fastForward('01:00:00')
    await elsewhere.page.locator('main').getByText('Your session has ended.').waitFor()
    await elsewhere.page.getByRole('button', { name: 'Sign in' }).click()
    await submitSignIn(elsewhere.page, adminPassword())
    await elsewhere.page.getByText('Wrong user name or password.').waitFor()
    await submitSignIn(elsewhere.page, { name: 'admin', password: next })
    await mainHeading(elsewhere.page).waitFor()
    await elsewhere.context.close()
    await context.close()
  })

  async function change(page: Page, { current, next }: { current: string; next: string }): Promise<void> {
    await page.getByLabel('Current password').fill(current)
    await page.getByLabel('New password').fill(next)
    await page.getByRole('button', { name: 'Change password' }).click()
  }

  test('requires a new sign-in in every browser window after sign-out', async () => {
    const { context, page } = await consoleBrowser.open()
    await consoleBrowser.signIn(page, { user: jane })
    const second = await context.newPage()
    await second.goto('/console/account')
    await second.getByRole('heading', { name: 'Change your password' }).waitFor()

    await signOut(page)
    await page.locator('main').getByText('You are signed out.').waitFor()
    await second.locator('main').getByText('You signed out in another window.').waitFor()
    await page.goto('/console/account')
    await page.getByText('Sign in to open').waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await submitSignIn(page, jane)
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    await context.close()
  })

  test('shows the API reference and executes an operation in it', async () => {
    const { context, page } = await consoleBrowser.open()
    await page.goto('/docs')
    await page.getByText('Read the account of the token').first().click()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.getByText('Response Status: Unauthorized (401)').waitFor()
    await context.close()
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
