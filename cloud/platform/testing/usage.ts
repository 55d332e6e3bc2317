import { setTimeout as sleep } from 'node:timers/promises'
import { authorization } from '@millwright/api/authorization.ts'
import { credentials } from '@millwright/api/credentials.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { events } from '@millwright/api/events.ts'
import { exports } from '@millwright/api/exports.ts'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import { identity } from '@millwright/api/identity.ts'
import { imports } from '@millwright/api/imports.ts'
import { inbox } from '@millwright/api/inbox.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { jobs } from '@millwright/api/jobs.ts'
import { monitoring } from '@millwright/api/monitoring.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { defaultRemotePolicy, remoteAccess } from '@millwright/api/remote-access.ts'
import { updates } from '@millwright/api/updates.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { useSubscriptions } from '../../services/events/testing.ts'
import { useFactors } from '../../services/identity/factors/testing.ts'
import { useProviders } from '../../services/identity/providers/testing.ts'
import { postForm, rightPassword, signedIn } from '../../services/identity/testing.ts'
import { checkDevices, createMonitoring, endOfRun, monitoredPlant } from '../../services/monitoring/testing.ts'
import {
  connectGateway,
  createPlant,
  createSession,
  enterWebSession,
  openStream,
  readSession,
  terminalWith,
  until,
} from '../../services/remote-access/testing.ts'
import {
  closedWindow,
  createArtefact,
  minisignKey,
  startCampaign,
  updatePlant,
} from '../../services/updates/testing.ts'
import { systemCaller } from '../access/system.ts'
import { newId } from '../database/id.ts'
import {
  endDiscoveryJob,
  enrolledGateway,
  foundDevice,
  leaseDiscovery,
  linkReport,
  managedLink,
  runScan,
  signedReceipt,
  uploadDevices,
} from './gateway.ts'
import type { TestCaller, TestHub } from './hub.ts'
import { plantedWord } from './secrets-shown.ts'

/** A request for a resource of one tenant. The same request must fail for another tenant. */
export type Reach = { operation: string; method: string; path: string }

/**
 * Uses the platform once in every way that writes rows, so that tests over all tables find rows in each table. These
 * tests fail for a new table without rows. Add the use of a new table here.
 */
