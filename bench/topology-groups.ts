import { mkdir } from 'node:fs/promises'
import { client, overHttp } from '@millwright/api/client.ts'
import { hierarchy as contract } from '@millwright/api/hierarchy.ts'
import { roundOf } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import { bearer, type GrownHierarchy, tokenFor, withHome, withPlatform } from './platform-process.ts'
import type { Report, Row } from './report.ts'

const seed = 1
const goalMs = 1_000
const requests = 10
const warmUps = 2

/**
 * Measures the topology in groups, by hierarchy, subnet and switch. Each request counts all assets. Example:
 * `npm run bench topology-groups -- --assets 50000 --relations 2`. With `--home`, the next run reuses the plant.
 */
export function topologyGroups({ home, ...options }: BenchOptions): Promise<Report> {
  if (home === undefined) return withHome((created) => groupsIn(created, options))
  return mkdir(home, { recursive: true }).then(() => groupsIn(home, options))
}

async function groupsIn(home: string, { assets, relations, only }: Omit<BenchOptions, 'home'>): Promise<Report> {
  return withPlatform({ home }, async (process) => {
    const token = await tokenFor(process)
    const api = client(contract, overHttp({ baseUrl: process.url, token: () => token }))
    if ((await api.listHierarchies({})).data.length === 0) {
      await process.request({ kind: 'grow a plant', size: { assets, relations, seed } })
      await api.createHierarchy({ body: { data: { name: 'Bench' } } })
    }
    const id = (await api.listHierarchies({})).data[0]?.id ?? ''
    const nodes = Math.floor(assets / 20)
    const { root } = await process.request<GrownHierarchy>({ kind: 'grow a hierarchy', hierarchyId: id, nodes })
    await process.request({ kind: 'vacuum' })
    const dayAgo = new Date(Date.now() - 86_400_000).toISOString()
    const minuteAgo = new Date(Date.now() - 60_000).toISOString()
    const workloads = {
      'by hierarchy, top level': `by=hierarchy&hierarchy=${id}`,
      'by hierarchy, inside the root': `by=hierarchy&hierarchy=${id}&parent=${root}`,
      'by subnet': 'by=subnet',
      'by switch': 'by=switch',
      'by hierarchy, changes since a day': `by=hierarchy&hierarchy=${id}&parent=${root}&since=${dayAgo}`,
      'by hierarchy, a minute ago': `by=hierarchy&hierarchy=${id}&parent=${root}&at=${minuteAgo}`,
    }
    const rows: Row[] = []
    for (const [workload, query] of Object.entries(workloads)) {
      if (!workload.includes(only)) continue
      const latencies: number[] = []
      for (let number = 0; number < warmUps + requests; number++) {
        const sentAt = performance.now()
        const response = await fetch(`${process.url}/inventory/v2/topology/groups?${query}`, { headers: bearer(token) })
        const text = await response.text()
        if (!response.ok) throw new Error(`${query} got ${response.status}: ${text}`)
        if (number >= warmUps) latencies.push(performance.now() - sentAt)
      }
      const { p50Ms, p99Ms } = roundOf(latencies, { ms: 1, cpu: 0 })
      rows.push({ workload, requests, 'p50 ms': p50Ms, 'p99 ms': p99Ms })
    }
    return {
      title: `topology groups: ${assets} assets with ${relations} relations each`,
      rows,
      goals: rows.map((row) => ({
        goal: `${row.workload}, within ${goalMs} ms`,
        found: `${Number(row['p99 ms']).toFixed(0)} ms`,
        reached: Number(row['p99 ms']) < goalMs,
      })),
    }
  })
}
