import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import { freePort } from '@millwright/api/port-testing.ts'
import { killEverything } from './crash.ts'
import { type Caller, callerOf, type Platform, startPlatform, until } from './platform.ts'
import { killed } from './shop-floor.ts'
import { withinLimit } from './time-limit.ts'
import type { Receipt, ReceiverOptions } from './webhook-receiver.ts'

/**
 * This file changes assets while the platform and the receiver of two webhooks are killed in turns, and then compares the log
 * of the receiver with the events of the tenant. No event may be lost. The first receipts of the events of one asset must be
 * in order. An event may arrive twice, but only with the same id. One webhook sends single events, the other one batches.
 */

export type DeliveryOptions = {
  home: string
  /** The number of events, and of assets that they change in turns. */
  events: number
  assets: number
  /** The number of times that a process is killed: the receiver and the platform, in turns. */
  kills: number
  /** The receiver lets each request with a number that this number divides fail. */
  failEvery: number
  log?: (line: string) => void
}

export type DeliveryResult = { events: number; duplicates: Record<string, number>; ms: number }

const type = 'io.millwright.inventory.asset.'
const webhooks = [
  { path: '/single', batchSize: 1 },
  { path: '/batches', batchSize: 20 },
]
const changesAtOnce = 50
/** The changes are written at most this part of all events ahead of the receipts, so that every kill interrupts deliveries. */
const shareAhead = 0.2
const pageSize = 100
/** The time limit of each step. It is long, because a run with many events on a busy machine takes long. */
const patienceMs = 1_800_000

/** `Site` is a platform with two webhooks, and the receiver of the webhooks in its own process. Both can be killed. */
class Site implements AsyncDisposable {
  readonly home: string
  readonly #receiverOptions: ReceiverOptions
  readonly #environment: Record<string, string>
  readonly receipts: Receipts
  #platform: Platform
  #receiver: ChildProcess | undefined
  /** The ids of the webhooks. */
  readonly ids: string[] = []
  /** The current caller. It is replaced when the platform was restarted. */
  caller: Promise<Caller>

  private constructor(
    home: string,
    { platform, ...options }: { platform: Platform; environment: Record<string, string>; receiver: ReceiverOptions },
  ) {
    this.home = home
    this.#environment = { ...options.environment, MILLWRIGHT_PORT: new URL(platform.baseUrl).port }
    this.#receiverOptions = options.receiver
    this.receipts = new Receipts(options.receiver.log)
    this.#platform = platform
    this.caller = callerOf(platform)
  }

  static async start(home: string, failEvery: number): Promise<Site> {
    // No other program uses this address, so its port stays free while the receiver is down.
    const host = `127.${1 + randomInt(250)}.${1 + randomInt(250)}.${1 + randomInt(250)}`
    const port = await freePort(host)
    const environment = { MILLWRIGHT_OUTBOUND_ALLOW: host }
    const platform = await startPlatform({ home, environment })
    const receiver = { host, port, log: join(home, 'receipts.ndjson'), secrets: {}, failEvery }
    const site = new Site(home, { platform, environment, receiver })
    await site.#createWebhooks()
    await site.startReceiver()
    return site
  }

