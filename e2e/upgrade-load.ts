import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { client, overHttp, type Transport } from '@millwright/api/client.ts'
import { contracts } from '@millwright/api/contracts.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import { unfinishedExportStates } from '@millwright/api/exports.ts'
import { EventReader } from '@millwright/cloud/platform/testing/event-reader.ts'
import { type Caller, callerOf, signIn, tokenOf, until } from './platform.ts'
import type { Program } from './program.ts'
import type { Replica, Replicas } from './replicas.ts'
import { discover, type Gateway, newGateway, over, startGateway, startPlant } from './shop-floor.ts'
import { EventReceiver } from './upgrade-webhook.ts'

/**
 * This file creates load during an upgrade, and compares the result with what the platform has confirmed. Each task repeats a
 * sequence of requests through the load balancer, so that a version reads what the other version has written. A task checks its
 * results after each round and again at the end. Every refused request fails the run. A request whose process was killed is
 * repeated with the same idempotency key.
 */

/** The time after a kill in which requests can fail. */
const outageMs = 180_000
const retryMs = 100
/** The time limit of each wait. It is long, because a machine that runs two versions is busy. */
const patienceMs = 300_000
const tokenMs = 60_000
const pageSize = 100
const devices = 25
const writerCount = 3

export type LoadTask = {
  name: string
  /** The pause after each round. */
  pauseMs: number
  round(number: number): Promise<void>
  /** Compares the final state with the confirmed requests. Returns the number of checked objects. */
  check(): Promise<number>
}

export class UpgradeLoad implements AsyncDisposable {
  readonly #site: Replicas
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #tasks: LoadTask[] = []
  readonly #parts: AsyncDisposable[] = []
  #outageEnds = 0
  #repeated = 0
  /** Rejects when a task fails. */
  readonly failed: Promise<never>
  #fail: (error: unknown) => void = () => {}

  private constructor(site: Replicas) {
    this.#site = site
    this.failed = new Promise((_, reject) => {
      this.#fail = reject
    })
    this.failed.catch(() => {})
  }

  static async start(site: Replicas, { gatewayCheckout }: { gatewayCheckout: string }): Promise<UpgradeLoad> {
    const load = new UpgradeLoad(site)
    try {
      await load.#start(gatewayCheckout)
    } catch (error) {
      await load[Symbol.asyncDispose]()
      throw error
    }
    return load
  }

