import assert from 'node:assert/strict'
import { inventory, type Relation } from '@millwright/api/inventory/inventory.ts'
import type { Permission } from '@millwright/api/permission.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from '../access/system.ts'
import { createCaller } from './caller.ts'
import { enrolledGateway, foundDevice, linkReport, runScan, signedReceipt, type TestGateway } from './gateway.ts'
import type { TestCaller, TestHub } from './hub.ts'
import { plantedWord } from './secrets-shown.ts'

/**
 * The test data for the visibility model: gateways in different access groups, their links, discoveries that found
 * devices, and jobs that name devices. For every combination of groups, two callers can read exactly these groups. One
 * of the two can also read the gateways and links of every group. Any asset can be moved to another group at any time.
 */

export const groupCount = 3

export type Kind = 'Gateway' | 'SoftwareArtifact' | 'Device'

/** An asset with its current group, and the versions at which it moved between groups. */
export type ModelAsset = {
  id: string
  kind: Kind
  group: number
  stays: { version: number; time: string; group: number }[]
}

export type ModelDiscovery = { id: string; gatewayId: string; linkId: string; found: string[] }

/** A job and the asset in its tags. For a discovery the asset is a link. For a property read it is a device. */
export type ModelJob = { id: string; gatewayId: string; assetId: string }

/** Credentials and their copies. A copy is assigned to an asset. */
export type ModelCredential = { id: string; copies: { id: string; assetId: string }[] }

/**
 * A hierarchy with the assets of each node. The first node is the parent of all other nodes. Some assets have no node.
 */
export type ModelHierarchy = { id: string; nodes: { id: string; assetIds: string[] }[]; assignmentId: string }

export type Reader = {
  caller: TestCaller
  /** The groups that the caller can read. */
  groups: ReadonlySet<number>
  /** True if the caller can read the gateways and links of every group. */
  readsGateways: boolean
}

export type World = {
  hub: TestHub
  admin: TestCaller
  groups: { id: string; name: string }[]
  assets: Map<string, ModelAsset>
  relations: Relation[]
  discoveries: ModelDiscovery[]
  jobs: ModelJob[]
  credential: ModelCredential
  hierarchy: ModelHierarchy
  readers: Reader[]
  gateways: TestGateway[]
}

const global = [
  'glb_jobs_read',
  'glb_discovery_run',
  'glb_gateway_manage',
  'glb_workflow_manage',
  'glb_audit_read',
  'glb_credential_read',
  'glb_hierarchy_read',
] as const

/** Creates the test data. The readers also get the additional permissions. */
export async function createWorld(hub: TestHub, additional: readonly Permission[] = []): Promise<World> {
  const admin = await hub.as('administrator')
  const group = async (name: string) =>
    (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
  const world: World = {
    hub,
    admin,
    groups: [],
    assets: new Map(),
    relations: [],
    discoveries: [],
    jobs: [],
    credential: { id: '', copies: [] },
    hierarchy: { id: '', nodes: [], assignmentId: '' },
    readers: [],
    gateways: [],
  }
  for (let index = 0; index < groupCount; index++)
    world.groups.push({ id: await group(`group-${index}`), name: `group-${index}` })
  const empty = await group('empty')
  for (let mask = 0; mask < 2 ** groupCount; mask++)
    for (const readsGateways of [false, true]) {
      const read = world.groups.filter((_, index) => mask & (1 << index)).map(({ id }) => id)
      const extra = readsGateways ? (['glb_inventory_read_gateway_data'] as const) : []
      const caller = await createCaller(hub, [
        { permissions: [...global, ...additional, ...extra] },
        ...[empty, ...read].map((accessGroupId) => ({
          permissions: ['inventory_read_asset_data'] as const,
          accessGroupId,
        })),
      ])
      const groups = new Set(world.groups.flatMap(({ id }, index) => (read.includes(id) ? [index] : [])))
      world.readers.push({ caller, groups, readsGateways })
    }
  for (let index = 0; index < groupCount; index++) await addGateway(world, index)
  await addCredential(world)
  await addHierarchy(world)
  world.relations = (await admin.inventory.listRelations({ query: { limit: 100 } })).data
  return world
}

/** Creates credentials and assigns them to the first device of each discovery. */
async function addCredential({ admin, credential, discoveries }: World): Promise<void> {
  const schema = { type: 'object', properties: { password: { type: 'string', writeOnly: true } } }
  const { data: created } = await admin.credentials.createSchema({
    query: { resourceIdentifier: 'example.cdm.al.reference', resourceVersion: '1.0.0' },
    body: { data: { uri: 'urn:example:credentials:1', schema } },
  })
  const { data: instance } = await admin.credentials.createInstance({
    body: {
      data: {
        schemaId: created.id,
        name: 'line',
        values: { password: `${plantedWord}-of-a-line` },
        metadata: { ipRanges: ['10.0.0.0/24'] },
      },
    },
  })
  credential.id = instance.id
  for (const { found } of discoveries) {
    const [assetId = ''] = found
    const { data: copy } = await admin.credentials.assignInstance({ params: { assetId, instanceId: instance.id } })
    credential.copies.push({ id: copy.id, assetId })
  }
}

/** Adds a gateway with two links, a discovery with each link, and a job that reads properties of a device. */
async function addGateway(world: World, group: number): Promise<void> {
  const { hub, admin } = world
  const gateway = await enrolledGateway(hub, admin, {
    name: `gateway ${group}`,
    access_group: world.groups[group]?.id ?? '',
  })
  world.gateways.push(gateway)
  await addAsset(world, { id: gateway.id, kind: 'Gateway', group })
  const links = ['one', 'two'].map((name) => linkReport({ appInstanceId: `link-${group}-${name}` }))
  const reported = await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links } } })
  for (const [place, { appInstanceId, assetId }] of reported.data.entries()) {
    await addAsset(world, { id: assetId, kind: 'SoftwareArtifact', group })
    const devices = [foundDevice(group * 10 + place * 2), foundDevice(group * 10 + place * 2 + 1)]
    const discovery = await discover(world, gateway, { assetLinkId: appInstanceId, devices })
    for (const id of discovery.ids) await addAsset(world, { id, kind: 'Device', group })
    world.discoveries.push({ id: discovery.discoveryId, gatewayId: gateway.id, linkId: assetId, found: discovery.ids })
    world.jobs.push({ id: discovery.jobId, gatewayId: gateway.id, assetId })
    const [assetId0 = ''] = discovery.ids
    const system = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
    const job = await hub.context.peers(workflows, system).createJob({
      body: {
        clientId: gateway.id,
        workflow: 'device-info',
        tags: ['device-info', `asset/${assetId0}`],
        definition: { assetId: assetId0 },
      },
    })
    world.jobs.push({ id: job.id, gatewayId: gateway.id, assetId: assetId0 })
  }
}

