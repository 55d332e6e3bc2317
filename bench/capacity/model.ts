import { inventoryLimits } from '@millwright/api/inventory/shapes.ts'
import { workflowLimits } from '@millwright/api/workflow-shapes.ts'
import { limits } from '@millwright/cloud/platform/limits.ts'
import { readCloudConfiguration } from '@millwright/cloud/settings.ts'
import type { Costs, Work } from './costs.ts'
import type { Demand, Machines } from './demand.ts'

/**
 * The capacity model multiplies the rates of all work with its measured costs. It finds the smallest number of platform
 * processes and database nodes that can do the work. Some work grows with the number of processes, because each process
 * polls for the changes of the other processes. The number of processes is therefore the smallest one that is enough
 * for the work that it causes itself.
 *
 * Resources that exist once, such as the coordinator of a cluster, do not grow with the number of machines. They are
 * `Limit`s: the model computes at which share of the demand each of them is full.
 *
 * The model contains no waiting for disks, and no time of TLS, which a load balancer is expected to do.
 */

/** The intervals and the numbers of the product that cause work. Each comment names the code that uses the figure. */
export const rules = {
  /** The agents of a gateway that poll for jobs, each with its own request (`new JobAgent` in the gateway). */
  agentsPerGateway: 5,
  /** The gateway reports its links (`everyMs` in gateway/link-monitor/link-monitor.ts). */
  reportSeconds: 60,
  /** A process looks for jobs of each tenant with waiting gateways (cloud/services/workflows/waiters.ts). */
  jobPollSeconds: 1,
  /** A process looks for events of each tenant with open streams (`pollMs` in cloud/platform/events/feed.ts). */
  eventPollSeconds: 0.5,
  /** A process checks all tenants for tasks (`sweepMs` and `sweepPerTenantMs` in cloud/platform/tasks/worker.ts). */
  sweepSeconds: 5,
  sweepSecondsPerTenant: 0.02,
  /** The goal for the time until another process takes over the tasks of a process that died. */
  takeoverSeconds: 10,
  /** The time until the last search for the tasks of a process that died (`silenceMs` and `secondTakeoverMs`). */
  takeoverStartSeconds: 6.5,
  /** The checks of tenants that one process runs at the same time during this search (`checksAtOnce`). */
  takeoverChecks: 4,
  /** The days for which events are stored (`keptMs` in cloud/platform/events/relay.ts). */
  eventDays: 30,
  /** The connection that receives notifications, next to the pool of a process. */
  furtherConnections: 1,
} as const

/** The assumptions that were not measured. */
export const assumptions = {
  /** The share of lists and of new assets in the requests of users. The others read one asset. */
  listShare: 0.3,
  writeShare: 0.05,
  /** Memory of a process for each byte of live objects: the heap of V8 grows before it is collected. */
  heapPerLiveByte: 2,
  /** Disk space for each byte of data: dead rows that vacuum has not removed, and free space in indexes. */
  diskPerByte: 1.3,
  /** Memory of a database node for each connection. */
  connectionMebibytes: 10,
  /** Processes that are added, so that one process can fail or be upgraded. */
  spareProcesses: 1,
} as const

export const secondsPerDay = 86_400
const mebibyte = 2 ** 20
const gibibyte = 2 ** 30
const mostProcesses = 100_000

/** `Limit` is a resource that exists once. `used` and `capacity` have the same unit. */
export type Limit = {
  name: string
  used: number
  capacity: number
  unit: string
  /** The arrangement of the database that has this limit. */
  database: 'any' | 'one server' | 'cluster'
  /** The design step that raises the limit. */
  nextStep: string
}

export type Capacity = {
  /** Requests, polls and other work in a second, at the peak. */
  rates: Record<Work, number>
  processes: number
  processCores: number
  processMebibytes: number
  databaseCores: number
  databaseGibibytes: number
  diskGigabytes: number
  /** Database nodes, without standbys. One node is a plain PostgreSQL server. More nodes are workers of a cluster. */
  workers: number
  /** The resource that needs the most database nodes. */
  workersFor: string
  statements: number
  clientGigabits: number
  logMegabytes: number
  limits: Limit[]
}

export type Saturation = Limit & {
  /** The share of the demand at which the limit is reached. */
  share: number
}

export type Inputs = { demand: Demand; machines: Machines; costs: Costs }

