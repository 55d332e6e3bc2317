import type { Report } from '../report.ts'
import type { Demand } from './demand.ts'
import { type Capacity, capacityOf, type Inputs, largestShare, type Saturation, saturations } from './model.ts'

/** `Answer` is the result of the model for one demand: the machines, and the limits in the order in which they fill. */
export type Answer = { name: string; demand: Demand; capacity: Capacity; limits: Saturation[] }

export function answerOf(name: string, inputs: Inputs): Answer {
  return { name, demand: inputs.demand, capacity: capacityOf(inputs), limits: saturations(inputs) }
}

/** Returns the answer as a report: a table of the machines, and a line for each limit. */
export function reportOf({ name, demand, capacity, limits }: Answer): Report {
  const { tenants, assets, gateways, users } = demand
  const of = [
    `${count(tenants)} tenants`,
    `${count(assets)} assets`,
    `${count(gateways)} gateways`,
    `${count(users)} users`,
  ].join(', ')
  return {
    title: `${name}: ${of}`,
    rows: [
      { resource: 'platform processes', amount: count(capacity.processes), detail: 'with one spare process' },
      { resource: 'processor of all processes', amount: `${short(capacity.processCores)} cores`, detail: '' },
      { resource: 'memory of each process', amount: `${short(capacity.processMebibytes)} MiB`, detail: '' },
      { resource: 'database nodes', amount: count(capacity.workers), detail: nodesDetail(capacity) },
      { resource: 'processor of the database', amount: `${short(capacity.databaseCores)} cores`, detail: '' },
      { resource: 'memory of the database', amount: `${short(capacity.databaseGibibytes)} GiB`, detail: '' },
      { resource: 'disk of the database', amount: disk(capacity.diskGigabytes), detail: 'with all copies' },
      { resource: 'write-ahead log', amount: `${short(capacity.logMegabytes)} MB/s`, detail: 'at the peak' },
      { resource: 'statements', amount: `${count(capacity.statements)} /s`, detail: 'at the peak' },
      { resource: 'network to clients', amount: `${short(capacity.clientGigabits)} Gbit/s`, detail: 'at the peak' },
      ...largestWork(capacity).map(([work, rate]) => ({
        resource: `rate of ${work}`,
        amount: `${count(rate)} /s`,
        detail: '',
      })),
    ],
    goals: limits.map((limit) => ({
      goal: `${limit.name}: at most ${short(limit.capacity)} ${limit.unit}`,
      found: `${short(limit.used)}, ${fullAt(limit.share)}`,
      reached: limit.used <= limit.capacity,
    })),
  }
}

/** Returns a sentence with the limit that fills first and the design step that raises it. */
export function firstLimit({ limits }: Answer): string {
  const [first] = limits
  if (first === undefined) return 'No limit is known.'
  return `Saturates first: ${first.name}, at ${percent(first.share)} of this demand. Next step: ${first.nextStep}.`
}

/** Returns the answers as a table for the documentation. */
export function markdownTable(answers: readonly Answer[]): string {
  const columns: Record<string, (answer: Answer) => string> = {
    Goal: ({ name }) => name,
    Processes: ({ capacity }) =>
      `${count(capacity.processes)} (${short(capacity.processCores)} cores, ${short(capacity.processMebibytes)} MiB each)`,
    'Database nodes': ({ capacity }) => `${count(capacity.workers)} (for ${capacity.workersFor})`,
    'Database CPU': ({ capacity }) => `${short(capacity.databaseCores)} cores`,
    'Database memory': ({ capacity }) => `${short(capacity.databaseGibibytes)} GiB`,
    'Disk, two copies': ({ capacity }) => disk(capacity.diskGigabytes),
    Network: ({ capacity }) => `${short(capacity.clientGigabits)} Gbit/s`,
    'Saturates first': ({ limits: [first] }) =>
      first === undefined ? '' : `${first.name}, at ${percent(first.share)}`,
  }
  const lines = [
    Object.keys(columns),
    Object.keys(columns).map(() => '---'),
    ...answers.map((answer) => Object.values(columns).map((cell) => cell(answer))),
  ]
  return lines.map((cells) => `|${cells.map((cell) => (cell === '---' ? cell : ` ${cell} `)).join('|')}|`).join('\n')
}

const tableOfAnswers = /\| Goal \|[^\n]*\n(?:\|[^\n]*\n)+/

/** Replaces the table of the answers in the page of the documentation. Throws if the page has no such table. */
export function replaceTable(page: string, table: string): string {
  if (!tableOfAnswers.test(page)) throw new TypeError('The page has no table that starts with the column Goal')
  return page.replace(tableOfAnswers, () => `${table}\n`)
}

function nodesDetail({ workers, workersFor }: Capacity): string {
  return workers === 1 ? 'one PostgreSQL server' : `workers of a Citus cluster, because of the ${workersFor}`
}

const shownWorks = 4

/** Returns the work with the highest rates. */
function largestWork({ rates }: Capacity): [string, number][] {
  return Object.entries(rates)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, shownWorks)
}

function disk(gigabytes: number): string {
  return gigabytes >= 1_000 ? `${short(gigabytes / 1_000)} TB` : `${short(gigabytes)} GB`
}

/** Returns when a limit is full. The model does not search above a thousand times the demand. */
export function fullAt(share: number): string {
  return share < largestShare ? `full at ${percent(share)} of this demand` : 'not full at a thousand times this demand'
}

export function percent(share: number): string {
  return `${short(share * 100)} %`
}

function count(value: number): string {
  return Math.ceil(Number(value.toPrecision(3))).toLocaleString('en')
}

function short(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en')
}
