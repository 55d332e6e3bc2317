import { mkdir } from 'node:fs/promises'
import { client, overHttp } from '@millwright/api/client.ts'
import { inventory as contract } from '@millwright/api/inventory.ts'
import { openBrowser } from '@millwright/e2e/browser.ts'
import { consoleOf } from '@millwright/e2e/console.ts'
import { buildConsole } from '@millwright/web/console-build.ts'
import type { Browser, Page } from 'playwright-core'
import type { Options } from './bench.ts'
import { median } from './measuring.ts'
import { startPlatform, tokenFor, withHome } from './platform-process.ts'
import type { Report, Row } from './report.ts'

const seed = 1
const goals = { firstRowsMs: 1_000, longestTaskMs: 100 } as const
const openings = 5
const wheelSteps = 200
const jumps = 12

type Open = { browser: Browser; page: Page }

/**
 * The table of assets in a browser: how long until the first rows are there, and whether scrolling ever holds the page
 * up. `npm run bench console -- --assets 1000000 --home <folder>` keeps the plant for the next time.
 */
export function consoleTable({ home, assets, relations }: Options): Promise<Report> {
  const size = { assets, relations }
  if (home === undefined) return withHome((made) => measureIn(made, size))
  return mkdir(home, { recursive: true }).then(() => measureIn(home, size))
}

async function measureIn(home: string, size: { assets: number; relations: number }): Promise<Report> {
  await buildConsole()
  const platform = await startPlatform({ home })
  try {
    const token = await tokenFor(platform)
    const api = client(contract, overHttp({ baseUrl: platform.url, token: () => token }))
    const total = (await api.listAssets({ query: { limit: 1 } })).meta.totalElements ?? 0
    if (total === 0) await platform.ask({ kind: 'grow a plant', size: { ...size, seed } })
    return await measure({ baseUrl: platform.url, access: platform.access }, total || size.assets)
  } finally {
    await platform.stop()
  }
}

async function measure(platform: Parameters<typeof consoleOf>[0], assets: number): Promise<Report> {
  const { browser } = await openBrowser()
  try {
    const { page } = await consoleOf(platform, browser).visit()
    await consoleOf(platform, browser).enter(page)
    const opened: number[] = []
    for (let round = 0; round < openings; round++) opened.push(await openTable(page))
    const open = { browser, page }
    const rows: Row[] = [
      {
        what: 'open, until the first rows',
        times: openings,
        'median ms': median(opened),
        'most ms': Math.max(...opened),
      },
      await tasksDuring(open, 'scroll with the wheel', wheel),
      await tasksDuring(open, 'jump with the scroll bar', jump),
    ]
    const longest = Math.max(...rows.slice(1).map((row) => Number(row['longest task, CPU ms'])))
    const firstRows = median(opened)
    return {
      title: `console: the table of ${assets} assets in a browser`,
      rows,
      goals: [
        {
          goal: `the first rows are there within ${goals.firstRowsMs} ms`,
          found: `${firstRows.toFixed(0)} ms`,
          reached: firstRows < goals.firstRowsMs,
        },
        {
          goal: `nothing holds the page up for more than ${goals.longestTaskMs} ms while scrolling`,
          found: `${longest.toFixed(0)} ms`,
          reached: longest <= goals.longestTaskMs,
        },
      ],
    }
  } finally {
    await browser.close()
  }
}

/** From a click in the navigation until there are rows with names. */
async function openTable(page: Page): Promise<number> {
  await page.goto('/console/account')
  await page.locator('ix-application h1').waitFor()
  const item = page.locator('ix-menu-item').filter({ hasText: 'Assets' })
  await item.waitFor()
  return page.evaluate(async () => {
    const startedAt = performance.now()
    history.pushState(null, '', '/console/assets')
    dispatchEvent(new PopStateEvent('popstate'))
    while (document.querySelectorAll('.grid-body [role=row] a').length < 5) {
      await new Promise((resolve) => requestAnimationFrame(resolve))
    }
    return performance.now() - startedAt
  })
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
 * Every task of the page's main thread while something is done, by the time of the processor that it took: what the
 * machine gives to others meanwhile does not count.
 */
async function tasksDuring({ browser, page }: Open, what: string, act: (page: Page) => Promise<number>): Promise<Row> {
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

async function wheel(page: Page): Promise<number> {
  const table = await page.locator('.grid').boundingBox()
  await page.mouse.move((table?.x ?? 0) + 200, (table?.y ?? 0) + 200)
  for (let step = 0; step < wheelSteps; step++) {
    await page.mouse.wheel(0, 400)
    await page.waitForTimeout(16)
  }
  return wheelSteps
}

async function jump(page: Page): Promise<number> {
  for (let step = 1; step <= jumps; step++) {
    await page.evaluate(
      (share) => {
        const table = document.querySelector('.grid')
        if (table !== null) table.scrollTop = table.scrollHeight * share
      },
      step / (jumps + 1),
    )
    await page.waitForFunction(() => document.querySelectorAll('.grid-body [role=row] a').length > 5)
  }
  return jumps
}
