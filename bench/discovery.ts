import { setTimeout } from 'node:timers/promises'
import type { BenchOptions } from './options.ts'
import { withHome } from './platform-process.ts'
import type { Report, Row } from './report.ts'
import { type Part, type ShopFloor, startShopFloor } from './shop-floor.ts'

const devices = 10_000
const goalSeconds = 20
const pollMs = 20

/**
 * Measures the time from the request of a discovery to its last asset. The platform, a gateway and a simulated plant
 * run on one machine.
 */
export async function discover({ profile }: BenchOptions): Promise<Report> {
  return withHome(async (home) => {
    await using floor = await startShopFloor({ home, profile })
    const first = await scan(floor, { seed: '1' })
    const again = await scan(floor, { seed: '1', tick: '1' })
    return {
      title: `discovery: ${devices.toLocaleString('en')} devices, from the request to the last asset`,
      rows: [
        { scan: 'first scan of a plant', ...first },
        { scan: 'second scan of the same plant', ...again },
      ],
      goals: [
        {
          goal: `${devices} devices take less than ${goalSeconds} s`,
          found: `${first.seconds.toFixed(1)} s`,
          reached: first.seconds < goalSeconds,
        },
        {
          goal: 'a job is picked up within one second',
          found: `${Math.round(first['picked up after ms'])} ms`,
          reached: first['picked up after ms'] < 1_000,
        },
      ],
    }
  })
}

export async function scan(floor: ShopFloor, options: Record<string, string>) {
  const { caller, gatewayId, assetLinkId } = floor
  const allOptions = { size: String(devices), protected_percent: '0', ...options }
  const discoveryOptions = Object.entries(allOptions).map(([key, value]) => ({ key, value }))
  const cpuBefore = floor.cpu()
  const startedAt = performance.now()
  const { jobId } = await caller.discovery.createDiscovery({
    params: { gatewayId },
    body: { data: { assetLinkId, discoveryOptions } },
  })
  let pickedUpAt: number | undefined
  for (;;) {
    const { data } = await caller.discovery.getDiscovery({ params: { jobId } })
    if (data.state !== 'created') pickedUpAt ??= performance.now()
    if (data.state === 'failed' || data.state === 'canceled')
      throw new Error(`The discovery ended as ${data.state}: ${data.message}`)
    if (data.state === 'finished') {
      const seconds = (performance.now() - startedAt) / 1000
      const pickedUpMs = (pickedUpAt ?? startedAt) - startedAt
      const { found, errors } = data
      const cost = costs(cpuBefore, floor.cpu(), found)
      return { found, errors, seconds, 'devices/s': found / seconds, 'picked up after ms': pickedUpMs, ...cost }
    }
    await setTimeout(pickedUpAt === undefined ? pollMs : pollMs * 10)
  }
}

/**
 * Returns the processor time per found device for each part of the shop floor. Other load of the machine does not
 * affect this time.
 */
function costs(before: Record<Part, number>, after: Record<Part, number>, found: number): Row {
  const parts = Object.keys(before) as Part[]
  return Object.fromEntries(parts.map((part) => [`${part} µs`, (after[part] - before[part]) / found]))
}
