import { setTimeout } from 'node:timers/promises'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import type { Webhook } from '@millwright/api/event-subscriptions.ts'
import { type CloudEvent, events as eventsContract } from '@millwright/api/events.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type PlantAsset, plantAssets } from '@millwright/links/plant/generator.ts'
import { loadOf } from './inventory-load.ts'
import { roundOf } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import { type PlatformProcess, startPlatform, tokenFor, withHome } from './platform-process.ts'
import type { Goal, Report, Row } from './report.ts'
import type { Received, ReceiverCommand } from './webhook-receiver.ts'
import type { SenderCommand, SentResult } from './webhook-sender.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'

const deliveries = 20_000
const perBatch = 500
/** The events of one asset, which are sent one after the other. */
const changesOfOne = 2_000
const rounds = 5
/** How often one measurement sends all events, so that it lasts some seconds. */
const replays = 3
const cores = 2
/** The requests that the platform sends to one receiver at the same time. */
const connections = 32
const slowChanges = 300
const slowPauseMs = 50
const pollMs = 100
const types = ['io.millwright.inventory.asset.']
const goals = { perSecond: 2_000, changePercent: 10 } as const

type Setup = {
  platform: PlatformProcess
  receiver: WorkerProcess<ReceiverCommand>
  receiverUrl: string
  sender: WorkerProcess<SenderCommand>
  inventory: Client<typeof inventory>
  events: Client<typeof eventsContract>
  fresh: () => Record<string, unknown>
}

/**
 * Measures webhooks. The platform and the receiver run in separate processes. The events exist before the measurement, and a
 * replay sends them again, so the processor time contains only deliveries.
 */
export async function webhooks({ profile, only }: BenchOptions): Promise<Report> {
  return withHome(async (home) => {
    const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
    const environment = { MILLWRIGHT_LOCAL_GATEWAY: 'off', MILLWRIGHT_OUTBOUND_ALLOW: '127.0.0.1' }
    const platform = await startPlatform({ home, nodeOptions, environment })
    const { ready: port, ...receiver } = await startWorkerProcess<ReceiverCommand, number>('./webhook-receiver.ts')
    const sender = await startWorkerProcess<SenderCommand>('./webhook-sender.ts')
    try {
      const token = await tokenFor(platform)
      const transport = overHttp({ baseUrl: platform.url, token: () => token })
      const plant = plantAssets({ assets: Number.MAX_SAFE_INTEGER, seed: 1, relations: 0 })
      return await measure(
        {
          platform,
          receiver,
          receiverUrl: `http://127.0.0.1:${port}`,
          sender,
          inventory: client(inventory, transport),
          events: client(eventsContract, transport),
          fresh: () => (plant.next().value as PlantAsset).asset,
        },
        only,
      )
    } finally {
      await sender.stop()
      await receiver.stop()
      await platform.stop()
    }
  })
}

type Measured = { perSecond: number; row: Row }

async function measure(setup: Setup, only: string): Promise<Report> {
  const from = (await newestPosition(setup)) + 1
  await writeAssets(setup, deliveries)
  const id = await createWebhook(setup, { path: '/fast' })
  const batches = await createWebhook(setup, { path: '/fast', batchSize: 100, active: false })
  const bytes = JSON.stringify((await listEvents(setup, from))[0]).length
  const rows: Row[] = []
  const direct: Measured[] = []
  const alone: Measured[] = []
  const nextToOthers: Measured[] = []
  const isSelected = (name: string) => name.includes(only)
  const raw = 'undici without the platform'
  const single = 'one event per request'
  const nextTo = 'the same, next to a dead and a hanging receiver'
  // The measurements take turns, so that other load of the machine affects all of them.
  for (let round = 0; round < rounds; round++) {
    if (isSelected(raw)) direct.push(await sendDirectly(setup, from, raw))
    if (isSelected(single)) alone.push(await replay(setup, { id, from, what: single }))
    if (isSelected(nextTo))
      nextToOthers.push(await whileOthersFail(setup, from, () => replay(setup, { id, from, what: nextTo })))
  }
  rows.push(...bestOf(direct), ...bestOf(alone), ...bestOf(nextToOthers))
  const batched = '100 events per request'
  if (isSelected(batched)) {
    await setup.events.updateWebhook({ params: { id }, body: { data: { active: false } } })
    await setup.events.updateWebhook({ params: { id: batches }, body: { data: { active: true } } })
    rows.push((await replay(setup, { id: batches, from, what: batched })).row)
    await setup.events.updateWebhook({ params: { id: batches }, body: { data: { active: false } } })
    await setup.events.updateWebhook({ params: { id }, body: { data: { active: true } } })
  }
  const ofOne = 'one event per request, all of one asset'
  if (isSelected(ofOne)) rows.push(await replayOneAsset(setup, id, ofOne))
  const mqtt = 'MQTT, QoS 1, npm broker'
  if (isSelected(mqtt)) rows.push(await publish(setup, from, mqtt))
  const latency = `from commit to receipt, ${1000 / slowPauseMs} changes a second`
  if (isSelected(latency)) rows.push(await slowly(setup, latency))
  return {
    title: `webhooks: ${deliveries.toLocaleString('en')} events of ${bytes} bytes`,
    rows,
    goals: goalsOf(alone.map(rateOf), nextToOthers.map(rateOf)),
  }
}

