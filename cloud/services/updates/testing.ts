import { createHash, randomBytes } from 'node:crypto'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import { type Campaign, type CampaignDevice, type DeviceState, updateLimits, updates } from '@millwright/api/updates.ts'
import type { WorkflowJob } from '@millwright/api/workflows.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { enrolledGateway, foundDevice, linkReport, runScan, type TestGateway } from '../../platform/testing/gateway.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { listCampaigns, listDue, postpone } from './campaign-store.ts'

/** The test kit of the update hub: devices that a gateway has found, artefacts, and a gateway that updates devices. */

export const testProduct = { manufacturer: 'Example', product: 'PUMP-1' } as const

const updateInterfaces = ['millwright.industrialassethub.artefact_update.v1', 'factory_x.artefact_update.v1']

/** Creates the report of a device with a firmware version, as a gateway sends it. */
export function updatableDevice(index: number, { version = '1.0.0', ...changes }: Record<string, unknown> = {}) {
  return foundDevice(index, {
    product_instance_information: {
      serial_number: `SN${index}`,
      manufacturer_product: {
        manufacturer: { name: testProduct.manufacturer },
        product_id: testProduct.product,
        product_name: 'Pump',
      },
    },
    software_components: [
      {
        software_component_type: 'SoftwareArtifactComponent',
        artifact: {
          functional_object_type: 'SoftwareArtifact',
          functional_object_schema_url: baseSchemaUrl,
          name: 'Firmware',
          is_firmware: true,
          asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'Firmware', version }],
        },
      },
    ],
    ...changes,
  })
}

export type UpdatePlant = {
  hub: TestHub
  admin: TestCaller
  gateway: TestGateway
  /** The number of the first device. */
  first: number
  /** The assets of the devices, in the order of their numbers. */
  assetIds: string[]
}

type PlantOptions = { devices?: number; first?: number; name?: string; accessGroup?: string }

let nextDevice = 1

/** Creates a plant whose devices have other identifiers than the devices of all plants before. */
export function newPlant(
  hub: TestHub,
  admin: TestCaller,
  { devices = 1, ...options }: Pick<PlantOptions, 'devices' | 'accessGroup'> = {},
): Promise<UpdatePlant> {
  const first = nextDevice
  nextDevice += devices
  return updatePlant(hub, admin, { devices, first, name: `line ${first}`, ...options })
}

/** Creates a gateway with a link that can update devices, and devices that the link has found. */
export async function updatePlant(hub: TestHub, admin: TestCaller, options: PlantOptions = {}): Promise<UpdatePlant> {
  const { devices = 1, first = 1, name = 'line 1', accessGroup } = options
  const group = accessGroup === undefined ? {} : { access_group: accessGroup }
  const gateway = await enrolledGateway(hub, admin, { name, ...group })
  const link = linkReport({ appInstanceId: `link-of-${gateway.id}` })
  const interfaces = [...link.interfaces, ...updateInterfaces]
  const report = { gatewayVersion: '1.0.0', links: [{ ...link, interfaces }] }
  await gateway.gatekeeper.reportLinks({ body: { data: report } })
  const { jobId } = await admin.discovery.createDiscovery({
    params: { gatewayId: gateway.id },
    body: { data: { assetLinkId: link.appInstanceId } },
  })
  const assets = Array.from({ length: devices }, (_, index) => updatableDevice(first + index))
  await runScan({ hub, admin, gateway, jobId, assets })
  const names = assets.map((asset) => asset.name)
  const found = new Map<unknown, string>()
  for (let offset = 0; found.size < devices; offset += 100) {
    const query = { filter: `functional_object_type eq 'Device'`, limit: 100, offset, fields: 'id,name' }
    const { data } = await admin.inventory.listAssets({ query })
    if (data.length === 0) break
    for (const asset of data) if (names.includes(asset.name)) found.set(asset.name, String(asset.id))
  }
  return { hub, admin, gateway, first, assetIds: names.map((one) => found.get(one) ?? '') }
}

export type Edge = [subject: string, predicate: string, object: string]