/**
 * Creates a hierarchy with three nodes below a site. Every fifth asset stays unassigned, and the other assets are
 * assigned to the four nodes in turn.
 */
async function addHierarchy({ admin, assets, hierarchy }: World): Promise<void> {
  const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
  hierarchy.id = tree.id
  const ids = [...assets.keys()].filter((_, index) => index % 5 > 0)
  for (const index of [0, 1, 2, 3]) {
    const [site] = hierarchy.nodes
    const { data: node } = await admin.hierarchy.createNode({
      params: { id: tree.id },
      body: { data: { name: `node ${index}`, ...(site === undefined ? {} : { parentId: site.id }) } },
    })
    const assetIds = ids.filter((_, number) => number % 4 === index)
    const { data } = await admin.hierarchy.assignAssets({ params: { id: node.id }, body: { data: { assetIds } } })
    hierarchy.nodes.push({ id: node.id, assetIds })
    hierarchy.assignmentId = 'assignmentId' in data ? data.assignmentId : ''
  }
  const nodeId = hierarchy.nodes[0]?.id ?? ''
  await admin.hierarchy.replaceRules({
    params: { id: tree.id },
    body: { data: { rules: [{ nodeId, namePattern: '*' }] } },
  })
}

type Scan = { assetLinkId: string; devices: Record<string, unknown>[] }

async function discover({ hub, admin }: World, gateway: TestGateway, { assetLinkId, devices }: Scan) {
  const { jobId: discoveryId } = await admin.discovery.createDiscovery({
    params: { gatewayId: gateway.id },
    body: { data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '3' }] } },
  })
  await hub.settle()
  const { job } = await runScan({
    hub,
    admin,
    gateway,
    jobId: discoveryId,
    assets: devices,
    beforeEnd: ({ job: leased, lease }) =>
      gateway.gatekeeper.uploadReceipt({
        params: { id: leased.id },
        body: { data: { lease: lease.id, receipt: signedReceipt(gateway, leased) } },
      }),
  })
  const { data: report } = await admin.discovery.getReport({ params: { jobId: discoveryId }, query: {} })
  return { discoveryId, jobId: job.id, ids: report.findings.map(({ assetId }) => assetId) }
}

async function addAsset(world: World, { id, kind, group }: Pick<ModelAsset, 'id' | 'kind' | 'group'>): Promise<void> {
  const { data } = await world.admin.inventory.readAsset({ params: { id }, query: {} })
  const first = world.groups.findIndex(({ name }) => name === data.access_group)
  const asset: ModelAsset = {
    id,
    kind,
    group: first,
    stays: [{ version: 1, time: String(data.created_timestamp), group: first }],
  }
  world.assets.set(id, asset)
  await moveAsset(world, asset, group)
}

/** Moves an asset to a group. Group -1 is the default group, which only administrators can read. */
export async function moveAsset({ hub, admin, groups }: World, asset: ModelAsset, group: number): Promise<void> {
  if (asset.group === group) return
  const accepted = await admin.exchange(inventory, 'setAccessGroup', {
    params: { id: asset.id },
    body: { data: { access_group: groups[group]?.id } },
    headers: { prefer: 'wait=30' },
  })
  await hub.settle()
  const { data: status } = accepted.body as { data: { state?: string } }
  assert.equal(status.state, 'finished', JSON.stringify(status))
  const { data } = await admin.inventory.readHistory({ params: { id: asset.id }, query: { limit: 1 } })
  asset.group = group
  asset.stays.push({ version: data[0]?.version ?? 0, time: data[0]?.time ?? '', group })
}