  async #start(gatewayCheckout: string): Promise<void> {
    const caller = await this.#caller()
    const receiver = await EventReceiver.start(caller)
    this.#parts.push(receiver)
    const discovery = await DiscoveryTask.start(caller, { home: this.#site.folder, checkout: gatewayCheckout })
    this.#parts.push(discovery)
    const events = new EventTask(this, { caller, receiver })
    this.#parts.push(events)
    const writers = Array.from({ length: writerCount }, (_, index) => new WriterTask(caller, index))
    const others = [new AccessTask(this, caller), new HierarchyTask(caller), new ExportTask(caller), discovery, events]
    this.#tasks.push(...writers, ...others)
    this.#running.push(...this.#tasks.map((task) => this.#repeat(task)))
  }

  get baseUrl(): string {
    return this.#site.baseUrl
  }

  /** Must be called before a process is killed. Requests can fail for a limited time. */
  expectOutage(): void {
    this.#outageEnds = performance.now() + outageMs
  }

  /** Repeats an attempt that fails because a process was killed. */
  async repeat<Result>(attempt: () => Promise<Result>, isOutage: (error: unknown) => boolean): Promise<Result> {
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!isOutage(error) || performance.now() > this.#outageEnds) throw error
        this.#repeated += 1
        await delay(retryMs)
      }
    }
  }

  /** Stops the load, and checks the results with the given processes. */
  async finish(replicas: readonly Replica[]): Promise<Record<string, number>> {
    this.#stopped.abort()
    await Promise.race([Promise.all(this.#running), this.failed])
    const counts: Record<string, number> = { repeated: this.#repeated }
    for (const task of this.#tasks) counts[task.name] = (counts[task.name] ?? 0) + (await task.check())
    for (const replica of replicas) {
      const caller = await callerOf({ baseUrl: replica.url, access: this.#site.access })
      const { data } = await caller.audit.verify({})
      assert.deepEqual([data.intact, data.firstFault], [true, null])
      counts.audit = data.checked
    }
    return counts
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    for (const part of this.#parts) await part[Symbol.asyncDispose]()
  }

  async #repeat(task: LoadTask): Promise<void> {
    try {
      for (let number = 0; !this.#stopped.signal.aborted; number++) {
        await task.round(number)
        await delay(task.pauseMs)
      }
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error))
      this.#fail(new Error(`${task.name}: ${cause.message}`, { cause }))
    }
  }

  /** Returns the typed clients of all services behind the load balancer. */
  async #caller(): Promise<Caller> {
    const request = () =>
      this.repeat(
        () => tokenOf(this.baseUrl, this.#site.access),
        () => true,
      )
    let token = await request()
    let requestedAt = performance.now()
    const current = async () => {
      if (performance.now() - requestedAt > tokenMs) {
        requestedAt = performance.now()
        token = await request()
      }
      return token
    }
    const transport = this.#repeating(overHttp({ baseUrl: this.baseUrl, token: current }))
    const clients = Object.entries(contracts).map(([name, contract]) => [name, client(contract, transport)])
    return {
      ...Object.fromEntries(clients),
      get token() {
        return token
      },
    }
  }

  /** Repeats a request whose process was killed. The idempotency key prevents a second effect. */
  #repeating(transport: Transport): Transport {
    return (contract, operation, input) => {
      const { method } = contract.operations[operation] ?? {}
      const key = method === 'POST' ? { 'idempotency-key': randomUUID() } : {}
      const attempt = async () => {
        const exchange = await transport(contract, operation, { ...input, headers: { ...key, ...input.headers } })
        // The claim of a killed process on an idempotency key expires after a while.
        const isClaimed = (exchange.body as { code?: string } | undefined)?.code === 'request_in_progress'
        if (exchange.status === 502 || isClaimed) throw new TypeError(`The process of ${operation} was killed`)
        return exchange
      }
      return this.repeat(attempt, (error) => error instanceof TypeError)
    }
  }
}

export function newAsset(tag: string) {
  const asset_identifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: tag }]
  return { functional_object_type: 'Asset', name: tag, asset_identifiers }
}

/** Waits until an accepted write is applied, and returns its result. */
export async function applied(caller: Caller, id: string): Promise<unknown> {
  let state = 'queued'
  let detail: { result?: unknown } = {}
  await until(
    `the write ${id} is applied`,
    async () => {
      ;({ state, detail } = (await caller.inventory.readStatus({ params: { id }, query: { wait: 30 } })).data)
      return state !== 'queued'
    },
    patienceMs,
  )
  assert.equal(state, 'finished', `the write ${id} is ${state}: ${JSON.stringify(detail)}`)
  return detail.result
}

export async function createAsset(caller: Caller, tag: string): Promise<string> {
  const { data } = await caller.inventory.createAsset({ body: { data: { asset: newAsset(tag) } } })
  return ((await applied(caller, data.statusId)) as { assetId: string }).assetId
}

/** Returns all items of a list with offsets. */
export async function listAll<Item>(list: (query: { limit: number; offset: number }) => Promise<{ data: Item[] }>) {
  const items: Item[] = []
  for (let offset = 0; ; offset += pageSize) {
    const { data } = await list({ limit: pageSize, offset })
    items.push(...data)
    if (data.length < pageSize) return items
  }
}

/** `WriterTask` creates assets and changes one asset repeatedly. The history must contain each change once, in order. */
class WriterTask implements LoadTask {
  readonly name = 'writes'
  readonly pauseMs = 0
  readonly #caller: Caller
  readonly #index: number
  readonly #tags: string[] = []
  #asset: string | undefined
  #changes = 0

  constructor(caller: Caller, index: number) {
    this.#caller = caller
    this.#index = index
  }

  async round(number: number): Promise<void> {
    const tag = `writer-${this.#index}-${number}`
    const id = await createAsset(this.#caller, tag)
    this.#tags.push(tag)
    this.#asset ??= id
    const responsible = `change ${number}`
    const body = { data: { responsible } }
    const { data } = await this.#caller.inventory.setResponsible({ params: { id: this.#asset }, body })
    this.#changes += 1
    await applied(this.#caller, data.statusId)
    const { data: asset } = await this.#caller.inventory.readAsset({ params: { id: this.#asset } })
    assert.equal(asset.responsible, responsible)
  }

  async check(): Promise<number> {
    const filter = `startswith(name, 'writer-${this.#index}-')`
    const assets = await listAll((query) =>
      this.#caller.inventory.listAssets({ query: { ...query, filter, sort: 'id' } }),
    )
    assert.deepEqual(assets.map(({ name }) => String(name)).toSorted(), this.#tags.toSorted())
    const id = this.#asset ?? ''
    const history = await listAll((query) => this.#caller.inventory.readHistory({ params: { id }, query }))
    const changes = history.flatMap(({ after }) => {
      const number = /^change (\d+)$/.exec(String(after?.responsible))?.[1]
      return number === undefined ? [] : [Number(number)]
    })
    assert.deepEqual(changes.toReversed(), [...Array(this.#changes).keys()])
    return this.#tags.length + this.#changes
  }
}

/** `AccessTask` creates access groups, users and grants. Users sign in, and lose their rights in all processes. */
export class AccessTask implements LoadTask {
  readonly name = 'access'
  readonly pauseMs = 500
  readonly #load: UpgradeLoad
  readonly #caller: Caller
  readonly #groups: string[] = []
  readonly #users: { name: string; password: string }[] = []

  constructor(load: UpgradeLoad, caller: Caller) {
    this.#load = load
    this.#caller = caller
  }

  async round(number: number): Promise<void> {
    const { authorization, identity } = this.#caller
    const created = await authorization.createAccessGroup({ body: { data: { name: `draft ${number}` } } })
    const { id } = created.data
    await authorization.updateAccessGroup({ params: { id }, body: { data: { name: `group ${number}` } } })
    this.#groups.push(`group ${number}`)
    const password = randomUUID()
    const user = await identity.createUser({ body: { data: { name: `user-${number}`, password } } })
    const grant = { principal: user.data.id, role: 'viewer', accessGroup: id }
    const { data: granted } = await authorization.createGrant({ body: { data: grant } })
    this.#users.push({ name: `user-${number}@default`, password })
    const token = await this.#signIn(this.#users.length - 1)
    const read = (path: string) =>
      this.#load.repeat(
        async () => {
          const { status } = await fetch(`${this.#load.baseUrl}${path}`, {
            headers: { authorization: `Bearer ${token}` },
          })
          if (status === 502) throw new TypeError('The process was killed')
          return status
        },
        (error) => error instanceof TypeError,
      )
    const list = () => read('/inventory/v2/assets?limit=1')
    await until('the user can read', async () => (await list()) === 200, patienceMs)
    await authorization.deleteGrant({ params: { id: granted.id } })
    await until('the user cannot read', async () => (await list()) === 403, patienceMs)
  }

  async check(): Promise<number> {
    const groups = await listAll((query) => this.#caller.authorization.listAccessGroups({ query }))
    const names = new Set(groups.map(({ name }) => name))
    assert.deepEqual(
      this.#groups.filter((name) => !names.has(name)),
      [],
    )
    assert.deepEqual(
      groups.filter(({ name }) => name.startsWith('draft')),
      [],
    )
    for (const index of [0, this.#users.length - 1]) await this.#signIn(index)
    return this.#groups.length + this.#users.length
  }

  async #signIn(index: number): Promise<string> {
    const user = this.#users[index] ?? assert.fail('there is no user')
    const isKilled = (error: unknown) => !(error instanceof Error && /refused a user/.test(error.message))
    return this.#load.repeat(async () => {
      const result = await signIn(this.#load.baseUrl, user)
      if ('token' in result) return result.token
      if (result.status === 502) throw new TypeError('The process was killed')
      throw new Error(`The platform refused a user with ${result.status}: ${result.page}`)
    }, isKilled)
  }
}

/** `HierarchyTask` creates nodes, assigns a new asset to each node, and connects the assets. */
export class HierarchyTask implements LoadTask {
  readonly name = 'hierarchy'
  readonly pauseMs = 200
  readonly #caller: Caller
  readonly #nodes: { id: string; assetId: string }[] = []
  #hierarchyId: string | undefined

  constructor(caller: Caller) {
    this.#caller = caller
  }

  async round(number: number): Promise<void> {
    const { hierarchy, inventory } = this.#caller
    this.#hierarchyId ??= (await hierarchy.createHierarchy({ body: { data: { name: 'site' } } })).data.id
    const assetId = await createAsset(this.#caller, `placed-${number}`)
    const previous = this.#nodes.at(-1)
    const { data: node } = await hierarchy.createNode({
      params: { id: this.#hierarchyId },
      body: { data: { name: `cell ${number}`, parentId: this.#nodes[0]?.id ?? null } },
    })
    await hierarchy.assignAssets({ params: { id: node.id }, body: { data: { assetIds: [assetId] } } })
    this.#nodes.push({ id: node.id, assetId })
    const { data: paths } = await hierarchy.listAssetPaths({ params: { id: assetId } })
    assert.equal(paths.length, 1)
    if (previous === undefined) return
    const [subject, object] = [previous.assetId, assetId].map((id) => ({ type: 'asset', id }) as const)
    assert.ok(subject && object)
    await inventory.createRelation({ body: { data: { subject, predicate: 'connected_to', object } } })
  }

  async check(): Promise<number> {
    const { hierarchy, inventory } = this.#caller
    for (const { assetId } of this.#nodes) {
      const { data: paths } = await hierarchy.listAssetPaths({ params: { id: assetId } })
      assert.equal(paths.length, 1, `the asset ${assetId} has lost its node`)
    }
    const id = this.#nodes[0]?.id ?? ''
    const isCounted = async () =>
      (await hierarchy.readNode({ params: { id } })).data.totalAssetCount === this.#nodes.length
    await until('the counts of the nodes are complete', isCounted, patienceMs)
    const filter = `predicate eq 'connected_to'`
    const relations = await listAll((query) => inventory.listRelations({ query: { ...query, filter } }))
    const expected = new Set(this.#nodes.map(({ assetId }) => assetId))
    const own = relations.filter(({ object }) => 'id' in object && expected.has(object.id))
    assert.equal(own.length, this.#nodes.length - 1)
    return 2 * this.#nodes.length
  }
}

/** `ExportTask` exports the assets. The file must contain at least the assets that existed before the export. */
export class ExportTask implements LoadTask {
  readonly name = 'exports'
  readonly pauseMs = 1_000
  readonly #caller: Caller
  readonly #selection: { filter?: string }
  #exports = 0

  /** `filter` selects assets that are not deleted while the load runs. By default all assets are exported. */
  constructor(caller: Caller, selection: { filter?: string } = {}) {
    this.#caller = caller
    this.#selection = selection
  }

  async round(): Promise<void> {
    const { exports, inventory } = this.#caller
    const selection = this.#selection
    const { meta } = await inventory.listAssets({ query: { ...selection, limit: 1, count: true } })
    const created = await exports.createExport({ body: { data: { what: 'assets', format: 'ndjson', ...selection } } })
    const { exportId } = created.data
    const read = async () => (await exports.readExport({ params: { exportId } })).data
    await until('the export ends', async () => !unfinishedExportStates.includes((await read()).state), patienceMs)
    const { state, rows, problem } = await read()
    assert.deepEqual([state, problem], ['finished', undefined])
    const content = await exports.readExportContent({ params: { exportId } })
    assert.ok(typeof content === 'string')
    assert.equal(content.split('\n').length - 1, rows)
    assert.ok((rows ?? 0) >= (meta.totalElements ?? 0), `${rows} of ${meta.totalElements} assets were exported`)
    await exports.deleteExport({ params: { exportId } })
    this.#exports += 1
  }

  async check(): Promise<number> {
    assert.ok(this.#exports > 0)
    return this.#exports
  }
}

/** `DiscoveryTask` scans a simulated plant with a gateway of the release. Each scan finds the same devices. */
class DiscoveryTask implements LoadTask, AsyncDisposable {
  readonly name = 'scans'
  readonly pauseMs = 1_000
  readonly #caller: Caller
  readonly #gateway: Gateway
  readonly #plant: Program
  #scans = 0

  private constructor(caller: Caller, { gateway, plant }: { gateway: Gateway; plant: Program }) {
    this.#caller = caller
    this.#gateway = gateway
    this.#plant = plant
  }

  static async start(caller: Caller, { home, checkout }: { home: string; checkout: string }): Promise<DiscoveryTask> {
    const id = await newGateway(caller, { home, name: 'hall' })
    const gateway = await startGateway('hall', { home, id, checkout })
    return new DiscoveryTask(caller, { gateway, plant: startPlant(gateway, { home, checkout }) })
  }

  async round(): Promise<void> {
    const jobId = await discover(this.#caller, this.#gateway.id, { size: String(devices), seed: '7' })
    const { state, found } = await over(this.#caller, jobId, patienceMs)
    assert.deepEqual([state, found], ['finished', devices])
    this.#scans += 1
  }

  async check(): Promise<number> {
    const list = (query: { limit: number; offset: number }) =>
      this.#caller.inventory.listAssets({
        query: { ...query, filter: "functional_object_type eq 'Device'", sort: 'id' },
      })
    const isComplete = async () => (await listAll(list)).length === devices
    await until('the inventory has each device once', isComplete, patienceMs)
    return this.#scans
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plant[Symbol.asyncDispose]()
    await this.#gateway.program[Symbol.asyncDispose]()
  }
}

/** `EventTask` reads the stream of events, and opens it again when a process ends. It compares the stream and the webhook with the list. */
class EventTask implements LoadTask, AsyncDisposable {
  readonly name = 'events'
  readonly pauseMs = 0
  readonly #load: UpgradeLoad
  readonly #caller: Caller
  readonly #receiver: EventReceiver
  readonly #streamed: CloudEvent[] = []
  #reader: EventReader | undefined
  #position = 0

  constructor(load: UpgradeLoad, { caller, receiver }: { caller: Caller; receiver: EventReceiver }) {
    this.#load = load
    this.#caller = caller
    this.#receiver = receiver
  }

  /** Reads the events of one second. */
  async round(): Promise<void> {
    await this.#read(1_000)
  }

  async check(): Promise<number> {
    const events = await this.#listEvents()
    const last = Number(events.at(-1)?.sequence ?? 0)
    await until('the stream has all events', async () => {
      await this.#read(1_000)
      return this.#position >= last
    })
    const streamed = this.#streamed.filter(({ sequence }) => Number(sequence) <= last)
    assert.deepEqual(
      streamed.map(({ id }) => id),
      events.map(({ id }) => id),
      'the stream differs from the list of events',
    )
    await this.#receiver.requireAll(events, patienceMs)
    return events.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader?.close()
  }

  async #read(ms: number): Promise<void> {
    const { token } = this.#caller
    const reader = await this.#load.repeat(
      () => EventReader.open(this.#load.baseUrl, { token, lastEventId: this.#position }),
      () => true,
    )
    assert.ok([200, 502].includes(reader.response.status), `the stream was refused with ${reader.response.status}`)
    this.#reader = reader
    const timer = setTimeout(() => reader.close(), ms)
    try {
      for (let message = await reader.next(); message !== undefined; message = await reader.next()) {
        assert.notEqual(message.event, 'end', message.data)
        this.#streamed.push(JSON.parse(message.data))
        this.#position = Number(message.id)
      }
    } catch (error) {
      // A closed stream is expected. A fault of the content is not.
      if (error instanceof assert.AssertionError) throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async #listEvents(): Promise<CloudEvent[]> {
    const all: CloudEvent[] = []
    for (let after = 0; ; ) {
      const { data, meta } = await this.#caller.events.listEvents({ query: { after, limit: pageSize } })
      all.push(...data)
      if (meta.lastPosition === after) return all
      after = meta.lastPosition
    }
  }
}
