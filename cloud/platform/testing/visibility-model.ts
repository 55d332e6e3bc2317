import assert from 'node:assert/strict'
import type { Contract } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { idsIn } from '../asset-visibility.ts'
import type { TestGateway } from './gateway.ts'
import type { TestHub } from './hub.ts'
import { createWorld, groupCount, type ModelAsset, moveAsset, type Reader, type World } from './visibility-world.ts'

/**
 * A simple model of the data that each caller can read in every service. Random requests are sent, and their responses
 * are compared with the model. Every response is also searched for ids of assets that its caller cannot read.
 */

export type Random = (below: number) => number

/** Creates a small pseudo-random generator (mulberry32). A run can be repeated with the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/**
 * Once in `picksPerMove` picks, an asset is moved to another group. Once in `picksPerGateway` picks, a gateway sends
 * its requests.
 */
const picksPerMove = 20
const picksPerGateway = 50

type Options = { questions: number; seed: number }

/** Sends the given number of random requests and compares their responses with the model. */
export async function askAll(hub: TestHub, { questions, seed }: Options): Promise<void> {
  const world = await createWorld(hub)
  const random = randomFrom(seed)
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value
  for (let requests = 0, picks = 0; requests < questions; picks++) {
    if (picks % picksPerMove === 0) await moveAsset(world, pick([...world.assets.values()]), random(groupCount))
    if (picks % picksPerGateway === 0) await askGateway(world, pick(world.gateways))
    const [name, surface] = pick(Object.entries(surfaces))
    const asking = new Asking(world, pick(world.readers), pick)
    try {
      await surface(asking)
    } catch (error) {
      throw new Error(`request ${requests} (${name}, seed ${seed}): ${(error as Error).message}`, { cause: error })
    }
    requests += asking.requests
  }
}

type Body = Record<string, never> & {
  data: never
  meta?: { totalElements?: number }
  content?: { id: string }[]
  pagination?: { total: number }
}

/** `Asking` is one request with its caller. It knows what the model allows the caller to read. */
class Asking {
  readonly world: World
  readonly reader: Reader
  readonly pick: <Value>(values: readonly Value[]) => Value
  requests = 0

  constructor(world: World, reader: Reader, pick: <Value>(values: readonly Value[]) => Value) {
    this.world = world
    this.reader = reader
    this.pick = pick
  }

  get assets(): ModelAsset[] {
    return [...this.world.assets.values()]
  }

  of(kind: ModelAsset['kind']): ModelAsset[] {
    return this.assets.filter((asset) => asset.kind === kind)
  }

  canRead(id: string): boolean {
    const asset = this.world.assets.get(id)
    return asset !== undefined && this.canReadIn(asset, asset.group)
  }

  /** Returns true if the caller can read the states that an asset had while it was in this group. */
  canReadIn({ kind }: ModelAsset, group: number): boolean {
    return this.reader.groups.has(group) || (this.reader.readsGateways && kind !== 'Device')
  }

  /** Returns the group of an asset at a time. `groupOf` returns its group at a version. */
  groupAt({ stays }: ModelAsset, time: string): number {
    return stays.findLast((stay) => stay.time <= time)?.group ?? -1
  }

  groupOf({ stays }: ModelAsset, version: number): number {
    return stays.findLast((stay) => stay.version <= version)?.group ?? -1
  }

  wasReadable(id: string, time: string): boolean {
    const asset = this.world.assets.get(id)
    return asset !== undefined && this.canRead(id) && this.canReadIn(asset, this.groupAt(asset, time))
  }

  /** Returns true if the caller can read an end of a relation. Nodes have no access group. */
  canReadEnd({ type, id }: { type: string; id: string }): boolean {
    return type === 'node' || this.canRead(id)
  }

  /** Returns the assets of a node. With `includeBelow`, the assets of the nodes below it are included. */
  assetsOfNode(id: string, includeBelow: boolean): string[] {
    const { nodes } = this.world.hierarchy
    return nodes
      .filter((node) => node.id === id || (includeBelow && nodes[0]?.id === id))
      .flatMap(({ assetIds }) => assetIds)
  }

