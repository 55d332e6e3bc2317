import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { inConsole, type Open } from './console-page.ts'
import { median } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import type { Report, Row } from './report.ts'

const changesPerSecond = 5
const changedAssets = 200
const sampleMs = 60_000
const mebibyte = 1024 * 1024
/** The part of the run that is not compared, because the pages fill their caches. */
const warmUpShare = 0.2
/** The allowed growth of the memory after the warm-up: a share, and a fixed part for the noise of small heaps. */
const growth = { share: 0.1, mebibytes: 2 }

type Sample = { heap: number; nodes: number; listeners: number }
type Observed = { path: string; page: Page; samples: Sample[]; measure(): Promise<Sample> }

/**
 * Measures the memory of pages that stay open while assets change: `npm run bench console-events -- --minutes 60`. Each
 * sample is taken after a garbage collection.
 */
export function consoleEvents(options: BenchOptions): Promise<Report> {
  return inConsole(options, async (open) => {
    const { data } = await open.api.listAssets({ query: { limit: 100 } })
    const ids = data.map(({ id }) => String(id)).slice(0, changedAssets)
    const paths = ['/', '/assets', '/activity', '/topology', `/assets/${ids[0]}`]
    const observed = await Promise.all(paths.map((path) => observe(open, path)))
    const endsAt = performance.now() + options.minutes * 60_000
    let changes = 0
    const change = async () => {
      for (let at = 0; performance.now() < endsAt; at++) {
        const id = ids[at % ids.length] ?? ''
        await open.api.setName({ params: { id }, body: { data: { name: `Device ${at}` } } })
        changes++
        await delay(1000 / changesPerSecond)
      }
    }
    const sample = async () => {
      while (performance.now() < endsAt) {
        for (const each of observed) each.samples.push(await each.measure())
        await delay(Math.min(sampleMs, Math.max(0, endsAt - performance.now())))
      }
      for (const each of observed) each.samples.push(await each.measure())
    }
    await Promise.all([change(), sample()])
    const rows = observed.map(row)
    return {
      title: `console: memory of open pages during ${options.minutes} minutes and ${changes} changes of assets`,
      rows,
      goals: observed.map(goal),
    }
  })
}

/** Opens a page of the console in a new tab. */
async function observe({ page: first }: Open, path: string): Promise<Observed> {
  const page = await first.context().newPage()
  await page.goto(`/console${path}`)
  await page.locator('ix-application h1').waitFor()
  const protocol = await page.context().newCDPSession(page)
  const measure = async () => {
    await protocol.send('HeapProfiler.collectGarbage')
    const { usedSize } = await protocol.send('Runtime.getHeapUsage')
    const { nodes, jsEventListeners } = await protocol.send('Memory.getDOMCounters')
    return { heap: usedSize / mebibyte, nodes, listeners: jsEventListeners }
  }
  return { path: path.replace(/[0-9a-f-]{36}/, '{id}'), page, samples: [], measure }
}

/** Returns the medians of the samples directly after the warm-up and at the end of the run. */
function compared({ samples }: Observed, field: keyof Sample): { before: number; after: number } {
  const warm = samples.slice(Math.floor(samples.length * warmUpShare))
  const some = Math.max(1, Math.floor(warm.length / 4))
  const middle = (part: Sample[]) => median(part.map((each) => each[field]))
  return { before: middle(warm.slice(0, some)), after: middle(warm.slice(-some)) }
}

function row(observed: Observed): Row {
  const [heap, nodes, listeners] = (['heap', 'nodes', 'listeners'] as const).map((field) => compared(observed, field))
  return {
    page: observed.path,
    samples: observed.samples.length,
    'MiB after the warm-up': heap?.before ?? 0,
    'MiB at the end': heap?.after ?? 0,
    'nodes after the warm-up': nodes?.before ?? 0,
    'nodes at the end': nodes?.after ?? 0,
    'listeners after the warm-up': listeners?.before ?? 0,
    'listeners at the end': listeners?.after ?? 0,
  }
}

function goal(observed: Observed) {
  const { before, after } = compared(observed, 'heap')
  const allowed = before * (1 + growth.share) + growth.mebibytes
  return {
    goal: `the memory of ${observed.path} stays below ${allowed.toFixed(1)} MiB`,
    found: `${after.toFixed(1)} MiB`,
    reached: after <= allowed,
  }
}