/** Computes the machines for a demand. */
export function capacityOf({ demand, machines, costs }: Inputs): Capacity {
  const processes = processesFor({ demand, machines, costs })
  const rates = ratesOf(demand, processes)
  const total = (column: 'platformMicros' | 'databaseMicros' | 'statements' | 'bytes' | 'logBytes') =>
    sum(works(costs).map((work) => rates[work] * costs.work[work][column]))
  const { idleProcess } = costs
  const databaseCores = (total('databaseMicros') + processes * idleProcess.databaseMicros) / 1e6
  const diskGigabytes = diskBytesOf(demand, costs) / 1e9
  const connections = processes * connectionsPerProcess
  const hotGibibytes = hotBytesOf({ demand, machines, costs }) / gibibyte
  const nodes = {
    processor: databaseCores / (machines['node-cores'] * share(machines.utilisation)),
    disk: diskGigabytes / machines['node-disk'],
    memory: hotGibibytes / usableMemory(machines, connections),
  }
  const [workersFor, most] = Object.entries(nodes).reduce((one, other) => (other[1] > one[1] ? other : one))
  const workers = Math.max(1, Math.ceil(most))
  const answer = {
    rates,
    processes: processes + assumptions.spareProcesses,
    processCores: (total('platformMicros') + processes * idleProcess.platformMicros) / 1e6,
    processMebibytes: memoryOf({ demand, costs }, processes),
    databaseCores,
    databaseGibibytes: hotGibibytes + (workers * connections * assumptions.connectionMebibytes) / 1024,
    diskGigabytes: diskGigabytes * machines.copies,
    workers,
    workersFor,
    statements: total('statements'),
    clientGigabits: (total('bytes') * 8) / 1e9,
    logMegabytes: total('logBytes') / 1e6,
  }
  return { ...answer, limits: limitsOf({ demand, machines, costs }, answer) }
}

/**
 * Returns the limits of the database arrangement that the demand needs, with the smallest share of the demand at which
 * each one is reached, lowest first.
 */
export function saturations(inputs: Inputs): Saturation[] {
  const { workers, limits } = capacityOf(inputs)
  const other = workers > 1 ? 'one server' : 'cluster'
  const scan = scannedShares.map((share) => limitsAt(inputs, share))
  return limits
    .filter(({ database }) => database !== other)
    .map((limit) => {
      const full = scan.findIndex((found) => isFull(found, limit.name))
      return { ...limit, share: full < 0 ? largestShare : refinedShare(inputs, limit.name, full) }
    })
    .toSorted((one, other) => one.share - other.share)
}

const smallestShare = 1e-4
export const largestShare = 1e3
const scanSteps = 210
const searchSteps = 30
const scannedShares = Array.from(
  { length: scanSteps + 1 },
  (_, step) => smallestShare * (largestShare / smallestShare) ** (step / scanSteps),
)

/** Finds the share at which a limit becomes full, by bisection below the first scanned share at which it is full. */
function refinedShare(inputs: Inputs, name: string, full: number): number {
  let [low = 0, high = largestShare] = [scannedShares[full - 1], scannedShares[full]]
  for (let step = 0; step < searchSteps; step++) {
    const middle = (low + high) / 2
    if (isFull(limitsAt(inputs, middle), name)) high = middle
    else low = middle
  }
  return high
}

function limitsAt(inputs: Inputs, share: number): Limit[] {
  return capacityOf({ ...inputs, demand: scaled(inputs.demand, share) }).limits
}

function isFull(limits: readonly Limit[], name: string): boolean {
  return limits.some((limit) => limit.name === name && limit.used > limit.capacity)
}

/** Returns the demand of an installation with this share of the tenants, assets, gateways and users. */
function scaled(demand: Demand, share: number): Demand {
  const { tenants, assets, gateways, users } = demand
  return {
    ...demand,
    tenants: Math.max(1, tenants * share),
    assets: assets * share,
    gateways: gateways * share,
    users: users * share,
  }
}

/**
 * Returns the smallest number of processes that has enough processor time, memory and streams. More processes cause
 * more polls, so the search repeats with the processes that the last step needed.
 */
