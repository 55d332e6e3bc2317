import type { MonitoredDevice, NewMonitoring } from '@millwright/api/monitoring.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import {
  endDiscoveryJob,
  endOfDiscovery,
  enrolledGateway,
  foundDevice,
  leaseDiscovery,
  linkReport,
  type TestGateway,
  uploadDevices,
} from '../../platform/testing/gateway.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'

/** The test kit of monitoring: devices that a gateway has found, and a gateway that checks them. */

export type MonitoredPlant = {
  hub: TestHub
  admin: TestCaller
  gateway: TestGateway
  linkId: string
  assetIds: string[]
}

type PlantOptions = { devices?: number; first?: number; name?: string; accessGroup?: string; gateway?: TestGateway }

let nextDevice = 1

/** Returns the address at which the link of a plant found a device. */
export function addressOf(index: number): string {
  return `10.20.${index >> 8}.${index & 255}`
}

/** Creates a gateway with a link, and devices that the link has found. */
export async function monitoredPlant(
  hub: TestHub,
  admin: TestCaller,
  options: PlantOptions = {},
): Promise<MonitoredPlant> {
  const { devices = 1, first = nextDevice, accessGroup } = options
  nextDevice = Math.max(nextDevice, first + devices)
  const group = accessGroup === undefined ? {} : { access_group: accessGroup }
  const name = options.name ?? `line ${first}`
  const gateway = options.gateway ?? (await enrolledGateway(hub, admin, { name, ...group }))
  const linkId = `link-of-${gateway.id}`
  await gateway.gatekeeper.reportLinks({
    body: { data: { gatewayVersion: '1.0.0', links: [linkReport({ appInstanceId: linkId })] } },
  })
  const { jobId } = await admin.discovery.createDiscovery({
    params: { gatewayId: gateway.id },
    body: { data: { assetLinkId: linkId } },
  })
  const leased = await leaseDiscovery(gateway)
  const numbers = Array.from({ length: devices }, (_, index) => first + index)
  await uploadDevices(gateway, leased, {
    assets: numbers.map((number) => foundDevice(number)),
    deviceAddresses: numbers.map((number, asset) => ({ asset, address: addressOf(number) })),
  })
  await endDiscoveryJob(gateway, leased)
  await endOfDiscovery({ hub, admin }, jobId)
  const assetIds: string[] = []
  for (const number of numbers) {
    const query = { filter: `name eq 'Device ${number}'`, fields: 'id' }
    assetIds.push(String((await admin.inventory.listAssets({ query })).data[0]?.id))
  }
  return { hub, admin, gateway, linkId, assetIds }
}

/** Creates a monitoring. Without a schedule it runs at once. */
export async function createMonitoring(
  caller: TestCaller,
  input: Partial<NewMonitoring> & Pick<NewMonitoring, 'targets'>,
): Promise<string> {
  const { data } = await caller.monitoring.createMonitoring({ body: { data: { name: 'Pumps', ...input } } })
  return data.id
}

/** Leases the monitoring job of a gateway, as soon as the platform has created it. */
export async function leaseMonitoring({ gatekeeper }: Pick<TestGateway, 'gatekeeper'>) {
  const taken = await gatekeeper.leaseJob({ body: { data: { workflows: ['monitoring'], waitSeconds: 30 } } })
  if (taken === undefined) throw new Error('The gateway got no monitoring job')
  return taken.data
}

type LeasedMonitoring = Awaited<ReturnType<typeof leaseMonitoring>>

export async function listTargets({ gatekeeper }: Pick<TestGateway, 'gatekeeper'>, { job, lease }: LeasedMonitoring) {
  return (await gatekeeper.listMonitoringTargets({ params: { id: job.id }, body: { data: { lease: lease.id } } })).data
}

export async function uploadResults(
  { gatekeeper }: Pick<TestGateway, 'gatekeeper'>,
  { job, lease }: LeasedMonitoring,
  results: MonitoredDevice[],
) {
  const body = { data: { lease: lease.id, results } }
  return (await gatekeeper.uploadMonitoringResults({ params: { id: job.id }, body })).data
}

type Finding = Omit<MonitoredDevice, 'assetId'>

/** Runs the job of a gateway: uploads a result for each target, and ends the job. */
export async function checkDevices(gateway: TestGateway, findingOf: (assetId: string) => Finding) {
  const leased = await leaseMonitoring(gateway)
  const targets = await listTargets(gateway, leased)
  if (targets.length > 0) {
    const results = targets.map(({ assetId }) => ({ assetId, ...findingOf(assetId) }))
    await uploadResults(gateway, leased, results)
  }
  await gateway.gatekeeper.endJob({
    params: { id: leased.lease.id },
    body: { data: { jobId: leased.job.id, state: 'FINISHED' } },
  })
  return { ...leased, targets }
}

const waitMs = 60_000

/** Waits until the latest run of a monitoring has ended. Returns the monitoring. */
export async function endOfRun({ hub, admin }: Pick<MonitoredPlant, 'hub' | 'admin'>, id: string) {
  const deadline = performance.now() + waitMs
  const pause = growingPause()
  for (;;) {
    await hub.settle()
    const { data } = await admin.monitoring.readMonitoring({ params: { id } })
    if (['finished', 'failed', 'canceled'].includes(data.latestRun?.state ?? '')) return data
    if (performance.now() > deadline) throw new Error(`The run does not end: ${JSON.stringify(data)}`)
    await pause()
  }
}

/** Runs a monitoring once, with the same finding for each asset. Returns the monitoring. */
export async function runOnce(plant: MonitoredPlant, id: string, findingOf: (assetId: string) => Finding) {
  const run = (await plant.admin.monitoring.readMonitoring({ params: { id } })).data.latestRun
  if (run === undefined || run.endedTimestamp !== undefined)
    await plant.admin.monitoring.runMonitoring({ params: { id } })
  await checkDevices(plant.gateway, findingOf)
  return endOfRun(plant, id)
}

/** Returns the report of a device with a firmware version, as its link sends it. */
export function reportedDevice(number: number, version?: string): Record<string, unknown> {
  const artifact = {
    functional_object_type: 'SoftwareArtifact',
    name: 'Firmware',
    is_firmware: true,
    asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'Firmware', version }],
  }
  const components = [{ software_component_type: 'SoftwareArtifactComponent', artifact }]
  return foundDevice(number, version === undefined ? {} : { software_components: components })
}