  async #createWebhooks(): Promise<void> {
    const { events } = await this.caller
    const { host, port, secrets } = this.#receiverOptions
    for (const { path, batchSize } of webhooks) {
      const url = `http://${host}:${port}${path}`
      const { data } = await events.createWebhook({ body: { data: { url, types: [type], batchSize } } })
      secrets[path] = data.secret
      this.ids.push(data.id)
    }
  }

  async startReceiver(): Promise<void> {
    const env = { ...process.env, RECEIVER_OPTIONS: JSON.stringify(this.#receiverOptions) }
    this.#receiver = fork(fileURLToPath(new URL('./webhook-receiver.ts', import.meta.url)), { env, execArgv: [] })
    await withinLimit('the receiver starts', once(this.#receiver, 'message'))
  }

  async killReceiver(): Promise<void> {
    await this.#endReceiver()
    await this.startReceiver()
  }

  async #endReceiver(): Promise<void> {
    const receiver = this.#receiver
    if (receiver === undefined) return
    const ended = once(receiver, 'exit')
    receiver.kill('SIGKILL')
    await withinLimit('the receiver ends', ended)
  }

  /** Kills the platform, also with its database server, and starts it again. */
  async killPlatform({ withDatabase }: { withDatabase: boolean }): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<Caller>()
    this.caller = promise
    try {
      if (withDatabase) await killEverything(this.#platform, this.home)
      else await killed(this.#platform.program)
      this.#platform = await startPlatform({ home: this.home, environment: this.#environment })
      resolve(await callerOf(this.#platform))
    } catch (error) {
      reject(error)
    }
    await promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endReceiver()
    await this.#platform[Symbol.asyncDispose]()
  }
}

/** Delivers events while processes are killed. Throws when an event is lost, out of order, or has two ids. */
export async function deliverEvents(options: DeliveryOptions): Promise<DeliveryResult> {
  const { home, failEvery } = options
  const startedAt = performance.now()
  const log = (line: string) => options.log?.(`${Math.round((performance.now() - startedAt) / 1000)} s: ${line}`)
  await using site = await Site.start(home, failEvery)
  log('the platform has started')
  const changes = changeAssets(site, options).then(() => log('all changes are written'))
  await Promise.all([changes, killInTurns(site, { ...options, log })])
  const events = await listEvents(await site.caller)
  log(`${events.length} events to compare`)
  for (const [index, { path }] of webhooks.entries()) {
    const isComplete = async () =>
      (await isIdle(site, site.ids[index] ?? '')) && site.receipts.read().of(path).size >= events.length
    await until(`${path} receives all events`, isComplete, patienceMs)
  }
  const duplicates = webhooks.map(({ path, batchSize }) => {
    requireEqual({ events, receipts: site.receipts.read().listOf(path), isSingle: batchSize === 1 })
    return [path, site.receipts.listOf(path).length - events.length]
  })
  return { events: events.length, duplicates: Object.fromEntries(duplicates), ms: performance.now() - startedAt }
}

/** Changes the assets in turns, and repeats a batch of changes if the platform was killed. */
async function changeAssets(site: Site, { events, assets }: DeliveryOptions): Promise<void> {
  for (let change = 0; change < events; change += changesAtOnce) {
    const least = change - shareAhead * events
    await until('earlier events are received', () => receivedBy(site) >= least, patienceMs)
    const count = Math.min(changesAtOnce, events - change)
    const documents = Array.from({ length: count }, (_, index) => documentOf((change + index) % assets, change + index))
    await until('the changes are written', () => isWritten(site, documents), patienceMs)
  }
}

function documentOf(asset: number, change: number) {
  return {
    functional_object_type: 'Device',
    functional_object_schema_url: baseSchemaUrl,
    name: `change ${change}`,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `drive-${asset}` }],
  }
}

/** Writes assets. Returns false if the platform was killed. The same write can be repeated. */
async function isWritten(site: Site, assets: ReturnType<typeof documentOf>[]): Promise<boolean> {
  const { inventory } = await site.caller
  try {
    const { data } = await inventory.createAssets({ body: { data: { assets } } })
    for (;;) {
      const status = await inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
      if (status.data.state === 'queued') continue
      assert.equal(status.data.state, 'finished', JSON.stringify(status.data.detail).slice(0, 500))
      return true
    }
  } catch (error) {
    // A broken connection or an unavailable database is expected. Every other refusal is a fault.
    if (error instanceof TypeError || (error as { status?: number }).status === 503) return false
    throw error
  }
}

/** Returns the number of events that both webhooks have sent. */
function receivedBy({ receipts }: Site): number {
  receipts.read()
  return Math.min(...webhooks.map(({ path }) => receipts.of(path).size))
}

/** Kills the receiver and the platform in turns, each time after more events were received. */
async function killInTurns(
  site: Site,
  { events, kills, log }: DeliveryOptions & { log: (line: string) => void },
): Promise<void> {
  for (let kill = 1; kill <= kills; kill++) {
    const goal = Math.floor((events * kill) / (kills + 1))
    const received = () => receivedBy(site)
    await until(`${goal} events were received`, () => received() >= goal, patienceMs)
    if (kill % 2 === 1) {
      log(`kill ${kill} of ${kills}: receiver, after ${received()} events`)
      await site.killReceiver()
    } else {
      const withDatabase = kill % 4 === 0
      log(`kill ${kill} of ${kills}: platform${withDatabase ? ' and database' : ''}, after ${received()} events`)
      await site.killPlatform({ withDatabase })
      log('the platform has started again')
    }
  }
}

/** Returns all events of the tenant that the webhooks select. */
async function listEvents({ events }: Caller): Promise<CloudEvent[]> {
  const selected: CloudEvent[] = []
  for (let after = 0; ; ) {
    const { data, meta } = await events.listEvents({ query: { after, limit: pageSize } })
    selected.push(...data.filter((event) => event.type.startsWith(type)))
    if (meta.lastPosition === after) return selected
    after = meta.lastPosition
  }
}

/** Returns whether a webhook has no event to send. Throws if the platform has stopped it or has given up an event. */
async function isIdle(site: Site, id: string): Promise<boolean> {
  const { events } = await site.caller
  const { data } = await events.readWebhook({ params: { id } })
  assert.deepEqual([data.state, data.reason, data.deadLetters], ['active', null, 0])
  return data.position === data.newestPosition && data.waiting === 0
}

type Comparison = { events: readonly CloudEvent[]; receipts: readonly Receipt[]; isSingle: boolean }

/** Compares the receipts of one webhook with the events of the tenant. */
function requireEqual({ events, receipts, isSingle }: Comparison): void {
  const received = new Map<string, Receipt>()
  const last = new Map<string, string>()
  for (const receipt of receipts) {
    const { id, subject, sequence, message } = receipt
    if (isSingle) assert.equal(message, id, 'the id of a request is the id of its event')
    const first = received.get(id)
    if (first !== undefined) {
      assert.equal(sequence, first.sequence, `event ${id} has two positions`)
      continue
    }
    received.set(id, receipt)
    assert.ok(sequence > (last.get(subject) ?? ''), `event ${id} of ${subject} arrived after a later event`)
    last.set(subject, sequence)
  }
  const lost = events.filter(({ id, sequence }) => received.get(id)?.sequence !== sequence)
  assert.deepEqual(
    lost.map(({ id }) => id),
    [],
    'events were lost',
  )
  assert.equal(received.size, events.length, 'the receiver has events that the tenant does not have')
}

/** `Receipts` reads the log of the receiver while the receiver appends to it. */
class Receipts {
  readonly #file: string
  readonly #byPath = new Map<string, Receipt[]>()
  readonly #ids = new Map<string, Set<string>>()
  #offset = 0

  constructor(file: string) {
    this.#file = file
  }

  /** Reads the lines that were added. A line without its end was not confirmed, so it is not read. */
  read(): this {
    const chunk = Buffer.alloc(1024 * 1024)
    const file = openSync(this.#file, 'r')
    try {
      for (;;) {
        const length = readSync(file, chunk, 0, chunk.length, this.#offset)
        const end = chunk.subarray(0, length).lastIndexOf('\n') + 1
        if (end === 0) return this
        const lines = chunk.subarray(0, end).toString().trimEnd().split('\n')
        for (const line of lines) this.#add(JSON.parse(line))
        this.#offset += end
      }
    } finally {
      closeSync(file)
    }
  }

  #add(receipt: Receipt): void {
    const { path, id } = receipt
    this.#byPath.set(path, this.#byPath.get(path) ?? [])
    this.#byPath.get(path)?.push(receipt)
    this.#ids.set(path, this.of(path).add(id))
  }

  /** Returns the ids of the events of a path. */
  of(path: string): Set<string> {
    return this.#ids.get(path) ?? new Set()
  }

  /** Returns the receipts of a path in their order. */
  listOf(path: string): readonly Receipt[] {
    return this.#byPath.get(path) ?? []
  }
}
