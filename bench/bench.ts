import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { keepChart } from './chart.ts'
import { consoleTable } from './console.ts'
import { consoleEvents } from './console-events.ts'
import { coordinator } from './coordinator.ts'
import { costs } from './costs.ts'
import { credentials } from './credentials.ts'
import { discover } from './discovery.ts'
import { disk } from './disk.ts'
import { fairness } from './fairness.ts'
import { files } from './files.ts'
import { front } from './front.ts'
import { gateway } from './gateway.ts'
import { gateways } from './gateways.ts'
import { hierarchy } from './hierarchy.ts'
import { inventory } from './inventory.ts'
import { monitoring } from './monitoring.ts'
import type { BenchOptions } from './options.ts'
import { processes } from './processes.ts'
import { reads } from './reads.ts'
import { remote } from './remote.ts'
import { print, type Report } from './report.ts'
import { revocation } from './revocation.ts'
import { scan } from './scan.ts'
import { start } from './start.ts'
import { tenants } from './tenants.ts'
import { topology } from './topology.ts'
import { topologyGroups } from './topology-groups.ts'
import { updateDevices } from './updates.ts'
import { webhooks } from './webhooks.ts'

/**
 * Runs benchmarks. Examples:
 * - `npm run bench` runs all benchmarks, `npm run bench front start` runs two of them.
 * - `-- --json <path>` writes the result for programs, `-- --profile <folder>` writes CPU profiles.
 * - `npm run bench reads -- --assets 1000000 --relations 5 --home <folder>` uses a plant of another size, and the
 *   next run reuses that plant.
 * - `npm run bench coordinator -- --database <URL>` measures the coordinator of a Citus cluster on this machine.
 * - `npm run bench tenants -- --tenants 20 --assets 50000 --database <URL> --home <folder>` compares the embedded database
 *   with a given one, for example a Citus cluster.
 * - `--chart docs/figures/reads` draws the result in one chart with the results for other sizes.
 */

const benchmarks: Record<string, (options: BenchOptions) => Promise<Report>> = {
  start,
  front,
  revocation,
  inventory,
  processes,
  reads,
  discovery: discover,
  console: consoleTable,
  'console-events': consoleEvents,
  topology,
  'topology-groups': topologyGroups,
  gateways,
  gateway,
  coordinator,
  costs,
  credentials,
  disk,
  fairness,
  hierarchy,
  files,
  remote,
  scan,
  monitoring,
  updates: updateDevices,
  webhooks,
  tenants,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    profile: { type: 'string' },
    assets: { type: 'string', default: '20000' },
    relations: { type: 'string', default: '5' },
    tenants: { type: 'string', default: '4' },
    database: { type: 'string' },
    plans: { type: 'boolean', default: false },
    home: { type: 'string' },
    minutes: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    chart: { type: 'string' },
  },
})
const runnable = Object.keys(benchmarks).filter((name) => name !== 'coordinator' || values.database !== undefined)
const names = positionals.length === 0 ? runnable : positionals
const unknown = names.find((name) => !Object.hasOwn(benchmarks, name))
if (unknown !== undefined) {
  console.error(`Unknown benchmark ${unknown}. Available: ${Object.keys(benchmarks).join(', ')}.`)
  process.exit(1)
}

const { profile, home, only, database } = values
const options: BenchOptions = {
  profile,
  assets: Number(values.assets),
  relations: Number(values.relations),
  tenants: Number(values.tenants),
  database,
  plans: values.plans,
  home,
  minutes: Number(values.minutes),
  only,
}
const reports: Record<string, Report> = {}
for (const name of names) {
  const report = await benchmarks[name]?.(options)
  if (report === undefined) continue
  reports[name] = report
  console.log(print(report))
  if (values.chart !== undefined) keepChart(values.chart, { assets: options.assets, rows: report.rows })
}
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(reports, undefined, 2)}\n`)
