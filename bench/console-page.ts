import { mkdir } from 'node:fs/promises'
import { client, overHttp } from '@millwright/api/client.ts'
import { inventory as contract } from '@millwright/api/inventory/inventory.ts'
import { openBrowser } from '@millwright/e2e/browser.ts'
import { consoleOf } from '@millwright/e2e/console.ts'
import { buildConsole } from '@millwright/web/console-build.ts'
import type { Browser, Page } from 'playwright-core'
import type { BenchOptions } from './options.ts'
import { startPlatform, tokenFor, withHome } from './platform-process.ts'
import type { Report, Row } from './report.ts'

/**
 * This file contains the parts that the benchmarks of console pages share: they create a plant, sign a user in, and
 * measure the tasks of the page's main thread.
 */

const seed = 1
const longestTaskMs = 100
/** The age at which a token is replaced. It is shorter than the lifetime of a token. */
const renewalMs = 300_000

/** `Open` contains the page of a signed-in user, and a client of the inventory. */
export type Open = { browser: Browser; page: Page; api: Inventory }

type Inventory = ReturnType<typeof client<typeof contract>>

type Measure = (open: Open, assets: number) => Promise<Report>

export function inConsole({ home, assets, relations }: BenchOptions, measure: Measure): Promise<Report> {
  const size = { assets, relations }
  const measureIn = async (place: string) => {
    await buildConsole()
    const platform = await startPlatform({ home: place })
    try {
      const api = client(contract, overHttp({ baseUrl: platform.url, token: renewedToken(() => tokenFor(platform)) }))
      const total = (await api.listAssets({ query: { limit: 1 } })).meta.totalElements ?? 0
      if (total === 0) await platform.request({ kind: 'grow a plant', size: { ...size, seed } })
      return await asUser({ baseUrl: platform.url, access: platform.access }, (open) =>
        measure({ ...open, api }, total || size.assets),
      )
    } finally {
      await platform.stop()
    }
  }
  return home === undefined ? withHome(measureIn) : mkdir(home, { recursive: true }).then(() => measureIn(home))
}

/** Returns a function that requests a new token before the last token expires. */
function renewedToken(request: () => Promise<string>): () => Promise<string> {
  let token: Promise<string> | undefined
  let requestedAt = 0
  return () => {
    if (token === undefined || performance.now() - requestedAt > renewalMs) {
      token = request()
      requestedAt = performance.now()
    }
    return token
  }
}

async function asUser(
  platform: Parameters<typeof consoleOf>[0],
  measure: (open: Omit<Open, 'api'>) => Promise<Report>,
): Promise<Report> {
  const { browser } = await openBrowser()
  try {
    const consoleBrowser = consoleOf(platform, browser)
    const { page } = await consoleBrowser.open()
    await consoleBrowser.signIn(page)
    return await measure({ browser, page })
  } finally {
    await browser.close()
  }
}

type TraceEvent = {
  name: string
  ph: string
  pid: number
  tid: number
  dur?: number
  tdur?: number
  args?: { name?: string }
}

/**
 * Returns the processor time of every task that the page's main thread runs during an action. Time that the machine
 * spends on other programs does not count.
 */
export async function tasksDuring(
  { browser, page }: Pick<Open, 'browser' | 'page'>,
  what: string,
  act: (page: Page) => Promise<number>,
): Promise<Row> {
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline', '__metadata'] })
  const times = await act(page)
  const { traceEvents }: { traceEvents: TraceEvent[] } = JSON.parse((await browser.stopTracing()).toString())
  const mains = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
  const durations = traceEvents
    .filter(({ name, pid, tid }) => name === 'RunTask' && mains.some((main) => main.pid === pid && main.tid === tid))
    .map(({ tdur = 0 }) => tdur / 1000)
    .toSorted((one, other) => one - other)
  return {
    what,
    times,
    'CPU ms in all': durations.reduce((sum, each) => sum + each, 0),
    'longest task, CPU ms': durations.at(-1) ?? 0,
    'tasks over 50': durations.filter((duration) => duration > 50).length,
  }
}

/** Returns the goal that no task blocks the page for longer than `longestTaskMs`. */
export function blockingGoal(when: string, rows: readonly Row[]) {
  const longest = Math.max(...rows.map((row) => Number(row['longest task, CPU ms'])))
  return {
    goal: `the page is not blocked for more than ${longestTaskMs} ms ${when}`,
    found: `${longest.toFixed(0)} ms`,
    reached: longest <= longestTaskMs,
  }
}
