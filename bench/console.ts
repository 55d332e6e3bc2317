import type { Page } from 'playwright-core'
import { blockingGoal, inConsole, tasksDuring } from './console-page.ts'
import { median } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import type { Report, Row } from './report.ts'

const firstRowsGoalMs = 1_000
const openings = 5
const wheelSteps = 200
const jumps = 12

/**
 * Measures the table of assets in a browser: the time until the first rows are visible, and whether scrolling blocks
 * the page. `npm run bench console -- --assets 1000000 --home <folder>` preserves the plant for the next run.
 */
export function consoleTable(options: BenchOptions): Promise<Report> {
  return inConsole(options, async (open, assets) => {
    const { page } = open
    const opened: number[] = []
    for (let round = 0; round < openings; round++) opened.push(await openTable(page))
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
    const firstRows = median(opened)
    return {
      title: `console: the table of ${assets} assets in a browser`,
      rows,
      goals: [
        {
          goal: `the first rows are visible within ${firstRowsGoalMs} ms`,
          found: `${firstRows.toFixed(0)} ms`,
          reached: firstRows < firstRowsGoalMs,
        },
        blockingGoal('while scrolling', rows.slice(1)),
      ],
    }
  })
}

/** Measures from a click in the navigation until rows with names are visible. */
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
