import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import type { Browser, Page } from 'playwright-core'
import { assertAccessible, assertAccessibleEverywhere } from './accessibility.ts'
import { openBrowser } from './browser.ts'
import {
  assertAxeCleanEverywhere,
  type ConsoleBrowser,
  consoleOf,
  follow,
  mainHeading,
  navigationTo,
  routeUntil,
  signOut,
  submitSignIn,
} from './console.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder } from './platform.ts'
import { clickAsPerson } from './reachability.ts'

/** Jane is a user without any role. */
const jane = { name: 'jane', password: `the ${plantedWord} of a user` }
/** The path at which the administrator signs in. */
const deepLink = '/account?from=a-link#here'

describe('the console in a browser', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let janeId: string
  /** The page of a visitor who never signs in. */
  let visitorPage: Page
  /** The page of the administrator. */
  let page: Page
  /** The page of the administrator in another browser, with a clock that tests can set. */
  let clockPage: Page
  let janePage: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), announced()])
    consoleBrowser = consoleOf(platform, browser)
    const admin = await callerOf(platform)
    const made = await admin.identity.createUser({ body: { data: { ...jane, displayName: 'Jane Doe' } } })
    janeId = made.data.id
    ;({ page: visitorPage } = await consoleBrowser.open())
    ;({ page } = await consoleBrowser.open())
    await consoleBrowser.signIn(page, { path: deepLink })
    ;({ page: clockPage } = await consoleBrowser.open())
    await clockPage.clock.install()
    await consoleBrowser.signIn(clockPage)
    ;({ page: janePage } = await consoleBrowser.open())
    await consoleBrowser.signIn(janePage, { user: jane, path: '/account' })
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
    await visitorPage.goto('/')
    await visitorPage.getByRole('heading', { level: 1 }).waitFor()
    assert.match(
      (await visitorPage.locator('main').textContent()) ?? '',
      /industrial asset management.*first-run\.json/s,
    )
    assert.equal(await visitorPage.getByRole('link', { name: 'Documentation' }).first().getAttribute('href'), '/docs')
    assert.equal(await visitorPage.getByRole('link', { name: 'API reference' }).getAttribute('href'), '/docs/api')
    assert.equal(await visitorPage.getByRole('link', { name: 'Problem codes' }).getAttribute('href'), '/docs/problems')
  })

  test('rejects a wrong password, and shows user and permissions after sign-in', async () => {
    const { context, page: freshPage } = await consoleBrowser.open()
    await freshPage.goto('/console/account')
    await freshPage.getByRole('button', { name: 'Sign in' }).click()
    await submitSignIn(freshPage, { name: 'admin', password: 'not the one' })
    assert.equal(await freshPage.getByRole('alert').textContent(), 'Wrong user name or password.')
    await submitSignIn(freshPage, adminPassword())
    await freshPage.getByRole('heading', { name: 'My account', level: 1 }).waitFor()
    await freshPage.getByText('Administrator: all permissions.').waitFor()
    await freshPage.locator('summary').filter({ hasText: 'Administration' }).click()
    await freshPage.getByText('Manage users, service accounts, roles, access groups and grants').waitFor()
    const profile = await freshPage.locator('.key-values .key-value').allTextContents()
    assert.deepEqual(profile, ['NameAdministrator', 'User nameadmin@default', 'Tenantdefault', 'Rolesadministrator'])
    assert.equal(freshPage.url(), `${platform.baseUrl}/console/account`, 'the authorization code is still in the URL')
    await context.close()
  })

  test('stores no token in the browser, and stays signed in after a reload', async () => {
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    )
    const [local, session, cookie] = JSON.parse(kept)
    assert.deepEqual([local, cookie], [{ 'millwright.signed-in': 'yes', 'millwright.theme': 'system' }, ''])
    assert.doesNotMatch(JSON.stringify(session), /token|eyJ/i)
    await page.reload()
    await page.getByRole('heading', { name: 'Your permissions' }).waitFor()
    assert.equal(page.url(), `${platform.baseUrl}/console${deepLink}`, 'the deep link is lost during sign-in')
  })

  test('rejects a sign-in response that this browser did not request', async () => {
    await visitorPage.goto('/auth/callback?code=stolen&state=guessed')
    assert.match(
      (await visitorPage.getByRole('alert').textContent()) ?? '',
      /This sign-in was not started in this browser/,
    )
    await visitorPage.getByRole('button', { name: 'Try again' }).click()
    await visitorPage.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  test('hides assets from a user without permission, and explains why when a page is opened directly', async () => {
    const admin = await callerOf(platform)
    await janePage.getByText('You have no roles.').waitFor()
    await janePage.goto('/console/assets')
    await janePage.getByText('inventory_read_asset_data').waitFor()
    await janePage
      .getByText('Ask an administrator of the tenant default to assign you a role with one of these permissions.')
      .waitFor()
    assert.equal(await navigationTo(janePage, 'Assets').count(), 0)
    await follow(janePage, '/nowhere')
    await janePage.getByRole('heading', { name: 'Page not found' }).waitFor()
    await admin.authorization.createGrant({ body: { data: { principal: janeId, role: 'viewer' } } })
    await janePage.goto('/console/account')
    await showPermission(janePage, 'Read assets')
    await navigationTo(janePage, 'Assets').waitFor()
  })

  test('shows the code of a failed request, and retries the request', onlyInLongRuns, async () => {
    const allowRequests = await routeUntil(page, '**/authorization/v1/permissions', (route) => route.abort())
    await page.goto('/console/account')
    const notice = page.getByRole('alert')
    await notice.waitFor()
    assert.match((await notice.textContent()) ?? '', /Can’t reach the server.*Code no_answer/s)
    allowRequests()
    await page.getByRole('button', { name: 'Try again' }).click()
    await showPermission(page, 'Read the audit trail')
  })

  test('renews an expired token in the background', async () => {
    const renewal = clockPage.waitForRequest(
      (request) => request.postData()?.includes('grant_type=refresh_token') ?? false,
    )
    await clockPage.clock.fastForward('01:00:00')
    await clickAsPerson(clockPage.getByTitle('Account menu'))
    await clickAsPerson(clockPage.getByRole('menuitem', { name: 'My account' }))
    await renewal
    await showPermission(clockPage, 'Read the audit trail')
  })

  test('navigation, account menu and command palette can be used with the keyboard alone', async () => {
    // A reload starts the order of the Tab key at the first element.
    await page.goto('/console/')
    await mainHeading(page).waitFor()
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
    await page.getByRole('heading', { name: 'Your permissions' }).waitFor()
    await page.getByTitle('Account menu').press('Enter')
    await page.keyboard.press('d')
    await page.keyboard.press('Enter')
    await page.locator('html[data-ix-color-schema=dark]').waitFor()
    await clickAsPerson(page.getByTitle('Account menu'))
    await clickAsPerson(page.getByRole('menuitemradio', { name: 'System' }))
    await page.locator('html[data-ix-color-schema=light]').waitFor()
    await clickAsPerson(page.getByTitle('Account menu'))
    await mainHeading(page).focus()
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
  })

  test('stores the theme and language of a user on the server for every browser', onlyInLongRuns, async () => {
    await follow(page, '/account')
    const kept = page.waitForResponse((response) => response.url().endsWith('/preferences/language'))
    await clickAsPerson(page.getByTitle('Account menu'))
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Ihre Berechtigungen' }).waitFor()
    assert.equal((await kept).status(), 204)
    const elsewhere = await consoleBrowser.open()
    await consoleBrowser.signIn(elsewhere.page, { path: '/account' })
    await elsewhere.page.getByRole('heading', { name: 'Ihre Berechtigungen' }).waitFor()
    assert.equal(await elsewhere.page.locator('html').getAttribute('lang'), 'de')
    await elsewhere.context.close()
    const back = page.waitForResponse((response) => response.url().endsWith('/preferences/language'))
    await page.getByTitle('Kontomenü').click()
    await page.getByRole('menuitemradio', { name: 'English' }).click()
    await back
  })

  test('shows the sign-in page and errors in German when the browser language is German', async () => {
    const { context, page: germanPage } = await consoleBrowser.open({ locale: 'de-DE' })
    await germanPage.goto('/console/assets')
    await germanPage.getByRole('button', { name: 'Anmelden' }).click()
    await germanPage.getByLabel('Benutzername').fill(jane.name)
    await germanPage.getByLabel('Passwort').fill('not the one')
    await germanPage.getByRole('button', { name: 'Anmelden' }).click()
    assert.equal(await germanPage.getByRole('alert').textContent(), 'Benutzername oder Passwort falsch.')
    await assertAccessible(germanPage, 'sign in, German')
    await germanPage.getByLabel('Passwort').fill(jane.password)
    await germanPage.getByRole('button', { name: 'Anmelden' }).click()
    await mainHeading(germanPage).waitFor()
    await follow(germanPage, '/assets?filter=nmae%20eq%201')
    const notice = germanPage.getByRole('alert')
    await notice.getByText('Unbekannte Eigenschaft').waitFor()
    assert.match((await notice.locator('[lang=en]').textContent()) ?? '', /Unknown property "nmae"/)
    await context.close()
  })

  test('the console is accessible in light and dark mode, on a desktop and on a phone', onlyInLongRuns, async () => {
    await visitorPage.goto('/')
    await visitorPage.getByRole('button', { name: 'Sign in' }).waitFor()
    await assertAxeCleanEverywhere(visitorPage, 'signed out')
    await visitorPage.getByRole('button', { name: 'Sign in' }).click()
    await visitorPage.getByLabel('Password').waitFor()
    await assertAccessibleEverywhere(visitorPage, 'sign in')
    await visitorPage.goto('/docs/problems')
    await assertAccessibleEverywhere(visitorPage, 'problem codes')
    await follow(page, '/account')
    await showPermission(page, 'Read the audit trail')
    await assertAxeCleanEverywhere(page, 'account')
    await follow(page, '/account?view=security')
    await page.getByLabel('Current password').fill('wrong')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.locator('.field-error').waitFor()
    await assertAxeCleanEverywhere(page, 'security of the account')
    await clickAsPerson(page.getByTitle('Account menu'))
    await assertAxeCleanEverywhere(page, 'menu')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await assertAxeCleanEverywhere(page, 'command palette')
    await page.keyboard.press('Escape')
    await follow(page, '/')
  })

  test('redirects the console from localhost to the configured address', async () => {
    await visitorPage.goto(`http://localhost:${new URL(platform.baseUrl).port}/console/account`)
    await visitorPage.getByText('Sign in to open').waitFor()
    assert.equal(visitorPage.url(), `${platform.baseUrl}/console/account`)
  })

  test(
    'all tabs of a user share one event stream, and another tab continues it when its tab is closed',
    onlyInLongRuns,
    async () => {
      const { context, page: first } = await consoleBrowser.open()
      const streams: string[] = []
      context.on('request', (request) => {
        if (new URL(request.url()).pathname === '/events/v1/stream') streams.push(request.method())
      })
      await consoleBrowser.signIn(first)
      const tabs: Page[] = []
      // A browser opens at most six connections to a server. Without a shared stream, the last tab shows no data.
      for (let tab = 0; tab < 6; tab++) {
        const opened = await context.newPage()
        await opened.goto('/console/access')
        await opened.getByRole('heading', { name: 'Access', exact: true }).waitFor()
        await opened.locator('.live-indicator[data-state="live"]').waitFor()
        tabs.push(opened)
      }
      assert.equal(streams.length, 1)

      await first.close()
      const admin = await callerOf(platform)
      await admin.identity.createUser({
        body: { data: { name: 'late', password: jane.password, displayName: 'Late User' } },
      })
      for (const tab of tabs) await tab.getByText('Late User').waitFor()
      assert.equal(streams.length, 2)
      await context.close()
    },
  )

  test('changes the password and ends all other sessions', async () => {
    await follow(clockPage, '/')
    await follow(page, '/account?view=security')
    const next = `a new ${plantedWord} for the console`
    await change({ current: adminPassword().password, next: 'short' })
    await page.getByText('Use at least 12 characters.').waitFor()
    await change({ current: 'something else', next })
    await page.getByText('The current password is wrong.').waitFor()
    await change({ current: adminPassword().password, next })
    await page.getByText('Password changed.').first().waitFor()

    // The start page polls the platform, so it detects that its session has ended.
    await clockPage.clock.fastForward('01:00:00')
    await clockPage.locator('main').getByText('Your session has ended.').waitFor()
    await clockPage.getByRole('button', { name: 'Sign in' }).click()
    await submitSignIn(clockPage, adminPassword())
    await clockPage.getByText('Wrong user name or password.').waitFor()
    await submitSignIn(clockPage, { name: 'admin', password: next })
    await mainHeading(clockPage).waitFor()
  })

  /** Opens the area of a permission on the account page. */
  async function showPermission(onPage: Page, name: string): Promise<void> {
    const area = onPage.locator('.permission-area').filter({ has: onPage.getByText(name) })
    await area.locator('summary').click()
    await area.getByText(name).waitFor()
  }

  async function change({ current, next }: { current: string; next: string }): Promise<void> {
    await page.getByLabel('Current password').fill(current)
    await page.getByLabel('New password').fill(next)
    await page.getByRole('button', { name: 'Change password' }).click()
  }

  test('requires a new sign-in in every browser window after sign-out', onlyInLongRuns, async () => {
    const second = await janePage.context().newPage()
    await second.goto('/console/account')
    await second.getByRole('heading', { name: 'Your permissions' }).waitFor()

    await signOut(janePage)
    await janePage.locator('main').getByText('You are signed out.').waitFor()
    await second.locator('main').getByText('You signed out in another window.').waitFor()
    await janePage.goto('/console/account')
    await janePage.getByText('Sign in to open').waitFor()
    await janePage.getByRole('button', { name: 'Sign in' }).click()
    await submitSignIn(janePage, jane)
    await janePage.getByRole('heading', { name: 'Your permissions' }).waitFor()
  })

  test('shows the API reference and executes an operation in it', onlyInLongRuns, async () => {
    await visitorPage.goto('/docs/api')
    await visitorPage.getByText('Read the account of the token').first().click()
    await visitorPage.getByRole('button', { name: 'Execute' }).click()
    await visitorPage.getByText('Response Status: Unauthorized (401)').waitFor()
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