/** Creates relations between assets. */
export async function createRelations(caller: TestCaller, edges: readonly Edge[]): Promise<void> {
  const relations = edges.map(([subject, predicate, object]) => ({
    subject: { type: 'asset' as const, id: subject },
    predicate,
    object: { type: 'asset' as const, id: object },
  }))
  const { data } = await caller.inventory.createRelations({ body: { data: { relations } } })
  if (data.created !== edges.length) throw new Error(`Relations were not created: ${JSON.stringify(data)}`)
}

/** Creates a public key of minisign with random bytes. */
export function minisignKey(): string {
  const key = Buffer.concat([Buffer.from('Ed'), randomBytes(8), randomBytes(32)])
  return `untrusted comment: minisign public key\n${key.toString('base64')}\n`
}

/** Creates an artefact with content, and allows artefacts without a signature. */
export async function createArtefact(
  hub: TestHub,
  admin: TestCaller,
  more: Record<string, unknown> = {},
): Promise<string> {
  await admin.updates.putSettings({ body: { data: { allowsUnsigned: true } } })
  const content = randomBytes(64)
  const { data } = await admin.updates.createArtefact({
    body: {
      data: {
        name: 'Firmware of the pump',
        manufacturer: testProduct.manufacturer,
        products: [testProduct.product],
        version: '2.0.0',
        kind: 'firmware',
        sha256: createHash('sha256').update(content).digest('hex'),
        size: content.length,
        ...more,
      },
    },
  })
  const { status, text } = await hub.request({
    method: 'PUT',
    path: `/updates/v1/artefacts/${data.id}/content`,
    headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/octet-stream' },
    body: content,
  })
  if (status !== 200) throw new Error(`The content was not stored: ${text}`)
  return data.id
}

export type DraftOptions = Partial<Omit<Campaign, 'targets'>> & { artefactId: string; assetIds: string[] }

export async function createDraft(
  admin: TestCaller,
  { assetIds, artefactId, ...more }: DraftOptions,
): Promise<Campaign> {
  const draft = { name: 'Pumps to 2.0.0', artefactId, targets: { assetIds }, stopOnFailurePercent: 100, ...more }
  return (await admin.updates.createCampaign({ body: { data: draft as never } })).data
}

/** Creates a campaign and starts it. */
export async function startCampaign(admin: TestCaller, options: DraftOptions): Promise<Campaign> {
  const { id } = await createDraft(admin, options)
  return (await admin.updates.startCampaign({ params: { id } })).data
}

export async function readCampaign(admin: TestCaller, id: string): Promise<Campaign> {
  return (await admin.updates.readCampaign({ params: { id } })).data
}

export async function listDevices(admin: TestCaller, id: string): Promise<CampaignDevice[]> {
  const devices: CampaignDevice[] = []
  for (;;) {
    const query = { limit: 100, offset: devices.length }
    const { data, meta } = await admin.updates.listDevices({ params: { id }, query })
    devices.push(...data)
    if (data.length === 0 || devices.length >= (meta.totalElements ?? 0)) return devices
  }
}

/** Returns the states of the devices of a campaign by their asset. */
export async function statesOf(admin: TestCaller, id: string): Promise<Map<string, DeviceState>> {
  return new Map((await listDevices(admin, id)).map(({ assetId, state }) => [assetId, state]))
}

/** A window that is always open. */
export const openWindow = { cron: '* * * * *', minutes: 60, timezone: 'UTC' } as const

/** Returns a window that is closed now and opens in about half a year. */
export function closedWindow() {
  const later = new Date(Date.now() + 180 * 86_400_000)
  return { cron: `0 0 1 ${later.getUTCMonth() + 1} *`, minutes: 1, timezone: 'UTC' }
}

/** Returns a client of the update hub for internal services. */
export function peerOf(hub: TestHub) {
  const { tenantId, name } = hub.tenant
  return hub.context.peers(updates, systemCaller({ tenantId, tenantName: name }))
}

/** Polls until a condition holds. Runs the background tasks of the hub meanwhile. */
export async function until<Value>(
  hub: TestHub,
  read: () => Promise<Value>,
  holds: (value: Value) => boolean,
): Promise<Value> {
  const deadline = performance.now() + 120_000
  const pause = growingPause()
  for (;;) {
    await hub.settle()
    const value = await read()
    if (holds(value)) return value
    if (performance.now() > deadline) throw new Error(`The condition did not hold in time: ${JSON.stringify(value)}`)
    await pause()
  }
}

