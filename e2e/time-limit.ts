import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'

/**
 * This file gives each step of a browser test a time limit. Playwright limits the steps that wait for an element, but not
 * those that run a function in the page, send a key, or read a downloaded file. If the browser does not respond, such a step
 * would block the test run without a message. The error of a step that waits for an element also describes the page, because
 * the cause of a rare failure cannot be found without it.
 */

/** The time limit for one step. It is long, because a busy machine needs much more time than an idle one. */
export const stepTimeoutMs = 90_000

/** Returns the result of a step. Throws an error that names the step if the step takes longer than the limit. */
export async function withinLimit<Result>(
  step: string,
  work: Promise<Result>,
  limitMs = stepTimeoutMs,
): Promise<Result> {
  // The stack of an error that is created here contains the line of the test.
  const error = new Error(`${step}: not finished within ${limitMs} ms`)
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(error), limitMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** The functions of Playwright that have no time limit. */
const unlimited = {
  browser: ['close'],
  context: ['newPage', 'addInitScript', 'close'],
  page: ['evaluate', 'evaluateHandle', 'content', 'title', 'emulateMedia', 'setViewportSize', 'close'],
  keyboard: ['press', 'type', 'insertText', 'down', 'up'],
  mouse: ['click', 'move', 'wheel', 'down', 'up'],
  download: ['path', 'saveAs'],
  locator: [
    'evaluate',
    'evaluateAll',
    'evaluateHandle',
    'count',
    'all',
    'allTextContents',
    'allInnerTexts',
    'isVisible',
  ],
} as const

type Steps = Record<string, (...input: unknown[]) => Promise<unknown>>

/** The browsers, contexts, pages and other objects whose functions have a limit already. */
const limited = new WeakSet<object>()
/** The limit of the steps of a page, for its locators. */
const limits = new WeakMap<Page, number>()

/** Limits the steps of a browser, of its contexts and of all their pages. */
export function limitSteps(browser: Browser, limitMs = stepTimeoutMs): void {
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options) => {
    const context = await withinLimit('browser.newContext', newContext(options), limitMs)
    limitContext(context, limitMs)
    return context
  }
  limit(browser, 'browser', () => limitMs)
}

function limitContext(context: BrowserContext, limitMs: number): void {
  limit(context, 'context', () => limitMs)
  context.on('page', (page) => {
    limits.set(page, limitMs)
    limit(page, 'page', () => limitMs)
    limit(page.keyboard, 'keyboard', () => limitMs)
    limit(page.mouse, 'mouse', () => limitMs)
    page.on('download', (download) => limit(download, 'download', () => limitMs))
    // Each call creates a new locator, so the functions of their class are limited.
    const locators = Object.getPrototypeOf(page.locator('html'))
    limit(locators, 'locator', (locator) => limits.get((locator as Locator).page()) ?? stepTimeoutMs)
    describePage(locators)
  })
}

function limit(target: object, kind: keyof typeof unlimited, limitOf: (object: unknown) => number): void {
  if (limited.has(target)) return
  limited.add(target)
  for (const name of unlimited[kind]) {
    const original = (target as Steps)[name]
    if (original === undefined) throw new TypeError(`Playwright has no function ${kind}.${name}`)
    ;(target as Steps)[name] = function (this: unknown, ...input) {
      const object = kind === 'locator' ? String(this) : kind
      return withinLimit(`${object}.${name}${functionText(input[0])}`, original.apply(this, input), limitOf(this))
    }
  }
}

/** The functions of a locator that wait for an element. */
const waiting = ['waitFor', 'click', 'fill', 'check', 'press', 'selectOption'] as const

/** The classes of locators whose errors describe the page already. */
const describing = new WeakSet<object>()

function describePage(locators: object): void {
  if (describing.has(locators)) return
  describing.add(locators)
  for (const name of waiting) {
    const original = (locators as Steps)[name]
    if (original === undefined) throw new TypeError(`Playwright has no function locator.${name}`)
    ;(locators as Steps)[name] = async function (this: unknown, ...input) {
      try {
        return await original.apply(this, input)
      } catch (error) {
        if (!(error instanceof Error)) throw error
        // The stack contains the message, and is printed instead of it.
        const { message, stack = message } = error
        error.message += `\nPage: ${await pageState((this as Locator).page())}`
        error.stack = stack.replace(message, () => error.message)
        throw error
      }
    }
  }
}

/** Returns the address of a page, and the start of its headings, messages and dialogs. */
async function pageState(page: Page): Promise<string> {
  const shown = () =>
    [...document.querySelectorAll('h1, h2, [role=alert], [role=status], dialog[open]')]
      .map((element) => (element.textContent ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, 200))
      .filter((text) => text !== '')
  const texts = await withinLimit('the state of the page', page.evaluate(shown), 10_000).catch(String)
  return `${page.url()} ${JSON.stringify(texts)}`
}

/** Returns the start of a function that runs in the page, so that the error names it. */
function functionText(value: unknown): string {
  return typeof value === 'function' ? `(${String(value).replaceAll(/\s+/g, ' ').slice(0, 120)})` : ''
}