export async function useEverything(hub: TestHub): Promise<Reach[]> {
  const admin = await hub.as('administrator')
  const group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line-1' } } })).data
  const role = (
    await admin.authorization.createRole({ body: { data: { name: 'fitter', permissions: ['glb_jobs_read'] } } })
  ).data
  const user = (
    await admin.identity.createUser({
      body: { data: { name: 'jane', password: rightPassword } },
      headers: { 'idempotency-key': 'create jane' },
    })
  ).data
  const server = (await admin.identity.createServerUser({ body: { data: { name: 'historian' } } })).data
  const grant = (
    await admin.authorization.createGrant({
      body: { data: { principal: user.id, role: 'operator', accessGroup: group.id } },
    })
  ).data
  await admin.identity.putPreference({ params: { name: 'theme' }, body: { data: { value: 'dark' } } })
  const { refreshToken } = await signedIn(hub, `jane@${hub.tenant.name}`)
  await postForm(hub, '/oauth/revoke', { form: { client_id: 'console', token: refreshToken } })
  const { accessToken } = await signedIn(hub, `jane@${hub.tenant.name}`)
  await extendLifetime(hub, 'authorization_codes')
  const [session] = (await hub.withToken(accessToken).identity.listSessions({})).data
  await admin.identity.updateSignInPolicy({ body: { data: { idleMinutes: 60 } } })
  await useFactors(hub)
  const provider = await useProviders(hub, admin)
  await hub.context.database.transaction(hub.tenant, (tx) =>
    hub.context.tasks.schedule(tx, { kind: 'audit.seal', key: 'usage', cron: '0 0 1 1 *' }),
  )
  const asset = await useInventory(hub, admin)
  const report = (await admin.inventory.createImpactReport({ body: { data: { assetId: asset } } })).data
  const job = await useWorkflows(admin)
  const shopFloor = await useShopFloor(hub, admin, group.id)
  const credential = await useCredentials(hub, admin, { gatewayId: shopFloor.gatewayId, assetId: asset })
  const tree = await useHierarchy(admin, asset)
  const exportId = await useExports(admin)
  const imported = await useImports(admin)
  const remote = await useRemoteAccess(hub, admin)
  const update = await useUpdates(hub, admin, tree.nodeId)
  const monitored = await useMonitoring(hub, admin)
  const triage = await useInbox(hub, admin)
  const subscription = await useSubscriptions(hub, admin)
  await hub.settle()
  return [
    ...reaches(identity.prefix, `/users/${user.id}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(identity.prefix, `/users/${user.id}/sessions`, ['GET', 'DELETE']),
    ...reaches(identity.prefix, `/sessions/${session?.id}`, ['DELETE']),
    ...reaches(identity.prefix, `/sessions/${session?.id}/confirm`, ['POST']),
    ...reaches(identity.prefix, `/identity-providers/${provider}`, ['GET', 'DELETE']),
    ...reaches(identity.prefix, `/identity-providers/${provider}/check`, ['POST']),
    ...reaches(identity.prefix, `/server-users/${server.id}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(identity.prefix, `/server-users/${server.id}/secret`, ['POST']),
    ...reaches(authorization.prefix, `/access-groups/${group.id}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(authorization.prefix, `/roles/${role.name}`, ['GET', 'DELETE']),
    ...reaches(authorization.prefix, `/grants/${grant.id}`, ['GET', 'DELETE']),
    ...reaches(inventory.prefix, `/assets/${asset}`, ['GET']),
    ...reaches(inventory.prefix, `/assets/${asset}/identifiers`, ['GET']),
    ...reaches(inventory.prefix, `/assets/${asset}/history`, ['GET']),
    ...reaches(inventory.prefix, `/assets/${asset}/field-sources`, ['GET']),
    ...reaches(inventory.prefix, `/assets/${asset}/graph`, ['GET']),
    ...reaches(inventory.prefix, `/assets/${asset}/graph/difference?from=2026-01-01T00:00:00Z`, ['GET']),
    ...reaches(inventory.prefix, `/assets/${asset}/impact`, ['GET']),
    ...reaches(inventory.prefix, `/assets/${asset}/impact/export`, ['GET']),
    ...reaches(inventory.prefix, `/impact-reports/${report.id}`, ['GET', 'DELETE']),
    ...reaches(inventory.prefix, `/assets/${asset}/relations`, ['GET']),
    ...reaches(imports.prefix, `/files/${imported.importId}`, ['GET', 'DELETE']),
    ...reaches(imports.prefix, `/files/${imported.importId}/rows`, ['GET']),
    ...reaches(imports.prefix, `/files/${imported.importId}/report`, ['GET']),
    ...reaches(imports.prefix, `/files/${imported.importId}/cancel`, ['POST']),
    ...reaches(imports.prefix, `/files/${imported.importId}/run`, ['POST']),
    ...reaches(imports.prefix, `/mappings/${imported.mappingId}`, ['DELETE']),
    ...reaches(hierarchy.prefix, `/hierarchies/${tree.id}`, ['GET', 'DELETE']),
    ...reaches(hierarchy.prefix, `/hierarchies/${tree.id}/nodes`, ['GET']),
    ...reaches(hierarchy.prefix, `/hierarchies/${tree.id}/export`, ['GET']),
    ...reaches(hierarchy.prefix, `/hierarchies/${tree.id}/rules`, ['GET']),
    ...reaches(hierarchy.prefix, `/nodes/${tree.nodeId}`, ['GET', 'DELETE']),
    ...reaches(hierarchy.prefix, `/nodes/${tree.nodeId}/path`, ['GET']),
    ...reaches(hierarchy.prefix, `/nodes/${tree.nodeId}/moves`, ['GET']),
    ...reaches(hierarchy.prefix, `/nodes/${tree.nodeId}/assets`, ['GET']),
    ...reaches(hierarchy.prefix, `/nodes/${tree.deletedId}/cleanup`, ['POST']),
    ...reaches(hierarchy.prefix, `/assets/${asset}/paths`, ['GET']),
    ...reaches(hierarchy.prefix, `/assignments/${tree.assignmentId}`, ['GET']),
    ...reaches(hierarchy.prefix, `/assignments/${tree.assignmentId}/results`, ['GET']),
    ...reaches(hierarchy.prefix, `/assignments/${tree.assignmentId}/undo`, ['POST']),
    ...reaches(exports.prefix, `/files/${exportId}`, ['GET', 'DELETE']),
    ...reaches(exports.prefix, `/files/${exportId}/content`, ['GET']),
    ...reaches(exports.prefix, `/files/${exportId}/cancel`, ['POST']),
    ...reaches(remoteAccess.prefix, `/sessions/${remote.sessionId}`, ['GET', 'DELETE']),
    ...['approve', 'deny', 'extend', 'tickets'].flatMap((name) =>
      reaches(remoteAccess.prefix, `/sessions/${remote.sessionId}/${name}`, ['POST']),
    ),
    ...reaches(remoteAccess.prefix, `/sessions/${remote.recordedId}/recording`, ['GET']),
    ...reaches(remoteAccess.prefix, `/assets/${remote.assetId}/target`, ['GET']),
    ...reaches(remoteAccess.prefix, `/policies/${remote.groupId}`, ['GET', 'PUT']),
    ...reaches(remoteAccess.prefix, `/gateways/${remote.gatewayId}/switch`, ['PUT']),
    ...reaches(remoteAccess.prefix, `/host-keys?assetId=${remote.assetId}`, ['GET']),
    ...reaches(remoteAccess.prefix, `/host-keys/${remote.hostKeyId}`, ['DELETE']),
    ...reaches(updates.prefix, `/artefacts/${update.artefactId}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(updates.prefix, `/artefacts/${update.artefactId}/content`, ['GET', 'HEAD']),
    ...reaches(updates.prefix, `/trust-anchors/${update.anchorId}`, ['DELETE']),
    ...reaches(updates.prefix, `/windows/${tree.nodeId}`, ['GET', 'DELETE']),
    ...reaches(updates.prefix, `/campaigns/${update.campaignId}`, ['GET', 'PATCH', 'DELETE']),
    ...['plan', 'start', 'approve', 'pause', 'resume', 'cancel', 'retry'].flatMap((name) =>
      reaches(updates.prefix, `/campaigns/${update.campaignId}/${name}`, ['POST']),
    ),
    ...['devices', 'failures'].flatMap((name) =>
      reaches(updates.prefix, `/campaigns/${update.campaignId}/${name}`, ['GET']),
    ),
    ...reaches(monitoring.prefix, `/monitorings/${monitored.id}`, ['GET', 'PATCH', 'DELETE']),
    ...['run', 'cancel'].flatMap((name) =>
      reaches(monitoring.prefix, `/monitorings/${monitored.id}/${name}`, ['POST']),
    ),
    ...['runs', 'results'].flatMap((name) =>
      reaches(monitoring.prefix, `/monitorings/${monitored.id}/${name}`, ['GET']),
    ),
    ...reaches(monitoring.prefix, `/assets/${monitored.assetId}/availability`, ['GET']),
    ...reaches(inbox.prefix, `/assets/${triage.assetId}`, ['GET']),
    ...reaches(inbox.prefix, `/decisions/${triage.decisionId}`, ['GET']),
    ...reaches(inbox.prefix, `/decisions/${triage.decisionId}/results`, ['GET']),
    ...reaches(inbox.prefix, `/decisions/${triage.decisionId}/undo`, ['POST']),
    ...reaches(inbox.prefix, `/rules/${triage.ruleId}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(inbox.prefix, `/rules/${triage.ruleId}/runs`, ['GET']),
    ...reaches(updates.prefix, `/assets/${update.assetId}`, ['GET']),
    ...reaches(updates.prefix, `/assets/${update.assetId}/impact`, ['GET']),
    ...reaches(updates.prefix, `/assets/${update.assetId}/retrievals`, ['GET', 'POST']),
    ...[`/webhooks/${subscription.webhookId}`, `/mqtt-publishers/${subscription.publisherId}`].flatMap((path) => [
      ...reaches(events.prefix, path, ['GET', 'PATCH', 'DELETE']),
      ...reaches(events.prefix, `${path}/test`, ['POST']),
      ...reaches(events.prefix, `${path}/retry-dead-letters`, ['POST']),
      ...reaches(events.prefix, `${path}/deliveries`, ['GET']),
      ...reaches(events.prefix, `${path}/deliveries/${subscription.deliveryId}`, ['GET']),
      ...reaches(events.prefix, `${path}/deliveries/${subscription.deliveryId}/retry`, ['POST']),
    ]),
    ...reaches(events.prefix, `/webhooks/${subscription.webhookId}/rotate-secret`, ['POST']),
    ...reaches(workflows.prefix, `/jobs/${job}`, ['GET', 'DELETE']),
    ...reaches(workflows.prefix, `/jobs/${job}/status`, ['GET']),
    ...reaches(workflows.prefix, `/jobs/${job}/definition`, ['GET']),
    ...reaches(workflows.prefix, `/jobs/${job}/tags`, ['GET']),
    ...reaches(workflows.prefix, '/workflows/shop.order', ['GET', 'DELETE']),
    ...reaches(jobs.prefix, `/jobs/${job}`, ['GET']),
    ...reaches(onboarding.prefix, `/gateways/${shopFloor.gatewayId}`, ['GET', 'DELETE']),
    ...reaches(onboarding.prefix, `/gateways/${shopFloor.gatewayId}/config`, ['POST']),
    ...reaches(onboarding.prefix, `/gateways/${shopFloor.gatewayId}/revoke`, ['POST']),
    ...reaches(discovery.prefix, `/gateways/${shopFloor.gatewayId}/asset-links`, ['GET']),
    ...reaches(discovery.prefix, `/gateways/${shopFloor.gatewayId}/links`, ['GET']),
    ...reaches(discovery.prefix, `/gateways/${shopFloor.gatewayId}/links/plant`, ['PUT']),
    ...reaches(discovery.prefix, `/discoveries/${shopFloor.jobId}`, ['GET', 'DELETE']),
    ...reaches(discovery.prefix, `/discoveries/${shopFloor.jobId}/runs`, ['GET']),
    ...reaches(discovery.prefix, `/discoveries/${shopFloor.jobId}/report`, ['GET']),
    ...reaches(discovery.prefix, `/discoveries/${shopFloor.jobId}/receipt`, ['GET']),
    ...reaches(discovery.prefix, `/discoveries/${shopFloor.jobId}/run`, ['POST']),
    ...reaches(credentials.prefix, `/schemas/${credential.schemaId}`, ['GET', 'DELETE']),
    ...reaches(credentials.prefix, `/instances/${credential.instanceId}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(credentials.prefix, `/instances/${credential.instanceId}/history`, ['GET']),
    ...reaches(credentials.prefix, `/instances/${credential.instanceId}/usage`, ['GET']),
    ...reaches(credentials.prefix, `/instances-templates/${credential.templateId}`, ['GET', 'PATCH', 'DELETE']),
    ...reaches(credentials.prefix, `/instances-templates/${credential.templateId}/instances`, ['GET']),
    ...reaches(credentials.prefix, `/assets/${asset}/instances`, ['GET']),
    ...reaches(credentials.prefix, `/assets/${asset}/instances/${credential.instanceId}`, ['POST', 'DELETE']),
  ]
}

/** Monitors a device once. */
async function useMonitoring(hub: TestHub, admin: TestCaller) {
  const plant = await monitoredPlant(hub, admin, { first: 9_101, name: 'monitored line' })
  const [assetId = ''] = plant.assetIds
  const id = await createMonitoring(admin, { targets: { assetIds: [assetId] } })
  await checkDevices(plant.gateway, () => ({ state: 'reached', assetLinkId: plant.linkId }))
  await endOfRun(plant, id)
  return { id, assetId }
}

/** Onboards the new asset of a scan with an automatic rule. */
async function useInbox(hub: TestHub, admin: TestCaller) {
  const name = 'new press'
  const rule = { name: 'Presses', filter: `name eq '${name}'`, mode: 'automatic' } as const
  const { id: ruleId } = (await admin.inbox.createOnboardingRule({ body: { data: rule } })).data
  const plant = await monitoredPlant(hub, admin, { first: 9_201, name: 'new line' })
  const { jobId } = await admin.discovery.createDiscovery({
    params: { gatewayId: plant.gateway.id },
    body: { data: { assetLinkId: plant.linkId, discoveryOptions: [{ key: 'size', value: '1' }] } },
  })
  await runScan({ hub, admin, gateway: plant.gateway, jobId, assets: [foundDevice(9_301, { name })] })
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(20)) {
    const [run] = (await admin.inbox.listRuleRuns({ params: { id: ruleId }, query: {} })).data
    if (run?.decisionId === undefined) continue
    const decision = { params: { id: run.decisionId }, query: { wait: 30 } }
    if ((await admin.inbox.readDecision(decision)).data.state !== 'finished') continue
    const [item] = (await admin.inbox.listDecisionResults({ params: { id: run.decisionId }, query: {} })).data
    return { ruleId, decisionId: run.decisionId, assetId: item?.assetId ?? '' }
  }
  throw new Error('The rule has not onboarded the asset')
}

/** Exports the assets. Returns the id of the export. */
async function useExports(admin: TestCaller): Promise<string> {
  const body = { data: { what: 'assets', format: 'ndjson' } } as const
  const { exportId } = (await admin.exports.createExport({ body })).data
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(20)) {
    const { data } = await admin.exports.readExport({ params: { exportId } })
    if (data.state === 'finished') return exportId
  }
  throw new Error('The export has not finished')
}

/**
 * Creates a gateway with a link and a discovery. The discovery found one device, found one device of another access
 * group, and failed at a third device.
 */
async function useShopFloor(
  hub: TestHub,
  admin: TestCaller,
  otherGroup: string,
): Promise<{ gatewayId: string; jobId: string }> {
  await admin.inventory.createAsset({ body: { data: { asset: foundDevice(2, { access_group: otherGroup }) } } })
  const gateway = await enrolledGateway(hub, admin)
  const link = linkReport()
  const report = { gatewayVersion: '1.0.0', links: [link], managedLinks: [managedLink()] }
  await gateway.gatekeeper.reportLinks({ body: { data: report } })
  const { jobId } = await admin.discovery.createDiscovery({
    params: { gatewayId: gateway.id },
    body: { data: { assetLinkId: link.appInstanceId } },
  })
  const leased = await leaseDiscovery(gateway)
  const { job, lease } = leased
  const errors = [{ code: 14, description: 'no answer' }]
  const unknownDevice = {
    asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:00:99' }],
  }
  const cable = {
    predicate: 'is_connected_to',
    relational_role_of_related_asset: 'object',
    related_asset: unknownDevice,
  }
  await uploadDevices(gateway, leased, {
    assets: [foundDevice(1, { asset_relations: [cable] }), foundDevice(2)],
    errors,
    deviceAddresses: [{ asset: 0, address: '10.0.0.1' }],
  })
  await gateway.gatekeeper.uploadReceipt({
    params: { id: job.id },
    body: { data: { lease: lease.id, receipt: signedReceipt(gateway, job) } },
  })
  await endDiscoveryJob(gateway, leased)
  return { gatewayId: gateway.id, jobId }
}

/**
 * Creates a credential that was delivered to a gateway and opened a device. It is mapped to a template and assigned to
 * an asset.
 */
async function useCredentials(
  hub: TestHub,
  admin: TestCaller,
  { gatewayId, assetId }: { gatewayId: string; assetId: string },
): Promise<{ schemaId: string; instanceId: string; templateId: string }> {
  const product = { identifier: 'example.cdm.al.reference', version: '1.2.3' }
  const { data: schema } = await admin.credentials.createSchema({
    query: { resourceIdentifier: product.identifier, resourceVersion: product.version },
    body: { data: { uri: 'https://plant.example/credentials/any', schema: credentialSchema } },
  })
  const { data: instance } = await admin.credentials.createInstance({
    body: {
      data: {
        schemaId: schema.id,
        name: 'line 1',
        values: { username: 'operator', password: plantedCredential },
        metadata: { ipRanges: ['192.0.2.0/24'] },
      },
    },
  })
  const { data: template } = await admin.credentials.createInstancesTemplate({ body: { data: { name: 'pumps' } } })
  const instancesTemplateId = template.id
  await admin.credentials.mapInstance({ params: { instancesTemplateId, instanceId: instance.id } })
  await admin.credentials.assignInstance({ params: { assetId, instanceId: instance.id } })
  const system = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
  const peer = hub.context.peers(credentials, system)
  const [jobId, address] = [newId(), '192.0.2.1']
  await peer.selectCredentials({ body: { data: { jobId, gatewayId, product, devices: [{ address }] } } })
  const uses = [{ assetId, address, instanceId: instance.id, worked: true }]
  await peer.recordUse({ body: { data: { jobId, gatewayId, uses } } })
  return { schemaId: schema.id, instanceId: instance.id, templateId: template.id }
}

/** The password of a credential. Tests check that it appears nowhere. */
export const plantedCredential = `${plantedWord} of a credential`

const credentialSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { username: { type: 'string' }, password: { type: 'string', writeOnly: true } },
  required: ['username', 'password'],
}

