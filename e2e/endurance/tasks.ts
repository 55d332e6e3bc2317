import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import { EventReader } from '@millwright/cloud/platform/testing/event-reader.ts'
import type { Random } from '@millwright/cloud/platform/testing/visibility-model.ts'
import { openStream, type StreamClient } from '@millwright/cloud/services/remote-access/testing.ts'
import { type Caller, until } from '../platform.ts'
import { assertEqualBytes } from '../remote-device.ts'
import { discover, over } from '../shop-floor.ts'
import { applied, createAsset, type LoadTask, listAll } from '../upgrade-load.ts'
import { type EnduranceLoad, InterruptedWork } from './load.ts'
import type { EnduranceSite } from './site.ts'

/**
 * This file contains the tasks of an endurance run that `upgrade-load.ts` does not have. Each task remembers a limited number of
 * its acknowledged writes, and deletes the others.
 */

const patienceMs = 300_000
const relationName = 'connected_to'

/** Returns a random item. */
function pick<Item>(items: Iterable<Item>, random: Random): Item {
  const all = [...items]
  return all[random(all.length)] ?? assert.fail('there is no item')
}

/** The value that an asset must have. `relatedTo` are the numbers of the assets that it has a relation to. */
type Entry = { id: string; responsible: string; relatedTo: Set<number> }

/**
 * `LedgerTask` creates, changes, connects and deletes assets. It compares each change with a read, and at the end all assets and
 * relations with the acknowledged writes. It changes its first asset in each round, so that the history shows lost, repeated and
 * reordered changes.
 */
export class LedgerTask implements LoadTask {
  static readonly #liveLimit = 60
  static readonly #deletedLimit = 60
  readonly name = 'writes'
  readonly pauseMs = 250
  readonly #caller: Caller
  readonly #prefix: string
  readonly #random: Random
  readonly #live = new Map<number, Entry>()
  readonly #deleted: string[] = []
  #created = 0
  #first: string | undefined
  #changes = 0

  constructor(caller: Caller, { index, random }: { index: number; random: Random }) {
    this.#caller = caller
    this.#random = random
    this.#prefix = `ledger-${index}-`
  }

  /** The number of acknowledged new assets. */
  get created(): number {
    return this.#created
  }

  get prefix(): string {
    return this.#prefix
  }

