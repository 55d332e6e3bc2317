import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { Platform } from './platform.ts'
import { clickAsPerson, watchReachability } from './reachability.ts'

/** People at the console, in a real browser: for tests and pictures of any page. */

/** A page that is there at once on a quick machine takes its time on one that does five other things. */
const patienceMs = 90_000

export const wide = { width: 1280, height: 800 }
/** WCAG 1.4.10: no scrolling in two directions at this width. */
export const narrow = { width: 320, height: 640 }

export type Typed = { name: string; password: string }

export type Visitor = { context: BrowserContext; page: Page }

export type Door = {
  /** What no page may do: violate its own policy, throw, call another host, or show a control that the mouse cannot reach. */
  readonly offences: string[]
  visit(options?: BrowserContextOptions): Promise<Visitor>
  /** Somebody who is inside, at a path below `/console`; the administrator of the first start unless said otherwise. */
  enter(page: Page, options?: { person?: Typed; path?: string }): Promise<void>
}

type Baseline = Pick<Platform, 'baseUrl' | 'access'>

export function consoleOf(platform: Baseline, browser: Browser): Door {
  const offences: string[] = []
  return {
    offences,
    async visit(options = {}) {
      const context = await browser.newContext({
        viewport: wide,
        baseURL: platform.baseUrl,
        locale: 'en-GB',
        reducedMotion: 'reduce',
        ...options,
      })
      context.setDefaultTimeout(patienceMs)
      watchFor(context, offences)
      await watchReachability(context)
      return { context, page: await context.newPage() }
    },
    async enter(page, { person, path = '/' } = {}) {
      const { adminUser, adminPassword } = platform.access
      await page.goto(`/console${path}`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await typeAt(page, person ?? { name: adminUser, password: adminPassword })
      await insideOf(page).waitFor()
    },
  }
}

function watchFor(context: BrowserContext, offences: string[]): void {
  context.on('console', (message) => {
    if (/Content Security Policy|Trusted(HTML|Script)|Uncaught/.test(message.text())) offences.push(message.text())
  })
  context.on('weberror', (error) => offences.push(String(error.error())))
  context.on('request', (request) => {
    if (!/^(https?:\/\/(127\.0\.0\.1|localhost):|data:|blob:)/.test(request.url())) offences.push(request.url())
  })
}

/** What only somebody who is signed in sees. */
export function insideOf(page: Page) {
  return page.locator('ix-application h1').first()
}

/** The entry of an area in the navigation. */
export function navigationTo(page: Page, title: string) {
  return page.locator('ix-menu-item').filter({ hasText: title })
}

/** Fills in the sign-in page. */
export async function typeAt(page: Page, { name, password }: Typed): Promise<void> {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

export async function signOut(page: Page): Promise<void> {
  await clickAsPerson(page.getByTitle('Account and menu'))
  await clickAsPerson(page.getByRole('menuitem', { name: 'Sign out' }))
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type AxeResult = { violations: { id: string; help: string; nodes: { target: unknown; failureSummary?: string }[] }[] }

/** What WCAG 2.2 AA asks and axe can see, in the page as it stands; and that nothing has to be scrolled sideways. */
export async function assertAxeClean(page: Page, where: string): Promise<void> {
  // Not by a script element, which the page's policy would refuse.
  await page.evaluate(`(() => { if (!globalThis.axe) { ${axe} } })()`)
  const { violations } = await page.evaluate(async (): Promise<AxeResult> => {
    const { axe } = globalThis as unknown as { axe: { run(root: Document, options: object): Promise<AxeResult> } }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    return axe.run(document, { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })
  })
  const told = violations.map(({ id, help, nodes }) => ({
    id,
    help,
    nodes: nodes.slice(0, 3).map(({ target, failureSummary }) => `${JSON.stringify(target)}: ${failureSummary}`),
  }))
  assert.deepEqual(told, [], where)
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.ok(overflow <= 0, `${where}: it is ${overflow} pixels too wide`)
}