/** Returns the goals for the rates of all rounds. There are none if these measurements were not selected. */
function goalsOf(alone: readonly number[], nextToOthers: readonly number[]): Goal[] {
  if (alone.length === 0 || nextToOthers.length === 0) return []
  // The best rounds are compared, because other load of the machine can only slow a round down.
  const best = Math.max(...alone)
  const change = 100 * (1 - Math.max(...nextToOthers) / best)
  return [
    {
      goal: `${goals.perSecond.toLocaleString('en')} deliveries a second to a fast receiver`,
      found: `${Math.round(best)} a second`,
      reached: best >= goals.perSecond,
    },
    {
      goal: `a dead and a hanging receiver change the rate by less than ${goals.changePercent} %`,
      found: `${change < 0 ? 'faster' : 'slower'} by ${Math.abs(change).toFixed(1)} %`,
      reached: change < goals.changePercent,
    },
  ]
}

function rateOf({ perSecond }: Measured): number {
  return perSecond
}

/** Returns the row of the best round, because other load of the machine can only slow a round down. */
function bestOf(measured: readonly Measured[]): Row[] {
  return measured
    .toSorted((one, other) => other.perSecond - one.perSecond)
    .slice(0, 1)
    .map(({ row }) => row)
}

async function newestPosition({ events }: Setup): Promise<number> {
  return (await events.listEvents({ query: { limit: 1 } })).meta.newestPosition
}

async function listEvents({ events }: Setup, from: number): Promise<CloudEvent[]> {
  return (await events.listEvents({ query: { after: from - 1, limit: 100 } })).data
}

async function writeAssets({ inventory, platform, fresh }: Setup, count: number): Promise<void> {
  for (let written = 0; written < count; written += perBatch) {
    const assets = Array.from({ length: Math.min(perBatch, count - written) }, fresh)
    await inventory.createAssets({ body: { data: { assets } } })
  }
  await platform.request({ kind: 'wait until everything is applied' })
}

type WebhookOptions = { path: string; origin?: string; batchSize?: number; active?: boolean }

async function createWebhook(
  { events, receiverUrl }: Setup,
  { path, origin = receiverUrl, batchSize = 1, active = true }: WebhookOptions,
): Promise<string> {
  const { data } = await events.createWebhook({ body: { data: { url: `${origin}${path}`, types, batchSize, active } } })
  return data.id
}

type Replay = { id: string; from: number; what: string; count?: number }

/** Sends the events from a position on again, several times, and measures the time from the first receipt to the last one. */
async function replay(setup: Setup, { id, from, what, count = deliveries }: Replay): Promise<Measured> {
  const { receiver, events } = setup
  const params = { id }
  const measured = await measureDeliveries(setup, { what, count: replays * count }, async () => {
    let seconds = 0
    for (let sent = 0; sent < replays; sent++) {
      await receiver.request({ kind: 'expect', events: count })
      await events.replayWebhook({ params, body: { data: { fromPosition: from } } })
      seconds += (await receiver.request<Received>({ kind: 'wait' })).seconds
    }
    return seconds
  })
  // A change of the webhook before the last results are stored would send their events again.
  await untilIdle(() => events.readWebhook({ params }))
  return measured
}

type Progress = Pick<Webhook, 'position' | 'newestPosition' | 'waiting'>

/** Waits until a subscription has no event to send. */
async function untilIdle(read: () => Promise<{ data: Progress }>): Promise<void> {
  for (;;) {
    const { position, newestPosition, waiting } = (await read()).data
    if (position === newestPosition && waiting === 0) return
    await setTimeout(pollMs)
  }
}

/** Measures work that delivers events. The work returns its duration in seconds. */
async function measureDeliveries(
  { platform, receiver }: Setup,
  { what, count }: { what: string; count: number },
  work: () => Promise<number>,
): Promise<Measured> {
  const before = await loadOf(platform)
  const receiverBefore = await receiver.request<number>({ kind: 'cpu' })
  const memory = watchMemory(platform)
  const seconds = await work()
  const after = await loadOf(platform)
  const receiverCpu = (await receiver.request<number>({ kind: 'cpu' })) - receiverBefore
  const micros = {
    platform: (after.cpu - before.cpu) / count,
    database: (after.databaseCpuMicros - before.databaseCpuMicros) / count,
    receiver: receiverCpu / count,
  }
  const perSecond = count / seconds
  return { perSecond, row: { ...rowOf(what, perSecond, micros), MiB: await memory.end() } }
}