/** Creates two devices with a past and a current relation, and all optional data of a device. */
async function useInventory(_hub: TestHub, admin: TestCaller): Promise<string> {
  const { data: property } = await admin.inventory.createCustomProperty({ body: { data: { name: 'cost centre' } } })
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }
  await admin.inventory.createSchema({ body: { data: { url: 'https://plant.example/schemas/any', schema } } })
  const device = (name: string) => ({
    functional_object_type: 'Device',
    name,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }],
    connection_points: [{ connection_point_type: 'Ipv4Connectivity', ipv4_address: '192.0.2.1' }],
  })
  const done = async (accepted: { data: { statusId: string } }) =>
    (await admin.inventory.readStatus({ params: { id: accepted.data.statusId }, query: { wait: 30 } })).data.detail
      .result
  const assets = [device('pump'), device('motor'), device('spare')]
  const made = (await done(await admin.inventory.createAssets({ body: { data: { assets } } }))) as { assetId: string }[]
  const [pump = '', motor = '', spare = ''] = made.map(({ assetId }) => assetId)
  const tags = ['pump', 'motor'].flatMap((name) => device(name).asset_identifiers)
  await done(
    await admin.inventory.createAsset({ body: { data: { asset: { ...device('both'), asset_identifiers: tags } } } }),
  )
  await done(await admin.inventory.mergeAsset({ params: { id: pump }, body: { data: { other: spare } } }))
  const value = { asset_id: pump, key: property.key, value: '4711' }
  await done(await admin.inventory.setPropertyValues({ body: { data: [value] } }))
  const relation = {
    subject: { type: 'asset', id: motor },
    predicate: 'drives',
    object: { type: 'asset', id: pump },
  } as const
  const stated = await admin.inventory.createRelation({ body: { data: relation } })
  await admin.inventory.deleteRelations({ body: { data: { ids: stated.data.map(({ id }) => id) } } })
  await admin.inventory.createRelation({ body: { data: relation } })
  await admin.inventory.updateSettings({ body: { data: { historyDays: 365 } } })
  return pump
}

