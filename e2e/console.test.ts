import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { assertAccessible } from './accessibility.ts'
import { openBrowser } from './browser.ts'
import { callerOf, type Platform, startPlatform, temporaryFolder, tokenOf } from './platform.ts'

/** Somebody without any right. */
const jane = { name: 'jane', password: `the ${plantedWord} of somebody` }

const patienceMs = 15_000
const wide = { width: 1280, height: 800 }
/** WCAG 1.4.10: no scrolling in two directions at this width. */
const narrow = { width: 320, height: 640 }

describe('the console in a browser', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let janeId: string
  /** Things no page may do: break its own policy, throw, or ask somebody else for something. */
  const offences: string[] = []

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), announced()])
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

  async function visit(options: BrowserContextOptions = {}): Promise<{ context: BrowserContext; page: Page }> {
    const context = await browser.newContext({ viewport: wide, baseURL: platform.baseUrl, ...options })
    context.setDefaultTimeout(patienceMs)
    context.on('console', (message) => {
      if (/Content Security Policy|TrustedHTML|Uncaught/.test(message.text())) offences.push(message.text())
    })
    context.on('weberror', (error) => offences.push(String(error.error())))
    context.on('request', (request) => {
      if (!/^(https?:\/\/(127\.0\.0\.1|localhost):|data:|blob:)/.test(request.url())) offences.push(request.url())
    })
    return { context, page: await context.newPage() }
  }

  const adminPassword = () => ({ name: platform.access.adminUser, password: platform.access.adminPassword })

  async function type(page: Page, { name, password }: { name: string; password: string }): Promise<void> {
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  async function enter(page: Page, person = adminPassword(), hash = ''): Promise<void> {
    await page.goto(`/${hash}`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await type(page, person)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  }

  test('says what this is and where the first password is', async () => {
    const { context, page } = await visit()
    await page.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.match((await page.locator('main').textContent()) ?? '', /industrial asset management.*first-run\.json/s)
    assert.equal(await page.getByRole('link', { name: 'API reference' }).first().getAttribute('href'), '/docs')
    assert.equal(await page.getByRole('link', { name: 'Problem codes' }).getAttribute('href'), '/docs/problems')
    await context.close()
  })

  test('a wrong password is told, the right one shows who one is and what one may do', async () => {
    const { context, page } = await visit()
    await page.goto('/')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await type(page, { name: 'admin', password: 'not the one' })
    assert.equal(await page.getByRole('alert').textContent(), 'The name or the password is not right.')
    await type(page, adminPassword())
    await page.getByRole('heading', { name: 'Administrator', level: 1 }).waitFor()
    await page.getByText('Manage users, server users, roles, access groups and grants').waitFor()
    const facts = await page.locator('.facts > *').allTextContents()
    assert.deepEqual(facts, ['Name', 'admin@default', 'Tenant', 'default', 'Roles', 'administrator'])
    assert.equal(page.url(), `${platform.baseUrl}/`, 'the code is not left in the address')
    await context.close()
  })

  test('keeps tokens where no reload, script or thief of storage finds them, and survives a reload', async () => {
    const { context, page } = await visit()
    await enter(page, adminPassword(), '#/password')
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    )
    assert.equal(kept, '[{"millwright.signed-in":"yes"},{},""]')
    await page.reload()
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    await context.close()
  })

  test('an answer to a sign-in that was not begun here is refused', async () => {
    const { context, page } = await visit()
    await page.goto('/auth/callback?code=stolen&state=guessed')
    assert.match((await page.getByRole('alert').textContent()) ?? '', /This sign-in was not started here/)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await context.close()
  })

  test('a server user is created, its credentials are downloaded once and get a token', async () => {
    const { context, page } = await visit()
    await enter(page)
    await page.getByRole('link', { name: 'Users and programs' }).click()
    await page.getByRole('button', { name: 'Create server user' }).click()
    await page.getByText('Enter a name.').waitFor()
    await page.getByLabel('Name').fill('line 7 import')
    await page.getByLabel('Role in the whole tenant').selectOption('operator')
    await page.getByRole('button', { name: 'Create server user' }).click()
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download credentials' }).click()
    const download = await downloading
    assert.equal(download.suggestedFilename(), 'millwright-line-7-import.json')
    const credentials = JSON.parse(readFileSync(await download.path(), 'utf8'))
    assert.deepEqual(
      { baseUrl: credentials.baseUrl, tokenUrl: credentials.tokenUrl, tenant: credentials.tenant },
      { baseUrl: platform.baseUrl, tokenUrl: `${platform.baseUrl}/oauth/token`, tenant: 'default' },
    )
    const caller = await callerOf(platform, await tokenOf(platform.baseUrl, credentials))
    assert.deepEqual((await caller.identity.userInfo({})).roles, ['operator'])

    await page.getByRole('button', { name: 'Done' }).click()
    assert.equal(await page.getByText(credentials.clientSecret).count(), 0)
    await page.locator('.rows').getByText(credentials.clientId).waitFor()
    await page.getByLabel('Name').fill('line 7 import')
    await page.getByRole('button', { name: 'Create server user' }).click()
    await page.locator('.field-error:visible').waitFor()
    assert.equal(await page.getByLabel('Name').getAttribute('aria-invalid'), 'true')
    await context.close()
  })

  test('who may not manage access is not offered to', async () => {
    const admin = await callerOf(platform)
    const { context, page } = await visit()
    await enter(page, jane)
    await page.getByText('you hold no role').waitFor()
    await admin.authorization.createGrant({ body: { data: { principal: janeId, role: 'viewer' } } })
    await page.reload()
    await page.getByText('Read assets').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Users and programs' }).count(), 0)
    await page.goto('/#/access')
    await page.getByText('needs the permission glb_access_manage').waitFor()
    await page.goto('/#/nowhere')
    await page.getByText('There is nothing here').waitFor()
    await context.close()
  })

  test('what does not work is told with its code, and can be tried again', async () => {
    const { context, page } = await visit()
    await page.route('**/authorization/v1/permissions', (route) => route.abort())
    await enter(page)
    const notice = page.getByRole('alert')
    assert.match((await await notice.textContent()) ?? '', /The platform does not answer.*Code no_answer/s)
    await page.unroute('**/authorization/v1/permissions')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Read the audit trail').waitFor()
    await context.close()
  })

  test('a token that runs out is renewed without anybody noticing', async () => {
    const { context, page } = await visit()
    await page.clock.install()
    await enter(page)
    const renewal = page.waitForRequest((request) => request.postData()?.includes('grant_type=refresh_token') ?? false)
    await page.clock.fastForward('01:00:00')
    await page.getByRole('link', { name: 'Users and programs' }).click()
    await renewal
    await page.getByText('first-run', { exact: true }).waitFor()
    await context.close()
  })

  test('it is usable by keyboard alone', async () => {
    const { context, page } = await visit()
    await enter(page)
    const reached = new Set<string>()
    for (let presses = 0; presses < 12; presses++) {
      await page.keyboard.press('Tab')
      const focus = await page.evaluate(() => {
        const { activeElement } = document
        if (activeElement === null || activeElement === document.body) return undefined
        return { text: activeElement.textContent?.trim() ?? '', outline: getComputedStyle(activeElement).outlineStyle }
      })
      if (focus === undefined) continue
      assert.notEqual(focus.outline, 'none', `the focus on ${focus.text} does not show`)
      reached.add(focus.text)
    }
    const places = ['Overview', 'Users and programs', 'Password', 'Sign out', 'API reference', 'Problem codes']
    assert.deepEqual(reached, new Set(['Skip to the content', 'Millwright', ...places]))
    await page.getByText('Skip to the content').press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'main')
    await context.close()
  })

  test('everybody can read it, in light and dark, on a desk and on a phone', async () => {
    for (const [colorScheme, viewport] of [
      ['light', wide],
      ['dark', wide],
      ['light', narrow],
      ['dark', narrow],
    ] as const) {
      const { context, page } = await visit({ colorScheme, viewport })
      const where = (view: string) => `${view}, ${colorScheme}, ${viewport.width} pixels`
      await page.goto('/')
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      await assertAccessible(page, where('signed out'))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByLabel('Password').waitFor()
      await assertAccessible(page, where('sign in'))
      await enter(page)
      await page.getByText('Read the audit trail').waitFor()
      await assertAccessible(page, where('overview'))
      await page.goto('/#/access')
      await page.getByRole('button', { name: 'Create server user' }).click()
      await page.locator('.rows').nth(1).waitFor()
      await assertAccessible(page, where('access'))
      await page.goto('/#/password')
      await page.getByLabel('Current password').fill('wrong')
      await page.getByLabel('New password').fill('short')
      await page.getByRole('button', { name: 'Change password' }).click()
      await page.locator('.field-error:visible').waitFor()
      await assertAccessible(page, where('password'))
      await page.goto('/docs/problems')
      await assertAccessible(page, where('problem codes'))
      await context.close()
    }
  })

  test('localhost is put right, because signing in works at one address only', async () => {
    const { context, page } = await visit()
    await page.goto(`http://localhost:${new URL(platform.baseUrl).port}/#/password`)
    await page.getByText('Sign in to open').waitFor()
    assert.equal(page.url(), `${platform.baseUrl}/#/password`)
    await context.close()
  })

  test('the password is changed, which ends the sessions elsewhere', async () => {
    const elsewhere = await visit()
    await elsewhere.page.clock.install()
    await enter(elsewhere.page)
    const { context, page } = await visit()
    await enter(page, adminPassword(), '#/password')
    const next = `a new ${plantedWord} for the door`
    await change(page, { current: adminPassword().password, next: 'short' })
    await page.getByText('Use at least 12 characters.').waitFor()
    await change(page, { current: 'something else', next })
    await page.getByText('The current password is not right.').waitFor()
    await change(page, { current: adminPassword().password, next })
    await page.getByText('Your password is changed.').first().waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('Read the audit trail').waitFor()

    await elsewhere.page.clock.fastForward('01:00:00')
    await elsewhere.page.getByRole('link', { name: 'Users and programs' }).click()
    await elsewhere.page.locator('main').getByText('Your session has ended.').waitFor()
    await elsewhere.page.getByRole('button', { name: 'Sign in' }).click()
    await type(elsewhere.page, adminPassword())
    await elsewhere.page.getByText('The name or the password is not right.').waitFor()
    await type(elsewhere.page, { name: 'admin', password: next })
    await elsewhere.page.getByRole('heading', { name: 'Users and programs' }).waitFor()
    await elsewhere.context.close()
    await context.close()
  })

  async function change(page: Page, { current, next }: { current: string; next: string }): Promise<void> {
    await page.getByLabel('Current password').fill(current)
    await page.getByLabel('New password').fill(next)
    await page.getByRole('button', { name: 'Change password' }).click()
  }

  test('after signing out nothing opens without signing in, in no window', async () => {
    const { context, page } = await visit()
    await enter(page, jane)
    const second = await context.newPage()
    await second.goto('/#/password')
    await second.getByRole('heading', { name: 'Change your password' }).waitFor()

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.locator('main').getByText('You are signed out.').waitFor()
    await second.locator('main').getByText('You have signed out in another window.').waitFor()
    await page.goto('/#/password')
    await page.getByText('Sign in to open').waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await type(page, jane)
    await page.getByRole('heading', { name: 'Change your password' }).waitFor()
    await context.close()
  })

  test('the API reference shows every operation and tries them out', async () => {
    const { context, page } = await visit()
    await page.goto('/docs')
    await page.getByText('Who the token belongs to').first().click()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.getByText('Response Status: Unauthorized (401)').waitFor()
    await context.close()
  })

  test('no page broke its own policy, threw, or asked anybody else for anything', () => {
    assert.deepEqual(offences, [])
  })
})
