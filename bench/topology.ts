import type { Page } from 'playwright-core'
import { blockingGoal, inConsole, tasksDuring } from './console-page.ts'
import type { BenchOptions } from './options.ts'
import type { Report, Row } from './report.ts'

const patienceMs = 300_000
const rounds = 10
const openedGroups = 5
const readyMs = 2_000

/**
 * Measures the map of the topology in a browser: the time until all assets are drawn, and whether the page responds while
 * the user pans, zooms and opens groups. `npm run bench topology -- --assets 5000 --relations 2`.
 */
export function topology(options: BenchOptions): Promise<Report> {
  return inConsole(options, async (open, assets) => {
    const startedAt = performance.now()
    const opened = await tasksDuring(open, 'open the map', openMap)
    const shownAt = performance.now()
    const all = await tasksDuring(open, `show all ${assets} assets`, showAll)
    const allMs = performance.now() - shownAt
    const rows: Row[] = [
      { ...opened, ms: shownAt - startedAt },
      { ...all, ms: allMs },
      { ...(await tasksDuring(open, 'zoom and move', panAndZoom)), ms: '' },
      { ...(await tasksDuring(open, 'open groups', openGroups)), ms: '' },
    ]
    return {
      title: `topology: a map of ${assets} assets in a browser, drawn without a graphics processor`,
      rows,
      goals: [
        {
          goal: `${assets} assets are drawn within ${readyMs} ms`,
          found: `${allMs.toFixed(0)} ms`,
          reached: allMs < readyMs,
        },
        blockingGoal('in use', rows.slice(2)),
      ],
    }
  })
}

async function openMap(page: Page): Promise<number> {
  await page.goto('/console/topology')
  await page.locator('.map-canvas[data-drawn]').waitFor({ timeout: patienceMs })
  return 1
}

/** Shows all assets, and waits until at least as many items are drawn. */
async function showAll(page: Page): Promise<number> {
  await page.getByLabel('Show all assets').check()
  await page.waitForFunction(
    () => Number(document.querySelector<HTMLElement>('.map-canvas')?.dataset.drawn ?? 0) > 1_000,
    undefined,
    { timeout: patienceMs },
  )
  return 1
}

async function panAndZoom(page: Page): Promise<number> {
  const picture = await page.locator('.map-canvas').boundingBox()
  const [x, y] = [(picture?.x ?? 0) + 300, (picture?.y ?? 0) + 200]
  for (let round = 0; round < rounds; round++) {
    await page.mouse.move(x, y)
    await page.mouse.wheel(0, round % 2 === 0 ? -400 : 400)
    await page.mouse.down()
    await page.mouse.move(x + 60, y + 40, { steps: 6 })
    await page.mouse.up()
  }
  return rounds
}

async function openGroups(page: Page): Promise<number> {
  for (let round = 0; round < openedGroups; round++) {
    await page.locator('.map-list [role=row][data-index]').nth(round).click()
    await page.locator('.map-places').getByRole('button').first().click()
  }
  return openedGroups
}
