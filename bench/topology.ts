import type { Page } from 'playwright-core'
import { blockingGoal, inConsole, tasksDuring } from './console-page.ts'
import type { BenchOptions } from './options.ts'
import type { Report, Row } from './report.ts'

const patienceMs = 300_000
const rounds = 10
const selectedNodes = 5

/**
 * Measures the topology page in a browser: whether the page responds during the layout, and while the user pans and
 * zooms. `npm run bench topology -- --assets 5000 --relations 2`.
 */
export function topology(options: BenchOptions): Promise<Report> {
  return inConsole(options, async (open, assets) => {
    const rows: Row[] = [
      await tasksDuring(open, 'open, until the layout is complete', openGraph),
      await tasksDuring(open, 'zoom and move', panAndZoom),
      await tasksDuring(open, 'select a node and go back', selectNodes),
    ]
    return {
      title: `topology: a graph of ${assets} assets in a browser, drawn without a graphics processor`,
      rows,
      goals: [blockingGoal('in use', rows.slice(1))],
    }
  })
}

async function openGraph(page: Page): Promise<number> {
  await page.goto('/console/topology')
  await page.locator('.graph-canvas[data-settled="true"]').waitFor({ timeout: patienceMs })
  return 1
}

async function panAndZoom(page: Page): Promise<number> {
  const picture = await page.locator('.graph-canvas').boundingBox()
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

async function selectNodes(page: Page): Promise<number> {
  for (let round = 0; round < selectedNodes; round++) {
    await page.locator('.graph-side [role=row][data-index]').nth(round).click()
    await page.locator('.graph-node-back').click()
  }
  return selectedNodes
}