/** Creates a job of a workflow that the tenant defined. The job has tags and a history. */
async function useWorkflows(admin: TestCaller): Promise<string> {
  await admin.workflows.createWorkflow({
    body: {
      name: 'shop.order',
      states: [{ name: 'NEW' }, { name: 'DONE' }],
      transitions: [{ from: 'NEW', to: 'DONE', eligible: 'WFX' }],
    },
  })
  const { id } = await admin.workflows.createJob({
    body: { clientId: 'line 1', workflow: 'shop.order', tags: ['urgent'], definition: { parts: 3 } },
  })
  await admin.workflows.putJobStatus({ params: { id }, body: { state: 'DONE' } })
  return id
}

/** Creates a hierarchy with a moved node, a deleted node and an assigned asset. */
async function useHierarchy(admin: TestCaller, assetId: string) {
  const { id } = (await admin.hierarchy.createHierarchy({ body: { data: { name: 'Locations' } } })).data
  const node = async (name: string) =>
    (await admin.hierarchy.createNode({ params: { id }, body: { data: { name } } })).data.id
  const [site, nodeId, deletedId] = [await node('Site'), await node('Line'), await node('Former line')]
  await admin.hierarchy.moveNode({ params: { id: nodeId }, body: { data: { parentId: site } } })
  await admin.hierarchy.deleteNode({ params: { id: deletedId } })
  const { data } = await admin.hierarchy.assignAssets({
    params: { id: nodeId },
    body: { data: { assetIds: [assetId] } },
  })
  return { id, nodeId, deletedId, assignmentId: 'assignmentId' in data ? data.assignmentId : data.id }
}