/**
 * Makes the executor continue all campaigns now, as it does after some seconds. The first round can end with a run that
 * started before this call and does not use the latest changes. The second round ends with a later run.
 */
export async function tick(hub: TestHub): Promise<void> {
  await continueCampaigns(hub)
  await continueCampaigns(hub)
}

async function continueCampaigns(hub: TestHub): Promise<void> {
  const { tasks, database } = hub.contextOf('updates')
  await database.transaction(hub.tenant, async (tx) => {
    const page = { limit: updateLimits.openCampaigns, offset: 0 }
    const { rows } = await listCampaigns(tx, { page })
    for (const { id, startedAt } of rows) if (startedAt !== null) await postpone(tx, id, new Date().toISOString())
  })
  const deadline = performance.now() + 120_000
  const pause = growingPause()
  for (const marker = new Date().toISOString(); ; await pause()) {
    tasks.wake(hub.tenant.tenantId, 'updates.campaigns')
    await hub.settle()
    const due = await database.read(hub.tenant, (handle) => listDue(handle, marker, 1))
    if (due.length === 0) return
    if (performance.now() > deadline) throw new Error('The executor did not continue the campaigns in time')
  }
}

export type HeldJob = { job: WorkflowJob; jobId: string; lease: string; assetId: string; state: string }

const updateWorkflows = ['artefact-update']

/** Leases the next update job of a gateway. Returns undefined if there is none. */
export async function leaseUpdate(
  { gatekeeper }: Pick<TestGateway, 'gatekeeper'>,
  waitSeconds = 0,
): Promise<HeldJob | undefined> {
  const taken = await gatekeeper.leaseJob({ body: { data: { workflows: updateWorkflows, waitSeconds } } })
  if (taken?.data === undefined) return undefined
  const { job, lease } = taken.data
  return { job, jobId: job.id, lease: lease.id, assetId: String(job.definition.assetId), state: job.status.state }
}

type Report = { message?: string; progress?: number; result?: Record<string, unknown> }

/** Reports the next state of a job, as a gateway does. Returns the state that the job has then. */
export async function advance(
  { gatekeeper }: Pick<TestGateway, 'gatekeeper'>,
  { jobId, lease }: Pick<HeldJob, 'jobId' | 'lease'>,
  state: string,
  report: Report = {},
): Promise<string> {
  const body = { data: { jobId, state, ...report } }
  return (await gatekeeper.advanceJob({ params: { id: lease }, body })).data.state
}

/** Works on one leased job until it waits for the platform or ends. `fail` decides the state of the end. */
export async function workOn(
  gateway: TestGateway,
  held: HeldJob,
  fail: (held: HeldJob) => { state: 'FAILED' | 'UNKNOWN'; message: string } | undefined = () => undefined,
): Promise<void> {
  if (held.state === 'PREPARING') {
    await gateway.gatekeeper.renewLease({
      params: { id: held.lease },
      body: { data: { jobId: held.jobId, progress: 50, phase: 'transferring' } },
    })
    await advance(gateway, held, 'PREPARED')
    return
  }
  if (held.state === 'CANCELING') {
    await advance(gateway, held, 'CANCELED')
    return
  }
  if (held.state === 'ACTIVATE') await advance(gateway, held, 'ACTIVATING')
  const failure = fail(held)
  if (failure !== undefined) {
    await advance(gateway, held, failure.state, { message: failure.message })
    return
  }
  await advance(gateway, held, 'VERIFYING')
  const { version } = held.job.definition.artefact as { version: string }
  await advance(gateway, held, 'ACTIVATED', { result: { version } })
}

/** Works on all update jobs of a gateway until a condition of the campaign holds. */
export async function workUntil(
  { hub, admin, gateway }: UpdatePlant,
  id: string,
  holds: (campaign: Campaign) => boolean,
  fail?: Parameters<typeof workOn>[2],
): Promise<Campaign> {
  return until(
    hub,
    async () => {
      for (let held = await leaseUpdate(gateway); held !== undefined; held = await leaseUpdate(gateway))
        await workOn(gateway, held, fail)
      return readCampaign(admin, id)
    },
    holds,
  )
}