  /** Returns the assets of a graph. A graph also contains the nodes of hierarchies, which have no access group. */
  assetsAmong(nodes: readonly { id: string }[]): string[] {
    return idsOf(nodes).filter((id) => this.world.assets.has(id))
  }

  readable(ids: Iterable<string>): string[] {
    return [...ids].filter((id) => this.canRead(id)).toSorted()
  }

  /**
   * Returns an entry of a history as the caller sees it. If the caller cannot read the gateway that made the change,
   * the entry does not name the gateway.
   */
  withoutAuthor<Entry extends { principal: string | null; source: { type: string; value?: string } }>(entry: Entry) {
    const isHidden = (id: string | null | undefined) => this.world.assets.has(id ?? '') && !this.canRead(id ?? '')
    return {
      ...entry,
      ...(isHidden(entry.principal) ? { principal: null, principalName: 'hidden gateway' } : {}),
      ...(isHidden(entry.source.value) ? { source: { type: entry.source.type } } : {}),
    }
  }

  get discoveries() {
    return this.world.discoveries.filter(({ gatewayId, linkId }) => this.canRead(gatewayId) && this.canRead(linkId))
  }

  get jobs() {
    return this.world.jobs.filter(({ gatewayId }) => this.canRead(gatewayId))
  }

  /**
   * Checks an event of a discovery: the caller can read its gateway and link, and the event contains no counts of
   * assets.
   */
  requireReadableDiscovery(type: string, { subject, data }: { subject: string; data: Record<string, unknown> }): void {
    const one = this.world.discoveries.find(({ id }) => subject === `discovery/${id}`)
    assert.ok(one === undefined || this.discoveries.includes(one), `${type} of a discovery with a hidden link`)
    assert.ok(!('found' in ((data.run ?? {}) as object)), `${type} counts assets`)
  }

  /**
   * Sends a request. Searches the response for assets that the caller cannot read and that the request did not name.
   */
  async ask(
    service: keyof typeof contracts,
    operation: string,
    input: object = {},
  ): Promise<{ status: number; body: Body }> {
    this.requests++
    const answer = await this.reader.caller.exchange(contracts[service] as Contract, operation, input as never)
    const named = new Set(idsIn(input))
    // The identifier of a link starts with the id of its gateway. This id is part of the link, so it is removed before
    // the search.
    const text = JSON.stringify(answer.body ?? null).replaceAll(/[0-9a-f-]{36}\/link-\d-/g, '')
    const leaked = idsIn(text).filter((id) => this.world.assets.has(id) && !this.canRead(id) && !named.has(id))
    assert.deepEqual(leaked, [], `${service}.${operation} ${JSON.stringify(input)} names hidden assets`)
    return { status: answer.status, body: answer.body as Body }
  }

  /** Requests one resource. The response must be 404 if the caller cannot read the resource. */
  async askFor(
    service: keyof typeof contracts,
    operation: string,
    { input, isThere }: { input: object; isThere: boolean },
  ) {
    const { status, body } = await this.ask(service, operation, input)
    assert.equal(status === 404, !isThere, `${service}.${operation} ${JSON.stringify(input)}: ${status}`)
    if (isThere) assert.ok(status < 300, `${service}.${operation}: ${status} ${JSON.stringify(body)}`)
    return body
  }
}

function idsOf(data: unknown, key = 'id'): string[] {
  return (data as Record<string, string>[]).map((one) => one[key] ?? '').toSorted()
}

type RunCounts = { found: number; created: number; updated: number; unchanged: number; gone: number }

/** Returns the number of assets that the counts of a run contain. */
function countedIn({ found, created, updated, unchanged, gone }: RunCounts): number {
  assert.equal(found, created + updated + unchanged)
  return found + gone
}

type VisibilityCheck = (asking: Asking) => Promise<unknown>