/** Imports a file with parents, so that all tables of imports have rows. */
async function useImports(admin: TestCaller) {
  const columns = [
    { from: 'MAC', to: 'mac_address' },
    { from: 'Parent', to: 'parent' },
  ]
  const { id: mappingId } = (await admin.imports.createMapping({ body: { data: { name: 'Switches', columns } } })).data
  const content = 'MAC,Parent\n00:1b:1b:77:00:01,\n00:1b:1b:77:00:02,00:1b:1b:77:00:01\n'
  const query = { dryRun: true, mapping: mappingId }
  const { importId } = (await admin.imports.uploadFile({ query, body: { mediaType: 'text/csv', content } })).data
  for (let state = 'queued'; state === 'queued' || state === 'running'; )
    state = (await admin.imports.readImport({ params: { importId } })).data.state
  return { importId, mappingId }
}

/** Lets the rows of a table expire late, so that they are not deleted before the end of the test on a slow machine. */
function extendLifetime(hub: TestHub, table: 'authorization_codes' | 'remote_tickets') {
  const update = `update ${table} set expires_at = now() + interval '1 hour' where tenant_id = $1`
  return hub.asOwner((owner) => owner.query(update, [hub.tenant.tenantId]))
}

/** Records a terminal, enters a web session, and leaves a ticket, a switch and the tunnel of a process that died. */
async function useRemoteAccess(hub: TestHub, admin: TestCaller) {
  const { gateway, assetId, groupId } = await createPlant(hub, admin)
  const client = admin['remote-access']
  const policy = { ...defaultRemotePolicy, recording: 'all' as const }
  await client.putPolicy({ params: { accessGroup: groupId }, body: { data: policy } })
  await client.putGatewaySwitch({ params: { gatewayId: gateway.id }, body: { data: { isEnabled: true } } })
  const url = await hub.listen()
  const connected = await connectGateway(hub, gateway, { onOpen: terminalWith('login: ') })
  const { id: recordedId } = await createSession(admin, { assetId })
  const terminal = await openStream(recordedId, { url, token: admin.token, query: { kind: 'terminal' } })
  await until(() => terminal.bytes.length > 0)
  await client.endSession({ params: { id: recordedId } })
  await terminal.end()
  await until(async () => (await readSession(admin, recordedId)).recordingDigest !== undefined)
  const { id: sessionId } = await createSession(admin, { assetId, service: 'http' })
  await enterWebSession(hub, admin, sessionId)
  await client.createTicket({ params: { id: sessionId } })
  await extendLifetime(hub, 'remote_tickets')
  const [key] = (await client.listHostKeys({ query: { assetId } })).data
  await connected[Symbol.asyncDispose]()
  await hub.asOwner((owner) =>
    owner.query('insert into remote_tunnels values ($1, $2, $3, $4, now(), now())', [
      hub.tenant.tenantId,
      gateway.id,
      newId(),
      'http://127.0.0.1:1',
    ]),
  )
  return { gatewayId: gateway.id, assetId, groupId, sessionId, recordedId, hostKeyId: key?.id ?? '' }
}

