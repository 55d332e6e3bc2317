import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import {
  assertAxeClean,
  assertAxeCleanEverywhere,
  type ConsoleBrowser,
  consoleOf,
  follow,
  narrow,
  wide,
} from './console.ts'
import { type Platform, startPlatform, temporaryFolder } from './platform.ts'
import { clickAsPerson } from './reachability.ts'

const phone = { width: 390, height: 844 }

describe('the documentation on the platform', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    ;({ page } = await consoleBrowser.open())
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const search = () => page.getByRole('combobox', { name: 'Search the documentation' })
  const heading = (name: string) => page.getByRole('heading', { level: 1, name })

  test('opens a guide from the start page, the navigation, and the links to the next and previous page', async () => {
    await page.goto('/docs')
    await clickAsPerson(page.locator('.card').getByRole('link', { name: 'Discover devices' }))
    await heading('Discover devices').waitFor()
    await clickAsPerson(
      page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Monitor devices' }),
    )
    await heading('Monitor devices').waitFor()
    await clickAsPerson(page.getByRole('link', { name: 'Previous' }))
    await heading('Review new devices').waitFor()
    await clickAsPerson(page.getByRole('link', { name: 'Next' }))
    await heading('Monitor devices').waitFor()
    await clickAsPerson(page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Limits' }))
    assert.equal(new URL(page.url()).hash, '#limits')
    const { y = -1 } = (await page.locator('#limits').boundingBox()) ?? {}
    assert.ok(y > 50 && y < 300, `the section is at ${y}`)
  })

  test('searches with the keyboard only', async () => {
    await page.goto('/docs/glossary')
    await page.keyboard.press('/')
    await page.keyboard.type('profinet')
    const [first] = await Promise.all([page.getByRole('option').first(), page.getByRole('option').first().waitFor()])
    assert.equal(await first.getAttribute('aria-selected'), 'true')
    assert.equal(await search().getAttribute('aria-activedescendant'), await first.getAttribute('id'))
    await assertAxeClean(page, 'search results')
    await page.keyboard.press('ArrowDown')
    assert.equal(await page.getByRole('option').nth(1).getAttribute('aria-selected'), 'true')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/links\/profinet/)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('xyzzyplugh')
    await page.locator('.result-none').waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await search().getAttribute('aria-expanded'), 'false')
  })

  test('the pages are accessible in light and dark mode, on a desktop and on a phone', async () => {
    for (const path of [
      '/docs',
      '/docs/how-to/discover-devices',
      '/docs/reference/api',
      '/docs/problems',
      '/docs/nothing',
    ]) {
      await page.goto(path)
      await assertAxeCleanEverywhere(page, path)
    }
  })

  test('opens navigation and table of contents as menus on a phone, without horizontal scrolling', async () => {
    for (const viewport of [phone, narrow]) {
      await page.setViewportSize(viewport)
      await page.goto('/docs/how-to/monitor-devices')
      await clickAsPerson(page.getByRole('button', { name: 'On this page' }))
      await clickAsPerson(page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Limits' }))
      await page.getByRole('navigation', { name: 'On this page' }).waitFor({ state: 'hidden' })
      await clickAsPerson(page.getByRole('button', { name: 'Menu' }))
      await assertAxeClean(page, `menu, ${viewport.width} pixels`)
      await clickAsPerson(
        page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Discover devices' }),
      )
      await heading('Discover devices').waitFor()
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(overflow <= 0, `${overflow} pixels`)
    }
    await page.setViewportSize(wide)
  })

  test('copies only the commands of a terminal', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto('/docs/how-to/receive-events')
    const block = page.locator('.code').filter({ hasText: '$ millwright profiles use' })
    await block.hover()
    await clickAsPerson(block.getByRole('button', { name: 'Copy' }))
    await block.getByText('Copied').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.match(copied, /^millwright /)
    assert.doesNotMatch(copied, /^\$/m)
  })

  test('shows the pictures of a page', async () => {
    await page.goto('/docs/reference/workflows', { waitUntil: 'load' })
    const widths = await page
      .locator('article img')
      .evaluateAll((images) => images.map((image) => (image instanceof HTMLImageElement ? image.naturalWidth : 0)))
    assert.ok(widths.length >= 4 && widths.every((width) => width > 100), widths.join())
  })

  test('prints only the text of a page', async () => {
    await page.goto('/docs/how-to/monitor-devices')
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.getByRole('navigation').count(), 0)
    assert.equal(await search().isVisible(), false)
    await page.emulateMedia({ media: 'screen' })
  })

  test('opens an operation of the API reference at its former address', async () => {
    await page.goto('/docs#?route=get-/oauth/userinfo')
    await page.waitForURL((url) => url.pathname === '/docs/api')
    assert.match(new URL(page.url()).hash, /route=/)
  })

  test('"?" in the console opens the page that describes the current view, also in the German console', async () => {
    await consoleBrowser.signIn(page, { path: '/updates?view=trust' })
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      clickAsPerson(page.getByRole('link', { name: 'Help for this page' })),
    ])
    await opened.getByRole('heading', { level: 1, name: 'Update devices' }).waitFor()
    assert.equal(new URL(opened.url()).hash, '#trust-a-signer')
    await opened.close()

    await follow(page, '/inbox')
    const [byKey] = await Promise.all([page.context().waitForEvent('page'), page.keyboard.press('?')])
    await byKey.getByRole('heading', { level: 1, name: 'Review new devices' }).waitFor()
    await byKey.close()
    await follow(page, '/assets')
    await page.getByRole('searchbox').or(page.getByRole('textbox')).first().focus()
    await page.keyboard.press('?')
    assert.equal(page.context().pages().length, 1)

    const { context, page: germanPage } = await consoleBrowser.open({ locale: 'de-DE' })
    await germanPage.goto('/console/inbox')
    await germanPage.getByRole('button', { name: 'Anmelden' }).click()
    await germanPage.getByLabel('Benutzername').fill(platform.access.adminUser)
    await germanPage.getByLabel('Passwort').fill(platform.access.adminPassword)
    await germanPage.getByRole('button', { name: 'Anmelden' }).click()
    const help = germanPage.getByRole('link', { name: 'Hilfe zu dieser Seite' })
    assert.equal(await help.getAttribute('href'), '/docs/how-to/review-new-devices')
    await context.close()
  })

  test('the documentation has the theme that the user has chosen in the console', async () => {
    await follow(page, '/account')
    await clickAsPerson(page.getByTitle('Account menu'))
    await clickAsPerson(page.getByRole('menuitemradio', { name: 'Dark' }))
    await page.locator('html[data-ix-color-schema="dark"]').waitFor()
    const docs = await page.context().newPage()
    await docs.goto('/docs')
    assert.equal(await docs.locator('html').getAttribute('data-theme'), 'dark')
    assert.equal(await docs.evaluate(() => getComputedStyle(document.body).colorScheme), 'dark')
    await docs.close()
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
