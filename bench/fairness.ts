import { setTimeout } from 'node:timers/promises'
import { type PlantAsset, plantAssets } from '@millwright/links/plant/generator.ts'
import type { FloodCommand, FloodResult } from './flood.ts'
import { roundOf } from './measurement.ts'
import { bearer, type PlatformProcess, type ProcessLoad, tokenFor, withHome, withPlatform } from './platform-process.ts'
import type { Goal, Report, Row } from './report.ts'
import { startWorkerProcess } from './worker-process.ts'

const ms = 10_000
const perBatch = 500
const goals = { growth: 3, megabytes: 512, healthMs: 100 } as const

type Client = { url: string; token: string }

/**
 * Measures the requests of one tenant, first alone and then while another tenant floods the platform. Both measurements
 * belong to the same run, because the other load of the machine differs from run to run.
 */
export function fairness(): Promise<Report> {
  return withHome((home) =>
    withPlatform({ home }, async (platform) => {
      const flooding = { url: platform.url, token: await tokenFor(platform) }
      const second = await platform.request<{ clientId: string; clientSecret: string }>({
        kind: 'create a second tenant',
      })
      const access = { ...platform.access, ...second }
      const measuring = { url: platform.url, token: await tokenFor({ url: platform.url, access }) }
      await platform.request({ kind: 'store an expensive schema', url: schemaUrl })
      const writes = plantWrites()
      await measure(measuring, writes)
      const alone = await measure(measuring, writes)
      const flood = await startFlood(platform, { ...flooding, callers: 16, perBatch })
      const during = await measure(measuring, writes)
      const flooded = await flood.end()
      const attack = await startFlood(platform, { ...flooding, callers: 2, perBatch: 100, schemaUrl })
      const attacked = await measure(measuring, writes)
      const attackedWith = await attack.end()
      return reportOf({ alone, during, attacked, flooded, attackedWith })
    }),
  )
}

type Measured = Record<'read' | 'write' | 'health', { count: number; p50Ms: number; p99Ms: number }>

/**
 * Runs three callers that repeat their requests: one caller reads assets, one writes assets, and one requests the
 * health of the process.
 */
async function measure({ url, token }: Client, write: () => unknown): Promise<Measured> {
  const headers = { ...bearer(token), 'content-type': 'application/json' }
  const calls = {
    read: () => fetch(`${url}/inventory/v2/assets?limit=10`, { headers }),
    write: () =>
      fetch(`${url}/inventory/v2/assets`, { method: 'POST', headers, body: JSON.stringify({ data: write() }) }),
    health: () => fetch(`${url}/healthz`),
  }
  const rounds = Object.entries(calls).map(async ([name, call]) => {
    const latencies: number[] = []
    const startedAt = performance.now()
    while (performance.now() - startedAt < ms) {
      const sentAt = performance.now()
      const response = await call()
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`${name} got ${response.status}`)
      latencies.push(performance.now() - sentAt)
    }
    return [name, roundOf(latencies, { ms: performance.now() - startedAt, cpu: 0 })]
  })
  return Object.fromEntries(await Promise.all(rounds)) as Measured
}

type Load = FloodResult & { megabytes: number }

/** Floods the platform from a separate process, and records the memory of the platform. */
async function startFlood(
  platform: PlatformProcess,
  options: Omit<Extract<FloodCommand, { kind: 'start' }>, 'kind'>,
): Promise<{ end(): Promise<Load> }> {
  const client = await startWorkerProcess<FloodCommand>('./flood.ts')
  let megabytes = 0
  let isOver = false
  const watch = async () => {
    while (!isOver) {
      megabytes = Math.max(megabytes, (await platform.request<ProcessLoad>({ kind: 'load' })).megabytes)
      await setTimeout(250)
    }
  }
  await client.request({ kind: 'start', ...options })
  const watching = watch()
  return {
    async end() {
      const found = await client.request<FloodResult>({ kind: 'stop' })
      isOver = true
      await watching
      await client.stop()
      return { ...found, megabytes }
    },
  }
}

function plantWrites(): () => { asset: unknown } {
  const next = freshAssets(7)
  return () => ({ asset: next().asset })
}

function freshAssets(seed: number): () => PlantAsset {
  const plant = plantAssets({ assets: Number.MAX_SAFE_INTEGER, seed, relations: 0 })
  return () => plant.next().value as PlantAsset
}

const schemaUrl = 'https://bench.example/expensive'

type FairnessResult = { alone: Measured; during: Measured; attacked: Measured; flooded: Load; attackedWith: Load }

function reportOf({ alone, during, attacked, flooded, attackedWith }: FairnessResult): Report {
  const rows: Row[] = [
    ...rowsOf('alone', alone),
    ...rowsOf(`while the other tenant sends batches of ${perBatch}`, during),
    ...rowsOf('while the other tenant validates with an expensive schema', attacked),
  ]
  const growth = Math.max(...(['read', 'write'] as const).map((name) => during[name].p99Ms / alone[name].p99Ms))
  const megabytes = Math.max(flooded.megabytes, attackedWith.megabytes)
  const found: Goal[] = [
    {
      goal: `the 99th percentile of the measuring tenant grows at most ${goals.growth}-fold`,
      found: `${growth.toFixed(1)}-fold; of the other tenant ${flooded.accepted} batches were accepted, ${flooded.refused} refused`,
      reached: growth <= goals.growth,
    },
    {
      goal: `the process stays below ${goals.megabytes} MiB`,
      found: `${megabytes.toFixed(0)} MiB`,
      reached: megabytes < goals.megabytes,
    },
    {
      goal: `/healthz responds within ${goals.healthMs} ms while an expensive schema is used (99th percentile)`,
      found: `${attacked.health.p99Ms.toFixed(0)} ms; alone ${alone.health.p99Ms.toFixed(0)} ms`,
      reached: attacked.health.p99Ms < goals.healthMs,
    },
  ]
  return { title: 'fairness: one tenant floods, another one measures', rows, goals: found }
}

function rowsOf(when: string, measured: Measured): Row[] {
  return Object.entries(measured).map(([request, { count, p50Ms, p99Ms }]) => ({
    when,
    request,
    requests: count,
    'p50 ms': p50Ms,
    'p99 ms': p99Ms,
  }))
}