/** Publishes the events on an MQTT broker, and measures the time until the broker has confirmed all of them. */
async function publish(setup: Setup, from: number, what: string): Promise<Row> {
  const { receiver, events } = setup
  const url = `mqtt://127.0.0.1:${await receiver.request<number>({ kind: 'start a broker' })}`
  const { data } = await events.createMqttPublisher({ body: { data: { url, types, topic: 'millwright/{kind}/{id}' } } })
  const params = { id: data.id }
  const count = (await newestPosition(setup)) - from + 1
  const { row } = await measureDeliveries(setup, { what, count }, async () => {
    const startedAt = performance.now()
    await events.replayMqttPublisher({ params, body: { data: { fromPosition: from } } })
    await untilIdle(() => events.readMqttPublisher({ params }))
    return (performance.now() - startedAt) / 1000
  })
  await events.deleteMqttPublisher({ params })
  return row
}

type Micros = { platform: number; database?: number; receiver: number }

/**
 * Returns a row with the processor time per event. The last column is the rate that this processor time allows on idle
 * cores: the main thread of the platform uses at most one core.
 */
function rowOf(what: string, perSecond: number, { platform, database = 0, receiver }: Micros): Row {
  return {
    what,
    'per second': perSecond,
    'sender CPU µs': platform,
    'database CPU µs': database,
    'receiver CPU µs': receiver,
    [`possible on ${cores} idle cores`]: Math.min(1e6 / platform, (cores * 1e6) / (platform + database + receiver)),
  }
}

/** Records the maximum memory of the platform, in mebibytes. */
function watchMemory(platform: PlatformProcess): { end(): Promise<number> } {
  const stop = new AbortController()
  const poll = async () => {
    for (let peak = 0; ; ) {
      peak = Math.max(peak, await platform.request<number>({ kind: 'memory' }))
      if (stop.signal.aborted) return peak
      await setTimeout(pollMs, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  const peak = poll()
  return {
    end() {
      stop.abort()
      return peak
    },
  }
}

/** Runs `work` while two new webhooks send the same events to receivers that fail. */
async function whileOthersFail(setup: Setup, from: number, work: () => Promise<Measured>): Promise<Measured> {
  const { receiver, events } = setup
  const dead = `http://127.0.0.1:${await receiver.request<number>({ kind: 'free port' })}`
  const ids = [
    await createWebhook(setup, { path: '/dead', origin: dead }),
    await createWebhook(setup, { path: '/hanging' }),
  ]
  for (const id of ids) await events.replayWebhook({ params: { id }, body: { data: { fromPosition: from } } })
  try {
    return await work()
  } finally {
    for (const id of ids) await events.deleteWebhook({ params: { id } })
  }
}

/** Sends the bodies of some events with the HTTP client of the platform, without the platform. */
async function sendDirectly(setup: Setup, from: number, what: string): Promise<Measured> {
  const { receiver, sender, receiverUrl } = setup
  const bodies = (await listEvents(setup, from)).map((event) => JSON.stringify(event))
  await receiver.request({ kind: 'expect', events: Number.POSITIVE_INFINITY })
  const receiverBefore = await receiver.request<number>({ kind: 'cpu' })
  const url = `${receiverUrl}/fast`
  const { seconds, cpuMicros } = await sender.request<SentResult>({
    kind: 'send',
    url,
    bodies,
    count: deliveries,
    connections,
  })
  const receiverCpu = (await receiver.request<number>({ kind: 'cpu' })) - receiverBefore
  const micros = { platform: cpuMicros / deliveries, receiver: receiverCpu / deliveries }
  return { perSecond: deliveries / seconds, row: rowOf(what, deliveries / seconds, micros) }
}

/** Changes one asset many times, and then sends these events again. */
async function replayOneAsset(setup: Setup, id: string, what: string): Promise<Row> {
  const { receiver, inventory, platform, fresh } = setup
  const from = (await newestPosition(setup)) + 1
  const asset = fresh()
  await receiver.request({ kind: 'expect', events: changesOfOne })
  for (let change = 0; change < changesOfOne; change += perBatch) {
    const assets = Array.from({ length: perBatch }, (_, index) => ({ ...asset, name: `Change ${change + index}` }))
    await inventory.createAssets({ body: { data: { assets } } })
  }
  await platform.request({ kind: 'wait until everything is applied' })
  await receiver.request({ kind: 'wait' })
  return (await replay(setup, { id, from, what, count: changesOfOne })).row
}

/** Changes assets at a low rate, and returns the time from each change to its receipt. */
async function slowly({ receiver, inventory, fresh }: Setup, what: string): Promise<Row> {
  await receiver.request({ kind: 'expect', events: slowChanges, isTimed: true })
  for (let change = 0; change < slowChanges; change++) {
    await inventory.createAsset({ body: { data: { asset: fresh() } } })
    await setTimeout(slowPauseMs)
  }
  const { latencies } = await receiver.request<Received>({ kind: 'wait' })
  const { p50Ms, p99Ms } = roundOf(latencies, { ms: 0, cpu: 0 })
  return { what, 'median ms': p50Ms, '99 % ms': p99Ms }
}