function processesFor({ demand, machines, costs }: Inputs): number {
  let processes = Math.max(1, Math.ceil(demand.users / limits.streams))
  for (;;) {
    const rates = ratesOf(demand, processes)
    const micros = sum(works(costs).map((work) => rates[work] * costs.work[work].platformMicros))
    // A process runs JavaScript in one thread, so it uses at most one core for requests.
    const cores = (micros + processes * costs.idleProcess.platformMicros) / 1e6
    const forProcessor = cores / share(machines.utilisation)
    const free = Math.max(1, machines['process-memory'] - costs.idleProcess.mebibytes)
    const forMemory = liveMebibytes({ demand, costs }) / free
    const needed = Math.ceil(Math.max(forProcessor, forMemory))
    if (needed <= processes) return processes
    if (needed >= mostProcesses) return mostProcesses
    processes = needed
  }
}

/** Returns the rates of all work in a second, at the peak. */
export function ratesOf(demand: Demand, processes: number): Record<Work, number> {
  const { tenants, assets, gateways, users } = demand
  const peak = demand['peak-factor']
  const requests = (users * demand['requests-per-minute'] * peak) / 60
  const perAsset = (timesPerDay: number) => (assets * timesPerDay * peak) / secondsPerDay
  const changes = perAsset(demand.changes)
  const polls = gateways * rules.agentsPerGateway
  const ofTenant = Math.min(processes, demand['processes-per-tenant'])
  return {
    read: requests * (1 - assumptions.listShare - assumptions.writeShare),
    list: requests * assumptions.listShare,
    write: requests * assumptions.writeShare,
    change: changes,
    // A report of links costs about as much as a poll: both are one authenticated request with one transaction.
    gatewayPoll: polls / workflowLimits.waitSeconds + gateways / rules.reportSeconds,
    jobPoll: placesOf({ connections: polls, tenants, processes: ofTenant }) / rules.jobPollSeconds,
    eventPoll: placesOf({ connections: users, tenants, processes: ofTenant }) / rules.eventPollSeconds,
    tenantCheck: (processes * tenants) / sweepSeconds(tenants),
    scannedDevice: perAsset(demand.scans),
    checkedDevice: perAsset(demand.checks),
    delivery: changes * demand.deliveries,
  }
}

/**
 * Returns the expected number of pairs of a tenant and a process that has a connection of this tenant. The load balancer
 * distributes the connections at random, and each tenant has the same number of connections.
 */
function placesOf({
  connections,
  tenants,
  processes,
}: Record<'connections' | 'tenants' | 'processes', number>): number {
  if (connections === 0) return 0
  const connected = Math.min(tenants, connections)
  const perTenant = connections / connected
  return connected * processes * (1 - (1 - 1 / processes) ** perTenant)
}

function sweepSeconds(tenants: number): number {
  return Math.max(rules.sweepSeconds, tenants * rules.sweepSecondsPerTenant)
}

/**
 * Returns the time until one of the processes has found the work of a process that died, for 99 of 100 tenants. All
 * processes check all tenants, each in another order. A process checks several tenants at the same time with one thread,
 * and all processes use the same database.
 */
function takeoverSeconds(
  { demand, machines, costs }: Inputs,
  { processes, nodes }: { processes: number; nodes: number },
): number {
  const { platformMicros, databaseMicros } = costs.work.tenantCheck
  const databaseCores = nodes * machines['node-cores'] * share(machines.utilisation)
  const checkMicros = Math.max(
    platformMicros,
    (platformMicros + databaseMicros) / rules.takeoverChecks,
    (databaseMicros * processes) / databaseCores,
  )
  const searchSeconds = (demand.tenants * checkMicros * (1 - 0.01 ** (1 / processes))) / 1e6
  return rules.takeoverStartSeconds + searchSeconds
}

function diskBytesOf(demand: Demand, costs: Costs): number {
  return sum(Object.values(storedBytesOf(demand, costs)))
}

/** `StoredBytes` is the disk space of an installation by data, with dead rows and free space. */
export type StoredBytes = Record<'assets' | 'history' | 'events' | 'statuses' | 'tenants', number>

/**
 * Returns the disk space that is enough at any time: all data with a retention has reached its full size, and the events
 * of the creation of all assets are stored, as in the first 30 days.
 */
export function storedBytesOf(demand: Demand, { diskBytes }: Costs): StoredBytes {
  const { tenants, assets } = demand
  const changes = assets * demand.changes
  const reported = assets * demand.scans
  const { eventDays } = rules
  const { statusDays } = inventoryLimits
  const space = (bytes: number) => bytes * assumptions.diskPerByte
  return {
    assets: space(assets * diskBytes.asset),
    history: space(changes * demand['history-days'] * diskBytes.change),
    events: space(assets * diskBytes.assetEvents + changes * eventDays * diskBytes.changeEvents),
    statuses: space(statusDays * (changes * diskBytes.changeStatus + reported * diskBytes.reportStatus)),
    tenants: space(tenants * diskBytes.tenant),
  }
}

