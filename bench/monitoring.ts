import { setTimeout } from 'node:timers/promises'
import { scan } from './discovery.ts'
import type { BenchOptions } from './options.ts'
import { withHome } from './platform-process.ts'
import type { Report, Row } from './report.ts'
import { type Part, type ShopFloor, startShopFloor } from './shop-floor.ts'

const devices = 5_000
/** The interval at which all devices are checked, and the number of processor cores for everything. */
const intervalSeconds = 300
const cores = 2
const pollMs = 200

/**
 * Measures runs of a monitoring of all devices of a plant. The platform, a gateway and a simulated plant run on one machine. In the
 * second run nothing has changed. In the third run, some devices do not respond.
 */
export async function monitoring({ profile }: BenchOptions): Promise<Report> {
  return withHome(async (home) => {
    await using floor = await startShopFloor({ home, profile })
    const size = String(devices)
    await scan(floor, { size, seed: '1' })
    const { data } = await floor.caller.monitoring.createMonitoring({
      body: {
        data: {
          name: 'Plant',
          targets: { filter: `functional_object_type eq 'Device'` },
          keys: ['diagnostics'],
          schedule: { cron: '0 0 1 1 *' },
        },
      },
    })
    const first = await run(floor, data.id)
    const second = await run(floor, data.id)
    await scan(floor, { size, seed: '1', silent_percent: '5' })
    const third = await run(floor, data.id)
    const share = ({ cpuSeconds }: Measured) => (100 * cpuSeconds) / (intervalSeconds * cores)
    return {
      title: `monitoring: ${devices.toLocaleString('en')} devices, from the request of a run to its last result`,
      rows: [
        { run: 'first run', ...first.row },
        { run: 'nothing changed', ...second.row },
        { run: '5 % of the devices do not respond', ...third.row },
      ],
      goals: [
        {
          goal: `${devices} devices every ${intervalSeconds / 60} minutes on ${cores} cores: a run takes less than ${intervalSeconds} s`,
          found: `${third.seconds.toFixed(1)} s`,
          reached: Math.max(first.seconds, second.seconds, third.seconds) < intervalSeconds,
        },
        {
          goal: `all parts together use less than a quarter of ${cores} cores`,
          found: `${share(second).toFixed(1)} %`,
          reached: share(second) < 25,
        },
      ],
    }
  })
}

type Measured = { row: Row; seconds: number; cpuSeconds: number }

async function run({ caller, cpu }: ShopFloor, id: string): Promise<Measured> {
  const before = cpu()
  const startedAt = performance.now()
  await caller.monitoring.runMonitoring({ params: { id } })
  for (;;) {
    const { latestRun } = (await caller.monitoring.readMonitoring({ params: { id } })).data
    if (latestRun?.state === 'failed') throw new Error(`The run failed: ${latestRun.message}`)
    if (latestRun?.state === 'finished') {
      const seconds = (performance.now() - startedAt) / 1000
      const { targets = 0, reached = 0, failed = 0, unknown = 0, changed = 0 } = latestRun.counts ?? {}
      const after = cpu()
      const micros = (part: Part) => after[part] - before[part]
      const parts = Object.keys(before) as Part[]
      const cost = Object.fromEntries(parts.map((part) => [`${part} µs`, micros(part) / targets]))
      const row = { targets, reached, failed, unknown, changed, seconds, 'devices/s': targets / seconds, ...cost }
      return { row, seconds, cpuSeconds: parts.reduce((sum, part) => sum + micros(part), 0) / 1e6 }
    }
    await setTimeout(pollMs)
  }
}