const surfaces: Record<string, VisibilityCheck> = {
  async 'inventory list'(asking) {
    const kind = asking.pick([undefined, 'Gateway', 'SoftwareArtifact', 'Device'] as const)
    const query = kind === undefined ? { limit: 100 } : { limit: 100, filter: `functional_object_type eq '${kind}'` }
    const { body } = await asking.ask('inventory', 'listAssets', { query })
    const expected = asking.readable(asking.assets.filter((one) => one.kind === (kind ?? one.kind)).map(({ id }) => id))
    assert.deepEqual(idsOf(body.data), expected)
    assert.equal(body.meta?.totalElements, expected.length)
  },
  async 'inventory relationsFilter'(asking) {
    const gateway = asking.pick(asking.of('Gateway'))
    const relationsFilter = `object.id eq '${gateway.id}' and predicate eq 'is_running_on'`
    const { body } = await asking.ask('inventory', 'listAssets', { query: { relationsFilter } })
    const links = asking.world.relations.filter(
      ({ predicate, object }) => predicate === 'is_running_on' && object.id === gateway.id,
    )
    const expected = asking.canRead(gateway.id) ? asking.readable(links.map(({ subject }) => subject.id)) : []
    assert.deepEqual(idsOf(body.data), expected)
  },
  async 'inventory search'(asking) {
    const { body } = await asking.ask('inventory', 'listAssets', { query: { q: 'Device', limit: 100 } })
    assert.deepEqual(
      idsOf(body.data).filter((id) => asking.world.assets.get(id)?.kind === 'Device'),
      asking.readable(asking.of('Device').map(({ id }) => id)),
    )
  },
  async 'inventory facets'(asking) {
    const { body } = await asking.ask('inventory', 'readFacets', { query: { by: 'access_group' } })
    const counted = Object.entries(
      Object.groupBy(
        asking.readable(asking.world.assets.keys()),
        (id) => `group-${asking.world.assets.get(id)?.group}`,
      ),
    ).map(([value, members]) => [value, members?.length])
    const shown = (body.data as { value: string; count: number }[]).map(({ value, count }) => [value, count])
    assert.deepEqual(shown.toSorted(), counted.toSorted())
  },
  async 'inventory one'(asking) {
    const { id } = asking.pick(asking.assets)
    for (const operation of ['readAsset', 'readIdentifiers', 'readFieldSources', 'listMerges'])
      await asking.askFor('inventory', operation, { input: { params: { id } }, isThere: asking.canRead(id) })
  },
  async 'inventory one at a time'(asking) {
    const asset = asking.pick(asking.assets)
    const { time } = asking.pick(asset.stays)
    const input = { params: { id: asset.id }, query: { at: time } }
    await asking.askFor('inventory', 'readAsset', { input, isThere: asking.wasReadable(asset.id, time) })
  },
  async 'inventory history'(asking) {
    const asset = asking.pick(asking.assets)
    const input = { params: { id: asset.id }, query: { limit: 100 } }
    const body = await asking.askFor('inventory', 'readHistory', { input, isThere: asking.canRead(asset.id) })
    if (!asking.canRead(asset.id)) return
    const all = await asking.world.admin.inventory.readHistory({ params: { id: asset.id }, query: { limit: 100 } })
    const isReadable = (version: number) => asking.canReadIn(asset, asking.groupOf(asset, version))
    const expected = all.data
      .filter(({ version }) => isReadable(version))
      .map((entry) => ({ ...asking.withoutAuthor(entry), before: isReadable(entry.version - 1) ? entry.before : null }))
    assert.deepEqual(body.data, expected)
    assert.equal(body.meta?.totalElements, expected.length)
  },
  async 'inventory relations'(asking) {
    const { id } = asking.pick(asking.assets)
    const input = { params: { id }, query: { limit: 100 } }
    const isThere = asking.canRead(id)
    const now = await asking.askFor('inventory', 'listAssetRelations', { input, isThere })
    const past = await asking.askFor('inventory', 'readRelationHistory', { input, isThere })
    if (!isThere) return
    const own = asking.world.relations.filter(({ subject, object }) => subject.id === id || object.id === id)
    const expected = own.filter(({ subject, object }) => asking.canReadEnd(subject) && asking.canReadEnd(object))
    assert.deepEqual(idsOf(now.data), expected.map((relation) => relation.id).toSorted())
    assert.equal(now.meta?.totalElements, expected.length)
    const then = own.filter(({ subject, object, createdTimestamp: time }) =>
      [subject, object].every((end) => end.type === 'node' || asking.wasReadable(end.id, time)),
    )
    const changes = (past.data as { relation: { id: string } }[]).map(({ relation }) => relation)
    assert.deepEqual(idsOf(changes), then.map((relation) => relation.id).toSorted())
  },
  async 'inventory graph'(asking) {
    const { id } = asking.pick(asking.assets)
    const body = await asking.askFor('inventory', 'readGraph', {
      input: { params: { id } },
      isThere: asking.canRead(id),
    })
    if (!asking.canRead(id)) return
    const own = asking.world.relations.filter(({ subject, object }) => subject.id === id || object.id === id)
    const ends = own.flatMap(({ subject, object }) => [subject.id, object.id])
    const { nodes } = body.data as { nodes: { id: string }[] }
    assert.deepEqual(asking.assetsAmong(nodes), asking.readable(new Set([id, ...ends])))
  },
  async 'inventory topology'(asking) {
    const { body } = await asking.ask('inventory', 'readTopology', { query: {} })
    const { nodes } = body.data as { nodes: { id: string }[] }
    assert.deepEqual(asking.assetsAmong(nodes), asking.readable(asking.world.assets.keys()))
  },
  async 'inventory topology at a time'(asking) {
    const { time: at } = asking.pick(asking.pick(asking.assets).stays)
    const { body } = await asking.ask('inventory', 'readTopology', { query: { at } })
    const { nodes } = body.data as { nodes: { id: string }[] }
    const existing = asking.assets.filter(({ stays }) => (stays[0]?.time ?? '') <= at).map(({ id }) => id)
    assert.deepEqual(asking.assetsAmong(nodes), existing.filter((id) => asking.wasReadable(id, at)).toSorted())
  },
  async 'inventory graph difference'(asking) {
    const asset = asking.pick(asking.assets)
    const { time: from } = asking.pick(asset.stays)
    const [before, now] = [asking.wasReadable(asset.id, from), asking.canRead(asset.id)]
    const input = { params: { id: asset.id }, query: { from } }
    const body = await asking.askFor('inventory', 'readGraphDifference', { input, isThere: before || now })
    const { changed } = (body.data ?? { changed: { nodes: [] } }) as { changed: { nodes: { id: string }[] } }
    for (const { id } of changed.nodes) assert.ok(asking.wasReadable(id, from), 'a change from a hidden time')
  },
  async 'inventory path'(asking) {
    const [{ id }, { id: to }] = [asking.pick(asking.assets), asking.pick(asking.assets)]
    const { status } = await asking.ask('inventory', 'readPath', { params: { id }, query: { to } })
    assert.equal(status, !asking.canRead(id) ? 404 : asking.canRead(to) ? 200 : 422)
  },
  async 'inventory identity'(asking) {
    const { id } = asking.pick(asking.assets)
    for (const operation of ['listDuplicates', 'listIdentityConflicts'])
      await asking.ask('inventory', operation, { query: asking.pick([{}, { asset: id }]) })
  },
  async 'inventory v1'(asking) {
    const { id } = asking.pick(asking.assets)
    await asking.askFor('inventory-v1', 'readAsset', { input: { params: { id } }, isThere: asking.canRead(id) })
    const { body } = await asking.ask('inventory-v1', 'listAssets')
    assert.deepEqual(idsOf(body), asking.readable(asking.world.assets.keys()))
  },
  async onboarding(asking) {
    const { body } = await asking.ask('onboarding', 'listGateways', { query: { limit: 100 } })
    const expected = asking.readable(asking.of('Gateway').map(({ id }) => id))
    assert.deepEqual(idsOf(body.data), expected)
    assert.equal(body.meta?.totalElements, expected.length)
    for (const gateway of body.data as { id: string; access_group: string }[])
      assert.equal(gateway.access_group, asking.world.groups[asking.world.assets.get(gateway.id)?.group ?? -1]?.id)
    const { id } = asking.pick(asking.of('Gateway'))
    const isThere = asking.canRead(id)
    await asking.askFor('onboarding', 'getGateway', { input: { params: { id } }, isThere })
    if (isThere) return
    for (const operation of ['createGatewayConfig', 'revokeGateway', 'deleteGateway'])
      await asking.askFor('onboarding', operation, { input: { params: { id } }, isThere })
  },
  async 'discovery list'(asking) {
    const { body } = await asking.ask('discovery', 'listDiscoveries', { query: { limit: 100 } })
    assert.deepEqual(idsOf(body.data, 'jobId'), asking.discoveries.map(({ id }) => id).toSorted())
    assert.equal(body.meta?.totalElements, asking.discoveries.length)
    for (const shown of body.data as (RunCounts & { jobId: string })[]) {
      const one = asking.discoveries.find(({ id }) => id === shown.jobId)
      assert.equal(countedIn(shown), asking.readable(one?.found ?? []).length, 'hidden assets are not counted')
    }
  },
  async 'discovery one'(asking) {
    const one = asking.pick(asking.world.discoveries)
    const isThere = asking.discoveries.includes(one)
    const input = { params: { jobId: one.id }, query: {} }
    const shown = await asking.askFor('discovery', 'getDiscovery', { input: { params: input.params }, isThere })
    const runs = await asking.askFor('discovery', 'listRuns', { input, isThere })
    const report = await asking.askFor('discovery', 'getReport', { input, isThere })
    await asking.askFor('discovery', 'getReceipt', { input, isThere })
    if (!isThere) {
      for (const operation of ['cancelDiscovery', 'runDiscovery', 'deleteDiscovery'])
        await asking.askFor('discovery', operation, { input: { params: { jobId: one.id } }, isThere })
      const change = { params: { jobId: one.id }, body: { data: {} } }
      await asking.askFor('discovery', 'updateDiscovery', { input: change, isThere })
      return
    }
    const { run, findings, totalFindings } = report.data as {
      run: RunCounts
      findings: object[]
      totalFindings: number
    }
    assert.deepEqual(idsOf(findings, 'assetId'), asking.readable(one.found))
    assert.equal(totalFindings, asking.readable(one.found).length)
    const counted = [shown.data as RunCounts, run, ...(runs.data as RunCounts[])].map(countedIn)
    assert.deepEqual(counted, [totalFindings, totalFindings, totalFindings], 'hidden assets are not counted')
  },
  async 'discovery links'(asking) {
    const { id: gatewayId } = asking.pick(asking.of('Gateway'))
    const isThere = asking.canRead(gatewayId)
    const body = await asking.askFor('discovery', 'listAssetLinks', { input: { params: { gatewayId } }, isThere })
    const links = new Set(
      asking.world.discoveries.filter((one) => one.gatewayId === gatewayId).map(({ linkId }) => linkId),
    )
    if (isThere) assert.deepEqual(idsOf(body.data, 'assetId'), asking.readable(links))
    const start = { params: { gatewayId }, body: { data: { assetLinkId: 'no-such-link' } } }
    const { status } = await asking.ask('discovery', 'createDiscovery', start)
    assert.equal(status, isThere ? 422 : 404)
  },
  async 'discovery properties'(asking) {
    const { id } = asking.pick(asking.assets)
    const { status } = await asking.ask('discovery', 'readProperties', { params: { id }, body: { data: { keys: [] } } })
    assert.equal(status === 404, !asking.canRead(id))
    if (asking.canRead(id)) return
    const supported = await asking.ask('discovery', 'listSupportedProperties', { params: { id } })
    assert.equal(supported.status, 404)
  },
  async credentials(asking) {
    const { id, copies } = asking.world.credential
    const usage = await asking.ask('credentials', 'readInstanceUsage', { params: { instanceId: id } })
    const assigned = asking.readable(copies.map(({ assetId }) => assetId))
    assert.deepEqual(idsOf((usage.body.data as { copies: object[] }).copies, 'assetId'), assigned)
    const listed = await asking.ask('credentials', 'listInstances', { query: { limit: 100 } })
    const named = (listed.body.data as { assetId?: string }[]).flatMap(({ assetId }) => assetId ?? [])
    assert.deepEqual(named.toSorted(), assigned)
    const { id: gatewayId } = asking.pick(asking.of('Gateway'))
    const query = { gatewayId, resourceIdentifier: 'example', addresses: '10.0.0.1' }
    const refused = await asking.ask('credentials', 'listRefusals', { query })
    for (const { assetId } of refused.body.data as { assetId?: string }[])
      assert.ok(asking.canRead(gatewayId) && (assetId === undefined || asking.canRead(assetId)))
    const copy = asking.pick(copies)
    for (const operation of ['getInstance', 'listInstanceVersions', 'readInstanceUsage'])
      await asking.askFor('credentials', operation, { input: { params: { instanceId: copy.id } }, isThere: true })
    await asking.ask('credentials', 'listAssetInstances', { params: { assetId: copy.assetId } })
  },
  async jobs(asking) {
    const { body } = await asking.ask('jobs', 'listJobs', { query: { limit: 100 } })
    assert.deepEqual(idsOf(body.data), asking.jobs.map(({ id }) => id).toSorted())
    assert.equal(body.meta?.totalElements, asking.jobs.length)
    const job = asking.pick(asking.world.jobs)
    await asking.askFor('jobs', 'getJob', { input: { params: { id: job.id } }, isThere: asking.jobs.includes(job) })
    const tagged = await asking.ask('jobs', 'listJobs', { query: { tag: `asset/${job.assetId}` } })
    const isShown = asking.jobs.includes(job) && asking.canRead(job.assetId)
    assert.deepEqual(idsOf(tagged.body.data), isShown ? [job.id] : [])
  },
  async workflows(asking) {
    const { body } = await asking.ask('workflows', 'listJobs', { query: { limit: 100 } })
    assert.deepEqual(idsOf(body.content), asking.jobs.map(({ id }) => id).toSorted())
    assert.equal(body.pagination?.total, asking.jobs.length)
    const job = asking.pick(asking.world.jobs)
    const isThere = asking.jobs.includes(job)
    for (const operation of ['getJobStatus', 'getJobDefinition', 'getJobTags'])
      await asking.askFor('workflows', operation, { input: { params: { id: job.id } }, isThere })
    const input = { params: { id: job.id }, query: { history: true } }
    const shown = await asking.askFor('workflows', 'getJob', { input, isThere })
    const { definition } = shown as unknown as { definition: object }
    const isWhole = asking.canRead(job.assetId)
    if (isThere) assert.equal(Object.keys(definition).length > 0, isWhole, 'the definition')
    if (asking.canRead(job.gatewayId)) return
    const create = { body: { clientId: job.gatewayId, workflow: 'device-info' } }
    assert.ok((await asking.ask('workflows', 'createJob', create)).status >= 400)
  },
  async 'hierarchy assets'(asking) {
    const { id, nodes } = asking.world.hierarchy
    const node = asking.pick(nodes)
    const includeBelow = asking.pick([true, false])
    const expected = asking.readable(asking.assetsOfNode(node.id, includeBelow))
    const query = { hierarchyNode: node.id, includeBelow, limit: 100 }
    const { body } = await asking.ask('inventory', 'listAssets', { query })
    assert.deepEqual(idsOf(body.data), expected)
    assert.equal(body.meta?.totalElements, expected.length)
    const input = { params: { id: node.id }, query: { includeBelow, limit: 100 } }
    const listed = await asking.ask('hierarchy', 'listNodeAssets', input)
    assert.deepEqual(idsOf(listed.body.data), expected)
    const free = await asking.ask('inventory', 'listAssets', { query: { unassignedIn: id, limit: 100 } })
    const assigned = new Set(nodes.flatMap(({ assetIds }) => assetIds))
    assert.deepEqual(
      idsOf(free.body.data),
      asking.readable([...asking.world.assets.keys()].filter((one) => !assigned.has(one))),
    )
  },
  async 'hierarchy counts'(asking) {
    const node = asking.pick(asking.world.hierarchy.nodes)
    const expected = [false, true].map(
      (includeBelow) => asking.readable(asking.assetsOfNode(node.id, includeBelow)).length,
    )
    const deadline = performance.now() + 60_000
    for (;;) {
      const { body } = await asking.ask('hierarchy', 'readNode', { params: { id: node.id } })
      const { assetCount, totalAssetCount } = body.data as { assetCount: number; totalAssetCount: number }
      if (assetCount === expected[0] && totalAssetCount === expected[1]) return
      // The counts are stored, and a change appears in them after a short time.
      assert.ok(performance.now() < deadline, `counts ${assetCount}, ${totalAssetCount} instead of ${expected}`)
    }
  },
  async 'hierarchy paths'(asking) {
    const { id } = asking.pick(asking.assets)
    const input = { params: { id } }
    const body = await asking.askFor('hierarchy', 'listAssetPaths', { input, isThere: asking.canRead(id) })
    const assetIds = asking.assets.slice(0, hierarchyLimits.assetsWithPaths).map((asset) => asset.id)
    const many = { body: { data: { assetIds } } }
    const listed = await asking.ask('hierarchy', 'listPathsOfAssets', many)
    assert.deepEqual(idsOf(listed.body.data, 'assetId'), asking.readable(assetIds))
    if (!asking.canRead(id)) return
    const node = asking.world.hierarchy.nodes.find(({ assetIds }) => assetIds.includes(id))
    const shown = (body.data as { path: { id: string }[] }[]).map(({ path }) => path.at(-1)?.id)
    assert.deepEqual(shown, node === undefined ? [] : [node.id])
  },
  async 'hierarchy proposals and assignments'(asking) {
    const { id, nodes, assignmentId } = asking.world.hierarchy
    const query = { onlyUnassigned: false }
    const { body } = await asking.ask('hierarchy', 'listProposals', { params: { id }, query })
    const others = asking.assets.filter((asset) => !nodes[0]?.assetIds.includes(asset.id)).map((asset) => asset.id)
    assert.deepEqual(idsOf(body.data, 'assetId'), asking.readable(others))
    const listed = await asking.ask('hierarchy', 'listAssignments', { query: {} })
    assert.equal(listed.body.meta?.totalElements, 0, 'the counts of an assignment include hidden assets')
    for (const operation of ['readAssignment', 'listAssignmentResults'])
      await asking.askFor('hierarchy', operation, { input: { params: { id: assignmentId } }, isThere: false })
  },
  async events(asking) {
    const after = asking.pick([0, 20, 50, 100])
    asking.requests++
    const events = await asking.reader.caller.events.listEvents({ query: { after, limit: 100 } })
    for (const { type, subject, data } of events.data) {
      // The caller can read an event about an asset if the asset was in a readable group at the time of the event.
      const { accessGroupId } = data as { accessGroupId?: string }
      const wasIn = asking.world.groups.findIndex(({ id }) => id === accessGroupId)
      const isOfReadableTime = type.includes('.inventory.asset.') && asking.reader.groups.has(wasIn)
      const isAllowed = (id: string) => asking.canRead(id) || (isOfReadableTime && subject === `asset/${id}`)
      const leaked = idsIn(subject, data).filter((id) => asking.world.assets.has(id) && !isAllowed(id))
      assert.deepEqual(leaked, [], `${type} names hidden assets`)
      const job = asking.world.jobs.find(({ id }) => subject === `job/${id}`)
      if (job !== undefined)
        assert.ok(
          [job.gatewayId, job.assetId].every((id) => asking.canRead(id)),
          `${type} of a job with a hidden asset`,
        )
      if (type.includes('.hierarchy.')) assert.ok(!('assigned' in data), `${type} counts assets`)
      if (type.includes('.discovery.')) asking.requireReadableDiscovery(type, { subject, data })
    }
  },
}

/** Checks that a gateway can read its own jobs with its token, and nothing else. */
async function askGateway({ jobs, assets }: World, gateway: TestGateway): Promise<void> {
  const own = jobs.filter(({ gatewayId }) => gatewayId === gateway.id)
  const { content } = await gateway.workflows.listJobs({ query: { limit: 100 } })
  assert.deepEqual(idsOf(content), own.map(({ id }) => id).toSorted())
  const foreign = jobs.find(({ gatewayId }) => gatewayId !== gateway.id)
  const [asset] = assets.keys()
  const refused = [
    ['workflows', 'getJob', { params: { id: foreign?.id } }, 404],
    ['inventory', 'listAssets', {}, 403],
    ['inventory', 'readAsset', { params: { id: asset } }, 403],
    ['jobs', 'listJobs', {}, 403],
    ['discovery', 'listDiscoveries', {}, 403],
    ['onboarding', 'listGateways', {}, 403],
    ['events', 'listEvents', {}, 403],
  ] as const
  for (const [service, operation, input, expected] of refused) {
    const { status } = await gateway.exchange(contracts[service] as Contract, operation, input as never)
    assert.equal(status, expected, `${service}.${operation} as a gateway`)
  }
}
