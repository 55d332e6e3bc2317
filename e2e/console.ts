import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page, Route } from 'playwright-core'
import { type Platform, until } from './platform.ts'
import { clickAsPerson, watchReachability } from './reachability.ts'
import { stepTimeoutMs } from './time-limit.ts'

/** This file signs users in to the console in a real browser, for tests and pictures of any page. */

export const wide = { width: 1280, height: 800 }
/** The narrow viewport. WCAG 1.4.10 requires that a page at this width scrolls in one direction only. */
export const narrow = { width: 320, height: 640 }

export type SignInInput = { name: string; password: string }

export type OpenPage = { context: BrowserContext; page: Page }

export type ConsoleBrowser = {
  /**
   * The violations on any page: violations of the content security policy, uncaught errors, requests to other hosts,
   * and controls that the mouse cannot reach.
   */
  readonly violations: string[]
  open(options?: BrowserContextOptions): Promise<OpenPage>
  /** Signs in and opens a path below `/console`. The default user is the administrator of the first start. */
  signIn(page: Page, options?: { user?: SignInInput; path?: string }): Promise<void>
}

type PlatformAccess = Pick<Platform, 'baseUrl' | 'access'>

export function consoleOf(platform: PlatformAccess, browser: Browser): ConsoleBrowser {
  const violations: string[] = []
  return {
    violations,
    async open(options = {}) {
      const context = await browser.newContext({
        viewport: wide,
        baseURL: platform.baseUrl,
        locale: 'en-GB',
        reducedMotion: 'reduce',
        ...options,
      })
      context.setDefaultTimeout(stepTimeoutMs)
      watchViolations(context, violations)
      await watchReachability(context)
      return { context, page: await context.newPage() }
    },
    async signIn(page, { user, path = '/' } = {}) {
      const { adminUser, adminPassword } = platform.access
      await page.goto(`/console${path}`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await submitSignIn(page, user ?? { name: adminUser, password: adminPassword })
      await mainHeading(page).waitFor()
    },
  }
}

function watchViolations(context: BrowserContext, violations: string[]): void {
  context.on('console', (message) => {
    if (/Content Security Policy|Trusted(HTML|Script)|Uncaught/.test(message.text())) violations.push(message.text())
  })
  context.on('weberror', (error) => violations.push(String(error.error())))
  context.on('request', (request) => {
    if (!/^(https?:\/\/(127\.0\.0\.1|localhost):|data:|blob:)/.test(request.url())) violations.push(request.url())
  })
}

/** Returns the main heading of the page. It is shown only after the user has signed in. */
export function mainHeading(page: Page) {
  return page.locator('ix-application h1').first()
}

/** Returns the navigation entry of an area. */
export function navigationTo(page: Page, title: string) {
  return page.locator('ix-menu-item').filter({ hasText: title })
}

/**
 * Opens a path below `/console` without a reload, as a link in the console does. Waits until the former page is gone,
 * if it is another page and not only another view of the same page.
 */
export async function follow(page: Page, path: string): Promise<void> {
  const url = new URL(`/console${path}`, page.url())
  const isOther = url.pathname !== new URL(page.url()).pathname
  const former = await mainHeading(page).elementHandle()
  await page.evaluate((target) => history.pushState(null, '', target), url.href)
  if (isOther) await former?.waitForElementState('hidden')
}

/** Waits until a button or field is disabled. The components of the page change it shortly after its text. */
export function untilDisabled(control: Locator): Promise<void> {
  return until(`${control} is disabled`, () => control.isDisabled(), stepTimeoutMs)
}

/** Fills in and submits the sign-in page. */
export async function submitSignIn(page: Page, { name, password }: SignInInput): Promise<void> {
  await page.getByLabel('User name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

export async function signOut(page: Page): Promise<void> {
  await clickAsPerson(page.getByTitle('Account menu'))
  await clickAsPerson(page.getByRole('menuitem', { name: 'Sign out' }))
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type AxeResult = { violations: { id: string; help: string; nodes: { target: unknown; failureSummary?: string }[] }[] }

/**
 * Checks the current page in light and dark mode, and on a phone. Only the contrast depends on the mode, and it does not
 * depend on the width, so each rule is checked only where its result can differ.
 */
export async function assertAxeCleanEverywhere(page: Page, where: string): Promise<void> {
  await assertAxeClean(page, `${where}, light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await assertAxeClean(page, `${where}, dark`, 'contrast')
  await page.setViewportSize(narrow)
  // A table that becomes wider than the page gets its keyboard access in the next frame.
  await layoutSettled(page)
  await assertAxeClean(page, `${where}, phone`, 'all but contrast')
  await page.setViewportSize(wide)
  await page.emulateMedia({ colorScheme: 'light' })
  await layoutSettled(page)
}

/** Waits until the page has the same layout for several frames, for example after the size of the window changed. */
async function layoutSettled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    const layout = () =>
      [...document.querySelectorAll('main *')]
        .slice(0, 300)
        .map((element) => Object.values(element.getBoundingClientRect().toJSON()).join())
        .join(' ')
    let before = ''
    // An animation that never ends does not delay the test for longer than this number of frames.
    for (let frames = 0, same = 0; same < 5 && frames < 120; frames++) {
      await nextFrame()
      const now = layout()
      same = now === before ? same + 1 : 0
      before = now
    }
  })
}

/**
 * Waits until the button of the navigation is drawn. After a change of the window size, its attributes are on the wrong element
 * for a moment.
 */
async function navigationDrawn(page: Page): Promise<void> {
  const isDrawn = () => {
    const icon = document.querySelector('ix-menu')?.shadowRoot?.querySelector('ix-menu-expand-icon')
    const button = icon?.shadowRoot?.querySelector('ix-icon-button') ?? icon?.querySelector('ix-icon-button')
    return button?.hasAttribute('aria-expanded') !== true
  }
  await page.waitForFunction(isDrawn, undefined, { timeout: 2_000 }).catch(() => {})
}

/** Checks the current page against WCAG 2.2 AA with axe, and checks that the page does not scroll horizontally. */
export async function assertAxeClean(
  page: Page,
  where: string,
  rules: 'all' | 'contrast' | 'all but contrast' = 'all',
): Promise<void> {
  await navigationDrawn(page)
  // The content security policy rejects a script element, so the test evaluates the source of axe once per load.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  const contrast = 'color-contrast'
  const runOnly = rules === 'contrast' ? { type: 'rule', values: [contrast] } : { type: 'tag', values: tags }
  const { violations } = await page.evaluate(
    (options): Promise<AxeResult> => {
      const { axe } = globalThis as unknown as {
        axe: { run(root: Document | Element, options: object): Promise<AxeResult> }
      }
      // The page below a modal dialog is not available to the user, and was checked before the dialog opened.
      return axe.run([...document.querySelectorAll('dialog[open]')].at(-1) ?? document, options)
    },
    { runOnly, resultTypes: ['violations'], rules: { [contrast]: { enabled: rules !== 'all but contrast' } } },
  )
  const faults = violations.map(({ id, help, nodes }) => ({
    id,
    help,
    nodes: nodes.slice(0, 3).map(({ target, failureSummary }) => `${JSON.stringify(target)}: ${failureSummary}`),
  }))
  assert.deepEqual(faults, [], where)
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.ok(overflow <= 0, `${where}: the page is ${overflow} pixels too wide`)
}

/**
 * Handles matching requests until the returned function is called. They are then sent unchanged. The route is not removed,
 * because a request that starts at that moment could stay without a response.
 */
export async function routeUntil(page: Page, url: string | RegExp, handle: (route: Route) => Promise<void>) {
  let isOver = false
  await page.route(url, (route) => (isOver ? route.fallback() : handle(route)))
  return () => {
    isOver = true
  }
}