  async round(number: number): Promise<void> {
    const { inventory } = this.#caller
    const id = await createAsset(this.#caller, `${this.#prefix}${number}`)
    this.#created += 1
    const { data: created } = await inventory.readAsset({ params: { id } })
    const entry: Entry = { id, responsible: String(created.responsible), relatedTo: new Set() }
    if (this.#first === undefined) this.#first = id
    else this.#live.set(number, entry)
    await this.#setResponsible(this.#first, `change ${this.#changes}`)
    this.#changes += 1
    if (this.#live.size < 2) return
    const [changedNumber, changed] = pick(this.#live, this.#random)
    const responsible = `round ${number}`
    await this.#setResponsible(changed.id, responsible)
    changed.responsible = responsible
    const { data: asset } = await inventory.readAsset({ params: { id: changed.id } })
    assert.equal(asset.responsible, responsible, 'a read does not show the last acknowledged write')
    if (changed !== entry) {
      const [subject, object] = [id, changed.id].map((assetId) => ({ type: 'asset', id: assetId }) as const)
      assert.ok(subject && object)
      await inventory.createRelation({ body: { data: { subject, predicate: relationName, object } } })
      entry.relatedTo.add(changedNumber)
    }
    if (this.#live.size > LedgerTask.#liveLimit) await this.#deleteOldest()
  }

  async check(): Promise<number> {
    const { inventory } = this.#caller
    const query = { filter: `startswith(name, '${this.#prefix}')`, sort: 'id' }
    const assets = await listAll((page) => inventory.listAssets({ query: { ...query, ...page } }))
    const stored = assets
      .filter(({ id }) => id !== this.#first)
      .map(({ id, name, responsible }) => [String(name), id, responsible])
    const expected = [...this.#live].map(([number, { id, responsible }]) => [
      `${this.#prefix}${number}`,
      id,
      responsible,
    ])
    const byName = (one: unknown[], other: unknown[]) => (String(one[0]) < String(other[0]) ? -1 : 1)
    assert.deepEqual(
      stored.toSorted(byName),
      expected.toSorted(byName),
      'the assets differ from the acknowledged writes',
    )
    for (const id of this.#deleted)
      await assert.rejects(inventory.readAsset({ params: { id } }), { status: 404 }, `the deleted asset ${id} exists`)
    return assets.length + (await this.#checkRelations()) + (await this.#checkHistory())
  }

  async #setResponsible(id: string, responsible: string): Promise<void> {
    const { data } = await this.#caller.inventory.setResponsible({ params: { id }, body: { data: { responsible } } })
    await applied(this.#caller, data.statusId)
  }

  async #deleteOldest(): Promise<void> {
    const [number, { id }] = [...this.#live][0] ?? assert.fail('there is no asset')
    const { data } = await this.#caller.inventory.deleteAssets({ body: { data: { ids: [id] } } })
    // A DELETE has no idempotency key. If its response was lost, the repeated request finds no asset.
    await applied(this.#caller, data.statusId).catch(async (error: unknown) => {
      await assert.rejects(this.#caller.inventory.readAsset({ params: { id } }), { status: 404 }, String(error))
    })
    this.#live.delete(number)
    for (const { relatedTo } of this.#live.values()) relatedTo.delete(number)
    this.#deleted.push(id)
    if (this.#deleted.length > LedgerTask.#deletedLimit) this.#deleted.shift()
  }

  async #checkRelations(): Promise<number> {
    let count = 0
    for (const { id, relatedTo } of this.#live.values()) {
      const filter = `subject.id eq '${id}' and predicate eq '${relationName}'`
      const { data } = await this.#caller.inventory.listRelations({ query: { filter, limit: 100 } })
      const objects = data.map(({ object }) => ('id' in object ? object.id : ''))
      const expected = [...relatedTo].map((number) => this.#live.get(number)?.id)
      assert.deepEqual(objects.toSorted(), expected.toSorted(), `the relations of the asset ${id}`)
      count += objects.length
    }
    return count
  }

  /** Checks that the history of the first asset contains each change once, in order. */
  async #checkHistory(): Promise<number> {
    const id = this.#first ?? ''
    const history = await listAll((query) => this.#caller.inventory.readHistory({ params: { id }, query }))
    const changes = history.flatMap(({ after }) => {
      const number = /^change (\d+)$/.exec(String(after?.responsible))?.[1]
      return number === undefined ? [] : [Number(number)]
    })
    assert.deepEqual(changes.toReversed(), [...Array(this.#changes).keys()], 'the history of the first asset')
    return changes.length
  }
}

/** `ReaderTask` reads lists, searches, counts and graphs, and checks that each result matches its query. */
export class ReaderTask implements LoadTask {
  readonly name = 'reads'
  readonly pauseMs = 100
  readonly #caller: Caller
  readonly #random: Random
  #reads = 0

  constructor(caller: Caller, random: Random) {
    this.#caller = caller
    this.#random = random
  }

  async round(number: number): Promise<void> {
    const { inventory, jobs } = this.#caller
    const prefix = pick(['ledger-', 'import-', 'placed-'], this.#random)
    const filter = `startswith(name, '${prefix}')`
    const { data: assets } = await inventory.listAssets({ query: { filter, limit: 50, sort: 'name' } })
    const names = assets.map(({ name }) => String(name))
    assert.ok(names.every((name) => name.startsWith(prefix)))
    assert.equal(new Set(names).size, names.length, 'a list contains an asset twice')
    await inventory.readFacets({ query: { by: 'functional_object_type' } })
    await inventory.listAssets({ query: { q: 'ledger', limit: 20, count: false } })
    await inventory.listRelations({ query: { limit: 20 } })
    if (number % 5 === 0) await jobs.listJobs({ query: { limit: 20 } })
    if (assets.length > 0) {
      const { id } = pick(assets, this.#random)
      const graph = await inventory.readGraph({ params: { id: String(id) }, query: { depth: 2 } }).catch(unlessDeleted)
      if (graph !== undefined) assert.ok(graph.data.nodes.length > 0)
    }
    this.#reads += 1
  }

  async check(): Promise<number> {
    assert.ok(this.#reads > 0)
    return this.#reads
  }
}

/** Another task can delete an asset between two reads. */
function unlessDeleted(error: unknown): undefined {
  if (!(error instanceof Problem) || error.status !== 404) throw error
}

/**
 * `EventTask` reads the stream of events, and opens it again after its last event. The stream must contain the events of the
 * list, each once and in order. It stores only the events that it has not compared yet.
 */
export class EventTask implements LoadTask {
  static readonly #compared = 500
  readonly name = 'events'
  readonly pauseMs = 0
  readonly #load: EnduranceLoad
  readonly #caller: Caller
  #streamed: { position: number; id: string }[] = []
  #position = 0
  #comparedPosition = 0
  #count = 0
  /** The number of events about new assets, by the start of their name. */
  readonly created = new Map<string, number>()

  constructor(load: EnduranceLoad, caller: Caller) {
    this.#load = load
    this.#caller = caller
  }

  async round(): Promise<void> {
    await this.#read(5_000)
    if (this.#streamed.length > EventTask.#compared) await this.#compare()
  }

  async check(): Promise<number> {
    const last = await this.#lastPosition()
    await until(
      'the stream has all events',
      async () => {
        await this.#read(1_000)
        return this.#position >= last
      },
      patienceMs,
    )
    await this.#compare()
    return this.#count
  }

  async #lastPosition(): Promise<number> {
    let last = this.#position
    for (;;) {
      const { meta } = await this.#caller.events.listEvents({ query: { after: last, limit: 100 } })
      if (meta.lastPosition === last) return last
      last = meta.lastPosition
    }
  }

  /** Compares the streamed events with the list of events. */
  async #compare(): Promise<void> {
    const listed: { position: number; id: string }[] = []
    const last = this.#position
    for (let after = this.#comparedPosition; after < last; ) {
      const { data, meta } = await this.#caller.events.listEvents({ query: { after, limit: 100 } })
      for (const { id, sequence } of data) if (Number(sequence) <= last) listed.push({ position: Number(sequence), id })
      if (meta.lastPosition === after) break
      after = meta.lastPosition
    }
    const streamed = this.#streamed
    this.#streamed = []
    this.#comparedPosition = last
    this.#count += listed.length
    assert.deepEqual(streamed, listed, 'the stream differs from the list of events')
  }

  async #read(ms: number): Promise<void> {
    const token = await this.#load.token()
    const startedAt = performance.now()
    const reader = await this.#load.repeat(
      'event stream',
      async () => {
        const opened = await EventReader.open(this.#load.baseUrl, { token, lastEventId: this.#position })
        if (opened.response.status === 200) return opened
        opened.close()
        throw new TypeError(`the stream was refused with ${opened.response.status}`)
      },
      (error) => error instanceof TypeError,
    )
    let isClosed = false
    const timer = setTimeout(() => {
      isClosed = true
      reader.close()
    }, ms)
    try {
      for (let message = await reader.next(); message !== undefined; message = await reader.next()) {
        if (message.event === 'end') throw new TypeError(`the stream ended: ${message.data}`)
        this.#received(Number(message.id), JSON.parse(message.data))
      }
      if (!isClosed) throw new TypeError('the stream ended')
    } catch (error) {
      if (!isClosed) this.#load.outcomes.failed('event stream', startedAt, error)
    } finally {
      clearTimeout(timer)
      reader.close()
      this.#load.outcomes.completed('event stream')
    }
  }

  #received(position: number, event: { id: string; type: string; data: Record<string, unknown> }): void {
    this.#position = position
    this.#streamed.push({ position, id: event.id })
    if (!event.type.endsWith('inventory.asset.created')) return
    const [prefix = ''] = /^[a-z]+-(?:\d+-)?/.exec(String(event.data.name)) ?? []
    this.created.set(prefix, (this.created.get(prefix) ?? 0) + 1)
  }
}

/** `ScanTask` scans a simulated plant. Each scan finds the same devices. Each device is one asset. */
export class ScanTask implements LoadTask {
  static readonly #devices = 40
  readonly name = 'scans'
  readonly pauseMs = 5_000
  readonly #caller: Caller
  readonly #site: EnduranceSite
  #scans = 0

  constructor(caller: Caller, site: EnduranceSite) {
    this.#caller = caller
    this.#site = site
  }

  async round(): Promise<void> {
    const size = String(ScanTask.#devices)
    const jobId = await discover(this.#caller, this.#site.floor.gateway.id, { size, seed: '7', rate: '20' })
    const { state, found, message } = await over(this.#caller, jobId, patienceMs)
    if (state === 'failed') throw new InterruptedWork(`the scan failed: ${message}`)
    assert.deepEqual([state, found], ['finished', ScanTask.#devices], message)
    this.#scans += 1
  }

  async check(): Promise<number> {
    assert.ok(this.#scans > 0, 'no scan has finished')
    const relationsFilter = `object.id eq '${this.#site.floor.gateway.id}' and predicate eq 'found_by_gateway'`
    const { meta } = await this.#caller.inventory.listAssets({ query: { relationsFilter, limit: 1, count: true } })
    // The device of the remote sessions is the further asset.
    assert.equal(meta.totalElements, ScanTask.#devices + 1, 'each device is one asset')
    return this.#scans
  }
}

/** `ImportTask` imports files of new assets. Each row is written once. */
export class ImportTask implements LoadTask {
  static readonly #rows = 100
  readonly name = 'imports'
  readonly pauseMs = 8_000
  readonly #caller: Caller
  #rowsWritten = 0

  constructor(caller: Caller) {
    this.#caller = caller
  }

  get created(): number {
    return this.#rowsWritten
  }

  async round(number: number): Promise<void> {
    const { imports } = this.#caller
    const rows = Array.from({ length: ImportTask.#rows }, (_, index) => {
      const name = `import-${number}-${index}`
      return `${name},Acme,S-${name}\n`
    })
    const content = `Name,Manufacturer,Serial number\n${rows.join('')}`
    const { importId } = (await imports.uploadFile({ body: { mediaType: 'text/csv', content } })).data
    this.#rowsWritten += ImportTask.#rows
    const read = async () => (await imports.readImport({ params: { importId } })).data
    await until('the import ends', async () => !['queued', 'running'].includes((await read()).state), patienceMs)
    const { state, created, updated, unchanged, failed, problem } = await read()
    assert.deepEqual(
      [state, created, updated, unchanged, failed],
      ['finished', ImportTask.#rows, 0, 0, 0],
      JSON.stringify(problem),
    )
  }

  async check(): Promise<number> {
    const query = { filter: "startswith(name, 'import-')", limit: 1, count: true }
    const { meta } = await this.#caller.inventory.listAssets({ query })
    assert.equal(meta.totalElements, this.#rowsWritten, 'each imported row is one asset')
    return this.#rowsWritten
  }
}

/** `RemoteTask` opens remote sessions, compares the bytes that the device returns, and ends the sessions. */
export class RemoteTask implements LoadTask {
  static readonly #bytes = 64 * 1024
  static readonly #echoMs = 60_000
  readonly name = 'remote sessions'
  readonly pauseMs = 1_500
  readonly #load: EnduranceLoad
  readonly #caller: Caller
  readonly #site: EnduranceSite
  /** The number of sessions that were opened and ended. */
  sessions = 0
  #echoes = 0

  constructor(load: EnduranceLoad, caller: Caller, site: EnduranceSite) {
    this.#load = load
    this.#caller = caller
    this.#site = site
  }

  async round(): Promise<void> {
    const startedAt = performance.now()
    const { assetId } = this.#site.floor
    const body = { data: { assetId, service: 'tcp' as const, port: this.#site.device.port } }
    const client = this.#caller['remote-access']
    const { data: session } = await client.createSession({ body }).catch(throwInterruption)
    try {
      await this.#echo(session.id)
      this.#echoes += 1
    } catch (error) {
      if (!(error instanceof InterruptedWork)) throw error
      this.#load.outcomes.failed('remote streams', startedAt, error)
    } finally {
      // A repeated request can find that the first one has ended the session.
      await client.endSession({ params: { id: session.id } }).catch(unlessEnded)
      this.sessions += 1
    }
  }

  async check(): Promise<number> {
    assert.ok(this.#echoes > 0, 'no session has returned its bytes')
    return this.#echoes
  }

  async #echo(sessionId: string): Promise<void> {
    const token = await this.#load.token()
    const url = this.#load.baseUrl
    let stream: StreamClient
    try {
      stream = await openStream(sessionId, { url, token })
    } catch (error) {
      throw new InterruptedWork('the stream was refused', { cause: error })
    }
    using opened = stream
    const content = randomBytes(RemoteTask.#bytes)
    opened.send(content)
    const isOver = () => opened.closed !== undefined || opened.bytes.length >= content.length
    await until('the bytes come back', isOver, RemoteTask.#echoMs).catch((error) => {
      throw new InterruptedWork('the bytes did not come back', { cause: error })
    })
    const received = opened.bytes
    assertEqualBytes(received, content.subarray(0, received.length))
    if (received.length < content.length)
      throw new InterruptedWork(`the stream ended after ${received.length} bytes: ${JSON.stringify(opened.closed)}`)
  }
}

/** The gateway is offline after its kill, so no session can be opened. */
function throwInterruption(error: unknown): never {
  if (error instanceof Problem && error.code === 'gateway_offline')
    throw new InterruptedWork('the gateway is offline', { cause: error })
  throw error
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof Problem) || error.status !== 409) throw error
}

/** Returns a task with another pause after each round. */
export function withPause(task: LoadTask, pauseMs: number): LoadTask {
  return { name: task.name, pauseMs, round: (number) => task.round(number), check: () => task.check() }
}