/** Creates artefacts, a trust anchor, a window, a retrieval and a campaign. One upload and one deletion are not complete. */
async function useUpdates(hub: TestHub, admin: TestCaller, nodeId: string) {
  const client = admin.updates
  const { assetIds } = await updatePlant(hub, admin, { first: 9_001, name: 'updated line' })
  const [assetId = ''] = assetIds
  const { data: anchor } = await client.createTrustAnchor({
    body: { data: { name: 'Release key', publicKey: minisignKey() } },
  })
  const artefactId = await createArtefact(hub, admin)
  const { data: partial } = await client.createArtefact({
    body: {
      data: {
        name: 'Partial',
        manufacturer: 'Example',
        products: ['PUMP-1'],
        version: '3.0.0',
        kind: 'firmware',
        sha256: 'ab'.repeat(32),
        size: 100,
      },
    },
  })
  await hub.request({
    method: 'PUT',
    path: `${updates.prefix}/artefacts/${partial.id}/content`,
    headers: {
      authorization: `Bearer ${admin.token}`,
      'content-type': 'application/octet-stream',
      'content-range': 'bytes 0-9/100',
    },
    body: Buffer.alloc(10),
  })
  await client.putWindow({ params: { nodeId }, body: { data: closedWindow() } })
  await client.createRetrieval({ params: { id: assetId }, body: { data: { kind: 'logfile' } } })
  const { id: campaignId } = await startCampaign(admin, { artefactId, assetIds, window: closedWindow() })
  // The hub has no S3-compatible store, so the deletion waits.
  await hub.asOwner((owner) =>
    owner.query(`insert into artefact_deletions (tenant_id, id, store, created_at) values ($1, $2, 's3', now())`, [
      hub.tenant.tenantId,
      newId(),
    ]),
  )
  return { artefactId, anchorId: anchor.id, campaignId, assetId }
}

function reaches(prefix: string, path: string, methods: string[]): Reach[] {
  return methods.map((method) => ({ operation: `${method} ${path}`, method, path: prefix + path }))
}