/** The part of the data that must fit into memory. The history of assets is read rarely and is not a part of it. */
function hotBytesOf({ demand, machines, costs }: Inputs): number {
  const bytes = demand.assets * costs.diskBytes.asset + demand.tenants * costs.diskBytes.tenant
  return bytes * assumptions.diskPerByte * share(machines['hot-data'])
}

/** The memory for all waiting polls and streams, without the memory of idle processes. */
function liveMebibytes({ demand, costs }: Omit<Inputs, 'machines'>): number {
  const { gateway, stream } = costs.memoryBytes
  const bytes = demand.gateways * gateway + demand.users * stream
  return (bytes * assumptions.heapPerLiveByte) / mebibyte
}

function memoryOf(inputs: Omit<Inputs, 'machines'>, processes: number): number {
  return inputs.costs.idleProcess.mebibytes + liveMebibytes(inputs) / processes
}

const connectionsPerProcess = readCloudConfiguration({}).databaseConnections + rules.furtherConnections

function usableMemory(machines: Machines, connections: number): number {
  const forConnections = (connections * assumptions.connectionMebibytes) / 1024
  return Math.max(1, machines['node-memory'] - forConnections)
}

function limitsOf(inputs: Inputs, answer: Omit<Capacity, 'limits'>): Limit[] {
  const { demand, machines, costs } = inputs
  const ofTenant = share(demand['largest-tenant'])
  const nodeCores = machines['node-cores'] * share(machines.utilisation)
  const connections = answer.processes * connectionsPerProcess
  const largestDisk = (answer.diskGigabytes / machines.copies) * ofTenant
  return [
    {
      name: 'takeover of tasks',
      used: takeoverSeconds(inputs, {
        processes: answer.processes - assumptions.spareProcesses,
        nodes: answer.workers,
      }),
      capacity: rules.takeoverSeconds,
      unit: 's',
      database: 'any',
      nextStep: 'divide the tenants among the processes, so that each process searches only a part of them',
    },
    {
      name: 'processor of one PostgreSQL server',
      used: answer.databaseCores,
      capacity: nodeCores,
      unit: 'cores',
      database: 'one server',
      nextStep: 'distribute the tenants over a Citus cluster',
    },
    {
      name: 'disk of one PostgreSQL server',
      used: answer.diskGigabytes / machines.copies,
      capacity: machines['node-disk'],
      unit: 'GB',
      database: 'one server',
      nextStep: 'distribute the tenants over a Citus cluster',
    },
    {
      name: 'processor of the Citus coordinator',
      used: (answer.statements * costs.coordinator.micros) / 1e6,
      capacity: nodeCores,
      unit: 'cores',
      database: 'cluster',
      nextStep: 'connect the processes to all workers, because each worker of a cluster can route statements',
    },
    {
      name: 'network of the Citus coordinator',
      // Each result arrives from a worker and leaves to a process.
      used: 2 * answer.clientGigabits,
      capacity: machines['node-network'] * share(machines.utilisation),
      unit: 'Gbit/s',
      database: 'cluster',
      nextStep: 'connect the processes to all workers, so that results do not pass the coordinator',
    },
    {
      name: 'connections of a database node',
      used: connections,
      capacity: machines['node-connections'],
      unit: 'connections',
      database: 'any',
      nextStep: 'use a transaction pooler, or connect each process only to the workers of its tenants',
    },
    {
      name: 'processor for the largest tenant',
      used: answer.databaseCores * ofTenant,
      capacity: nodeCores,
      unit: 'cores',
      database: 'cluster',
      nextStep: 'isolate the tenant on a larger worker, or divide the plant into several tenants',
    },
    {
      name: 'disk for the largest tenant',
      used: largestDisk,
      capacity: machines['node-disk'],
      unit: 'GB',
      database: 'cluster',
      nextStep: 'store old history outside the database, or divide the plant into several tenants',
    },
  ]
}

function works({ work }: Costs): Work[] {
  return Object.keys(work) as Work[]
}

function share(percent: number): number {
  return percent / 100
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
