import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import type { Browser, Page } from 'playwright-core'
import { assertAccessible } from './accessibility.ts'
import { openBrowser } from './browser.ts'
import {
  assertAxeClean,
  consoleOf,
  type Door,
  insideOf,
  narrow,
  navigationTo,
  signOut,
  typeAt,
  wide,
} from './console.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder } from './platform.ts'
import { clickAsPerson } from './reachability.ts'

/** Somebody without any right. */
const jane = { name: 'jane', password: `the ${plantedWord} of somebody` }

describe('the console in a browser', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let door: Door
  let janeId: string

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), announced()])
    door = consoleOf(platform, browser)
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

  test('says what this is and where the first password is', async () => {
    const { context, page } = await door.visit()
    await page.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.match((await page.locator('main').textContent()) ?? '', /industrial asset management.*first-run\.json/s)
    assert.equal(await page.getByRole('link', { name: 'API reference' }).first().getAttribute('href'), '/docs')
    assert.equal(await page.getByRole('link', { name: 'Problem codes' }).getAttribute('href'), '/docs/problems')
    await context.close()
  })

  test('a wrong password is told, the right one shows who one is and what one may do', async () => {
    const { context, page } = await door.visit()
    await page.goto('/console/account')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await typeAt(page, { name: 'admin', password: 'not the one' })
    assert.equal(await page.getByRole('alert').textContent(), 'The name or the password is not right.')
    await typeAt(page, adminPassword())
    await page.getByRole('heading', { name: 'Administrator', level: 1 }).waitFor()
    await page.getByText('Manage users, service accounts, roles, access groups and grants').waitFor()
    const facts = await page.locator('.facts .fact').allTextContents()
    assert.deepEqual(facts, ['Nameadmin@default', 'Tenantdefault', 'Rolesadministrator'])
    assert.equal(page.url(), `${platform.baseUrl}/console/account`, 'the code is not left in the address')
    await context.close()
  })

  test('keeps tokens where no reload, script or thief of storage finds them, and survives a reload', async () => {
    const { context, page } = await door.visit()
    await door.enter(page, { path: '/account?from=a-link#here' })
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    )
    const [local, session, cookie] = JSON.parse(kept)
    assert.deepEqual([local, cookie], [{ 'millwright.signed-in': 'yes' }, ''])
    assert.doesNotMatch(JSON.stringify(session), /token|eyJ/i)
    await page.reload()
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    assert.equal(page.url(), `${platform.baseUrl}/console/account?from=a-link#here`, 'a deep link survives signing in')
    await context.close()
  })

  test('an answer to a sign-in that was not begun here is refused', async () => {
    const { context, page } = await door.visit()
    await page.goto('/auth/callback?code=stolen&state=guessed')
    assert.match((await page.getByRole('alert').textContent()) ?? '', /This sign-in was not started here/)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await context.close()
  })

  test('who may not read assets is not offered them, and a direct link says why', async () => {
    const admin = await callerOf(platform)
    const { context, page } = await door.visit()
    await door.enter(page, { person: jane, path: '/account' })
    await page.getByText('you hold no role').waitFor()
    await page.goto('/console/assets')
    await page.getByText('inventory_read_asset_data').waitFor()
    await page.getByText('An administrator of the tenant default can give it to you.').waitFor()
    assert.equal(await navigationTo(page, 'Assets').count(), 0)
    await page.goto('/console/nowhere')
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor()
    await admin.authorization.createGrant({ body: { data: { principal: janeId, role: 'viewer' } } })
    await page.goto('/console/account')
    await page.getByText('Read assets').waitFor()
    await navigationTo(page, 'Assets').waitFor()
    await context.close()
  })

  test('what does not work is told with its code, and can be tried again', async () => {
    const { context, page } = await door.visit()
    await page.route('**/authorization/v1/permissions', (route) => route.abort())
    await door.enter(page, { path: '/account' })
    const notice = page.getByRole('alert')
    await notice.waitFor()
    assert.match((await notice.textContent()) ?? '', /The platform does not answer.*Code no_answer/s)
    await page.unroute('**/authorization/v1/permissions')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Read the audit trail').waitFor()
    await context.close()
  })

  test('a token that runs out is renewed without anybody noticing', async () => {
    const { context, page } = await door.visit()
    await page.clock.install()
    await door.enter(page)
    const renewal = page.waitForRequest((request) => request.postData()?.includes('grant_type=refresh_token') ?? false)
    await page.clock.fastForward('01:00:00')
    await openAccount(page)
    await renewal
    await page.getByText('Read the audit trail').waitFor()
    await context.close()
  })

  async function openAccount(page: Page): Promise<void> {
    await clickAsPerson(page.getByTitle('Account and menu'))
    await clickAsPerson(page.getByRole('menuitem', { name: 'Your account' }))
  }

  test('pages are reached by keyboard alone: navigation, menu and command palette', async () => {
    const { context, page } = await door.visit()
    await door.enter(page)
    const reached: string[] = []
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    for (let presses = 0; presses < 8; presses++) {
      await page.keyboard.press('Tab')
      reached.push(await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200) ?? ''))
    }
    for (const wanted of [/class="skip"/, /search-button/, /account-button/, /ix-menu/]) {
      assert.ok(
        reached.some((each) => wanted.test(each)),
        `${wanted} is not reached: ${reached.join('\n')}`,
      )
    }
    await page.keyboard.press('Control+k')
    await page.keyboard.type('passw')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    await page.getByTitle('Account and menu').press('Enter')
    await page.keyboard.press('d')
    await page.keyboard.press('Enter')
    await page.locator('html[data-ix-color-schema=dark]').waitFor()
    await context.close()
  })

  test('colours and language are somebody’s own, in every browser', async () => {
    const { context, page } = await door.visit()
    await door.enter(page, { path: '/account' })
    const kept = page.waitForResponse((response) => response.url().endsWith('/preferences/language'))
    await clickAsPerson(page.getByTitle('Account and menu'))
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Passwort ändern' }).waitFor()
    assert.equal((await kept).status(), 204)
    await context.close()
    const elsewhere = await door.visit()
    await door.enter(elsewhere.page, { path: '/account' })
    await elsewhere.page.getByRole('heading', { name: 'Passwort ändern' }).waitFor()
    assert.equal(await elsewhere.page.locator('html').getAttribute('lang'), 'de')
    const back = elsewhere.page.waitForResponse((response) => response.url().endsWith('/preferences/language'))
    await elsewhere.page.getByTitle('Konto und Menü').click()
    await elsewhere.page.getByRole('menuitemradio', { name: 'English' }).click()
    await back
    await elsewhere.context.close()
  })

  test('who likes German better signs in in German, and is told in German what is wrong', async () => {
    const { context, page } = await door.visit({ locale: 'de-DE' })
    await page.goto('/console/assets')
    await page.getByRole('button', { name: 'Anmelden' }).click()
    await page.getByLabel('Name').fill(jane.name)
    await page.getByLabel('Passwort').fill('not the one')
    await page.getByRole('button', { name: 'Anmelden' }).click()
    assert.equal(await page.getByRole('alert').textContent(), 'Der Name oder das Passwort stimmt nicht.')
    await assertAccessible(page, 'sign in, German')
    await page.getByLabel('Passwort').fill(jane.password)
    await page.getByRole('button', { name: 'Anmelden' }).click()
    await insideOf(page).waitFor()
    await page.goto('/console/assets?filter=nmae%20eq%201')
    const notice = page.getByRole('alert')
    await notice.getByText('Diese Eigenschaft gibt es nicht').waitFor()
    assert.match((await notice.locator('[lang=en]').textContent()) ?? '', /There is no property "nmae"/)
    await context.close()
  })

  test('everybody can read it, in light and dark, on a desk and on a phone', async () => {
    for (const [colorScheme, viewport] of [
      ['light', wide],
      ['dark', wide],
      ['light', narrow],
      ['dark', narrow],
    ] as const) {
      const { context, page } = await door.visit({ colorScheme, viewport })
      const where = (view: string) => `${view}, ${colorScheme}, ${viewport.width} pixels`
      await page.goto('/')
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      await assertAxeClean(page, where('signed out'))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByLabel('Password').waitFor()
      await assertAccessible(page, where('sign in'))
      await door.enter(page, { path: '/account' })
      await page.getByText('Read the audit trail').waitFor()
      await page.getByLabel('Current password').fill('wrong')
      await page.getByRole('button', { name: 'Change password' }).click()
      await page.locator('.field-error').waitFor()
      await assertAxeClean(page, where('account'))
      await clickAsPerson(page.getByTitle('Account and menu'))
      await assertAxeClean(page, where('menu'))
      await page.keyboard.press('Escape')
      await page.keyboard.press('Control+k')
      await assertAxeClean(page, where('command palette'))
      await page.goto('/docs/problems')
      await assertAccessible(page, where('problem codes'))
      await context.close()
    }
  })

  test('localhost is put right, because signing in works at one address only', async () => {
    const { context, page } = await door.visit()
    await page.goto(`http://localhost:${new URL(platform.baseUrl).port}/console/account`)
    await page.getByText('Sign in to open').waitFor()
    assert.equal(page.url(), `${platform.baseUrl}/console/account`)
    await context.close()
  })

  test('the password is changed, which ends the sessions elsewhere', async () => {
    const elsewhere = await door.visit()
    await elsewhere.page.clock.install()
    await door.enter(elsewhere.page)
    const { context, page } = await door.visit()
    await door.enter(page, { path: '/account' })
    const next = `a new ${plantedWord} for the door`
    await change(page, { current: adminPassword().password, next: 'short' })
    await page.getByText('Use at least 12 characters.').waitFor()
    await change(page, { current: 'something else', next })
    await page.getByText('The current password is wrong.').waitFor()
    await change(page, { current: adminPassword().password, next })
    await page.getByText('Your password is changed.').first().waitFor()

    // The start page asks for news by itself, and hears that its session is over.
    await elsewhere.page.clock.fastForward('01:00:00')
    await elsewhere.page.locator('main').getByText('Your session has ended.').waitFor()
    await elsewhere.page.getByRole('button', { name: 'Sign in' }).click()
    await typeAt(elsewhere.page, adminPassword())
    await elsewhere.page.getByText('The name or the password is not right.').waitFor()
    await typeAt(elsewhere.page, { name: 'admin', password: next })
    await insideOf(elsewhere.page).waitFor()
    await elsewhere.context.close()
    await context.close()
  })

  async function change(page: Page, { current, next }: { current: string; next: string }): Promise<void> {
    await page.getByLabel('Current password').fill(current)
    await page.getByLabel('New password').fill(next)
    await page.getByRole('button', { name: 'Change password' }).click()
  }

  test('after signing out nothing opens without signing in, in no window', async () => {
    const { context, page } = await door.visit()
    await door.enter(page, { person: jane })
    const second = await context.newPage()
    await second.goto('/console/account')
    await second.getByRole('heading', { name: 'Change your password' }).waitFor()

    await signOut(page)
    await page.locator('main').getByText('You are signed out.').waitFor()
    await second.locator('main').getByText('You have signed out in another window.').waitFor()
    await page.goto('/console/account')
    await page.getByText('Sign in to open').waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await typeAt(page, jane)
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    await context.close()
  })

  test('the API reference shows every operation and tries them out', async () => {
    const { context, page } = await door.visit()
    await page.goto('/docs')
    await page.getByText('Who the token belongs to').first().click()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.getByText('Response Status: Unauthorized (401)').waitFor()
    await context.close()
  })

  test('no page broke its own policy, threw, or asked anybody else for anything', () => {
    assert.deepEqual(door.offences, [])
  })
})
