import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { credentials } from '@millwright/api/credentials.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Client } from 'pg'
import { v7 } from 'uuid'
import { noRights } from './platform/access/rights.ts'
import { systemCaller } from './platform/access/system.ts'
import { openClient } from './platform/database/connection.ts'
import { lowestId } from './platform/database/id.ts'
import * as eventStore from './platform/events/store.ts'
import { createCaller } from './platform/testing/caller.ts'
import { enrolledGateway, foundDevice } from './platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from './platform/testing/hub.ts'
import { withConstants } from './platform/testing/statement-plans.ts'
import { tenantTables } from './platform/testing/statements.ts'
import {
  findDelivery,
  listDeliveries,
  makeDue,
  readStatus,
  retryDeadLetters,
} from './services/events/delivery/delivery-store.ts'
import * as runners from './services/events/delivery/runner-store.ts'
import { searchNodes } from './services/hierarchy/search-store.ts'
import { requestToken } from './services/identity/testing.ts'
import { putStates } from './services/monitoring/availability-store.ts'
import { checksByOthers, countPending, listPending, lockPending } from './services/monitoring/result-store.ts'
import * as monitoringRuns from './services/monitoring/run-store.ts'
import {
  countUnended,
  listUnclosed,
  listUnended,
  listUnreported,
  nextExpiredRecording,
} from './services/remote-access/session-store.ts'
import { listDue } from './services/updates/campaign-store.ts'
import {
  assetsInCampaigns,
  findDeviceOfJob,
  isBeingUpdated,
  listOpen,
  listReported,
  listStarted,
  listUpdatesOfAsset,
} from './services/updates/device-store.ts'

/**
 * With row-level security, only leakproof operators can use an index. So a statement that is fast for the owner may
 * read the whole table for the application. These tests explain every statement of the hot paths as the application,
 * under its policy, on tables with many rows.
 */

type PlanNode = {
  'Node Type': string
  'Relation Name'?: string
  'CTE Name'?: string
  'Rows Removed by Filter'?: number
  'Actual Rows'?: number
  'Actual Loops'?: number
}

const many = 10_000
/** The maximum number of discarded rows. A plan that discards more rows does not use an index as intended. */
const wasted = 500

describe('indexes of frequent statements', () => {
  let hub: TestHub
  let admin: TestCaller
  let client: Client
  let ids: Awaited<ReturnType<typeof fill>>

  before(async () => {
    // Plans depend on all rows of a table, including the rows of other tenants.
    hub = await testHub({ own: true })
    admin = await hub.as('administrator')
    client = await openClient(hub.database.app)
    ids = await fill()
  })

  after(async () => {
    await client.end()
    await hub[Symbol.asyncDispose]()
  })

  const paths: Record<string, () => Promise<unknown>> = {
    'reading the permissions of a principal': () =>
      hub.as('viewer').then((caller) => caller.authorization.readOwnRights({})),
    'reading one access group': () => admin.authorization.readAccessGroup({ params: { id: ids.group } }),
    'listing access groups by name': () => admin.authorization.listAccessGroups({ query: { name: 'group-7' } }),
    'reading one user': () => admin.identity.readUser({ params: { id: ids.user } }),
    'reading the preferences of a user': () => admin.identity.readPreferences({}),
    'finding a user by name': () => admin.identity.listUsers({ query: { name: 'user-7' } }),
    'reading one grant': () => admin.authorization.readGrant({ params: { id: ids.grant } }),
    'listing the grants of a principal': () => admin.authorization.listGrants({ query: { principal: ids.user } }),
    'checking a permission': () =>
      admin.authorization.check({ query: { permission: 'inventory_read_asset_data', principal: ids.user } }),
    'issuing a token to a service account': () =>
      requestToken(hub, { grant_type: 'client_credentials', client_id: ids.clientId, client_secret: ids.clientSecret }),
    'reading one audit entry': () => admin.audit.readEntry({ params: { id: ids.entry } }),
    'creating an access group': () => admin.authorization.createAccessGroup({ body: { data: { name: v7() } } }),
    'creating and deleting a grant': async () => {
      const { data } = await admin.authorization.createGrant({
        body: { data: { principal: ids.user, role: 'operator', accessGroup: ids.group } },
      })
      await admin.authorization.deleteGrant({ params: { id: data.id } })
    },
    'repeating a request with an Idempotency-Key': () =>
      admin.authorization.createAccessGroup({
        body: { data: { name: 'again' } },
        headers: { 'idempotency-key': 'again' },
      }),
    'reading one remote session': () => admin['remote-access'].readSession({ params: { id: ids.session } }),
    'listing the remote sessions of an asset': () =>
      admin['remote-access'].listSessions({ query: { assetId: ids.asset } }),
    'listing the remote sessions that wait for an approval': () =>
      admin['remote-access'].listSessions({ query: { awaitsMe: true } }),
    'supervising and counting remote sessions': () =>
      hub.context.database.transaction(hub.tenant, async (tx) => {
        await listUnclosed(tx)
        await countUnended(tx, ids.asset)
        await listUnreported(tx, 10)
        await listUnended(tx, { gatewayId: ids.asset })
        await nextExpiredRecording(tx, '2020-01-01T00:00:00Z')
      }),
    'reading a campaign and its devices': async () => {
      const params = { id: ids.campaign }
      await admin.updates.readCampaign({ params })
      await admin.updates.listDevices({ params, query: { state: 'failed' } })
      await admin.updates.listFailures({ params })
    },
    'listing the campaigns that run, and those that have not ended': async () => {
      await admin.updates.listCampaigns({ query: { state: 'running' } })
      await admin.updates.listCampaigns({ query: { open: true } })
    },
    'continuing campaigns, and recording the reports of gateways': () =>
      hub.context.database.transaction(hub.tenant, async (tx) => {
        await listDue(tx, new Date().toISOString(), 10)
        await listStarted(tx, ids.campaign)
        await listOpen(tx, ids.campaign)
        await listReported(tx, ids.campaign, 10)
        await findDeviceOfJob(tx, ids.updateJob)
        await assetsInCampaigns(tx, [ids.asset])
        await isBeingUpdated(tx, ids.asset)
        await listUpdatesOfAsset(tx, ids.asset, 10)
      }),
    'reading the availability of an asset, and the results of a monitoring': async () => {
      await admin.monitoring.readAvailability({ params: { id: ids.asset }, query: {} })
      await admin.monitoring.listMonitoringResults({ params: { id: ids.monitoring }, query: { limit: 10 } })
      await admin.monitoring.listMonitoredStates({ body: { data: { assetIds: [ids.asset, ids.otherAsset] } } })
    },
    'listing the latest outages': async () => {
      const { meta } = await admin.monitoring.listUnreachableDevices({ query: { limit: 5 } })
      assert.ok((meta.totalElements ?? 0) > 5)
    },
    'giving targets to gateways, and storing their results': () =>
      hub.context.database.transaction(hub.tenant, async (tx) => {
        const key = { monitoringId: ids.monitoring, runId: ids.monitoringRun }
        await monitoringRuns.listDue(tx, new Date().toISOString(), 10)
        await monitoringRuns.listJobs(tx, [ids.monitoringRun])
        await countPending(tx, ids.monitoringRun)
        await listPending(tx, { ...key, gatewayId: ids.asset }, { limit: 200 })
        await lockPending(tx, key, [ids.asset, ids.otherAsset])
        await checksByOthers(tx, ids.monitoring, [ids.asset, ids.otherAsset])
        await putStates(tx, [{ assetId: ids.asset, state: 'failed', lastAt: null }], new Date().toISOString())
      }),
    'claiming subscriptions, reading events, and storing the results of deliveries': () =>
      hub.context.database.transaction(hub.tenant, async (tx) => {
        const now = Date.now()
        const lease = { subscriptionId: ids.subscription, runnerId: v7() }
        await runners.listRunnable(tx, { now: new Date(now), limit: 100, keepsOpen: true })
        await runners.listActive(tx)
        await eventStore.extent(tx)
        assert.equal((await eventStore.list(tx, { after: 1_000_000, limit: 100 })).length, 100)
        assert.equal((await runners.claim(tx, [lease], 1_000)).length, 1)
        await runners.renew(tx, [lease], 1_000)
        assert.ok(await runners.isHeld(tx, lease))
        const failed = (await runners.listUnsent(tx, ids.subscription)).slice(0, 10)
        assert.equal((await runners.listEventsAt(tx, [1_000_001, 1_000_500])).length, 2)
        const result = {
          state: 'succeeded',
          isDeadLetter: false,
          attempts: '[]',
          firstFailedAt: null,
          nextAt: null,
        } as const
        const updates = failed.map((row) => ({ ...row, ...result }))
        await runners.updateDeliveries(tx, ids.subscription, updates)
        const rows = updates.map((row) => ({ ...row, id: v7() }))
        await runners.insertDeliveries(tx, ids.subscription, { rows, now })
        await makeDue(tx, ids.subscription, new Date(now - 60_000))
        const times = { openedAt: null, blockedUntil: null, wakeAt: null, lastSuccessAt: now, lastFailureAt: null }
        const finished = { position: 1, finishedTo: 3, unfinished: [2] }
        const ended = { failures: 0, lastError: null, stoppedReason: null, releases: true }
        const progress = { ...finished, ...times, ...ended }
        assert.ok(await runners.saveProgress(tx, lease, { progress, now }))
      }),
    'reading the log of a subscription, and sending dead letters again': () =>
      hub.context.database.transaction(hub.tenant, async (tx) => {
        const subscriptionId = ids.subscription
        await readStatus(tx, [subscriptionId])
        for (const state of [undefined, 'succeeded', 'failed', 'waiting'] as const)
          await listDeliveries(tx, { subscriptionId, state, offset: 1, limit: 50 })
        const [dead] = await listDeliveries(tx, { subscriptionId, deadLetters: true, limit: 50 })
        assert.ok(await findDelivery(tx, { subscriptionId, deliveryId: dead?.id ?? '' }))
        await retryDeadLetters(tx, subscriptionId)
      }),
    'reading one asset': () => admin.inventory.readAsset({ params: { id: ids.asset } }),
    'reading the sources of the fields of an asset': () =>
      admin.inventory.readFieldSources({ params: { id: ids.asset } }),
    'finding assets by name': () => admin.inventory.listAssets({ query: { filter: "name eq 'asset-7'" } }),
    'finding assets by a prefix of their name': () =>
      admin.inventory.listAssets({ query: { filter: "startswith(name,'asset-77')", sort: 'name' } }),
    'finding assets by serial number': () =>
      admin.inventory.listAssets({ query: { filter: "product_instance_information/serial_number eq 'S7'" } }),
    'finding assets by identifier': () =>
      admin.inventory.listAssets({ query: { filter: "asset_identifiers/any(i: i/value eq 'tag-7')", count: false } }),
    'finding assets by IP address': () =>
      admin.inventory.listAssets({ query: { filter: "connection_points/any(c: c/ipv4_address eq '10.0.0.7')" } }),
    'listing the assets that one gateway found': () =>
      admin.inventory.listAssets({
        query: { relationsFilter: `object.id eq '${ids.asset}' and predicate eq 'found_by_gateway'` },
      }),
    'listing the assets within two relations of an asset': () =>
      admin.inventory.listAssets({
        query: { relationsFilter: `subject.id eq '${ids.otherAsset}' and predicate eq 'found_by_gateway'`, depth: 2 },
      }),
    'searching assets by text': () => admin.inventory.listAssets({ query: { q: 's777' } }),
    'searching assets by text that many assets contain': () =>
      admin.inventory.listAssets({ query: { q: 'asset', count: false, limit: 10 } }),
    'finding assets by a predicate that many relations have': () =>
      admin.inventory.listAssets({ query: { relationsFilter: `predicate eq 'found_by_gateway'`, count: false } }),
    'finding assets of one type in an access group': () =>
      admin.inventory.listAssets({
        query: { filter: `functional_object_type eq 'Gateway' and access_group eq 'default'` },
      }),
    'counting the assets of one type': () =>
      admin.inventory.listAssets({ query: { filter: `functional_object_type eq 'Device'`, limit: 1 } }),
    'reading the number of assets per type': () =>
      admin.inventory.readFacets({ query: { by: 'functional_object_type' } }),
    'listing assets for a caller who can read one access group': async () => {
      const viewer = await hub.as('viewer', { accessGroupId: ids.group })
      await viewer.inventory.listAssets({ query: { limit: 10 } })
    },
    'comparing the assets of events with a filter': async () => {
      const viewer = await hub.as('viewer', { accessGroupId: ids.group })
      for (const { principalId } of [admin, viewer]) {
        const rights = (await hub.context.access.of(hub.tenant.tenantId, principalId))?.rights ?? noRights
        const caller = { ...systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' }), rights }
        const filter = "functional_object_type eq 'Device' and access_group ne 'other'"
        const assets = { ids: [ids.asset, ids.otherAsset, v7()], filter }
        await hub.context.peers(inventory, caller).filterAssets({ body: { data: assets } })
      }
    },
    'listing relations': () => admin.inventory.listRelations({ query: { limit: 10 } }),
    'listing relations by predicate': () =>
      admin.inventory.listRelations({ query: { limit: 10, filter: `predicate eq 'found_by_gateway'` } }),
    'reading the next page of relations by cursor': async () => {
      const first = await admin.inventory.listRelations({ query: { limit: 50, count: false } })
      await admin.inventory.listRelations({ query: { limit: 50, count: false, cursor: first.meta.nextCursor ?? '' } })
    },
    'reading the next page of assets by cursor': async () => {
      const first = await admin.inventory.listAssets({ query: { limit: 50, count: false } })
      await admin.inventory.listAssets({ query: { limit: 50, count: false, cursor: first.meta.nextCursor ?? '' } })
    },
    'reading the next page of assets sorted by firmware version, by cursor': async () => {
      const query = { limit: 50, count: false, sort: '-firmware_version' } as const
      const first = await admin.inventory.listAssets({ query })
      await admin.inventory.listAssets({ query: { ...query, cursor: first.meta.nextCursor ?? '' } })
    },
    'reading the graph of an asset': () => admin.inventory.readGraph({ params: { id: ids.otherAsset } }),
    'reading the graph of an asset at a point in time': () =>
      admin.inventory.readGraph({ params: { id: ids.otherAsset }, query: { at: new Date().toISOString() } }),
    'reading the difference between two graphs of an asset': () =>
      admin.inventory.readGraphDifference({
        params: { id: ids.otherAsset },
        query: { from: new Date().toISOString() },
      }),
    'reading the relation history of an asset': async () => {
      const { data } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
      const viewer = await hub.as('viewer', { accessGroupId: data[0]?.id ?? '' })
      const params = { id: ids.otherAsset }
      for (const caller of [admin, viewer]) await caller.inventory.readRelationHistory({ params, query: { limit: 1 } })
    },
    'pruning the history': async () => {
      await admin.inventory.updateSettings({ body: { data: { historyDays: 13 } } })
      await hub.settle()
    },
    'creating a relation between two assets': () =>
      admin.inventory.createRelation({
        body: {
          data: {
            subject: { type: 'asset', id: ids.asset },
            predicate: 'is_connected_to',
            object: { type: 'asset', id: ids.otherAsset },
          },
        },
      }),
    'finding the assets that a link found at addresses': () =>
      hub.context.peers(discovery, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' })).findDevices({
        params: { gatewayId: ids.asset },
        body: { data: { assetLinkId: 'link-7', addresses: ['10.0.0.7', '10.0.0.8'] } },
      }),
    'accepting and applying an asset write': () =>
      write('setResponsible', { params: { id: ids.asset }, body: { data: { responsible: 'jane' } } }),
    'creating the asset of a discovered device, and updating it when it is found again': async () => {
      const tenant = { tenantId: hub.tenant.tenantId, tenantName: '' }
      const gateway = { id: ids.gateway, kind: 'gateway', name: 'gateway' } as const
      const client = hub.context.peers(inventory, { ...systemCaller(tenant), principal: gateway })
      for (const name of ['first', 'second']) {
        const assets = [foundDevice(1, { name })]
        await client.createAssets({ body: { data: { assets } }, headers: { prefer: 'wait=30' } })
      }
    },
    'listing the identity conflicts of a gateway': () =>
      admin.inventory.listIdentityConflicts({ query: { gateway: ids.gateway } }),
    'merging an asset into one with many relations, and undoing the merge': async () => {
      const id = ids.asset
      const { mergeId } = await write('mergeAsset', { params: { id }, body: { data: { other: ids.twinAsset } } })
      await write('undoMerge', { params: { id, mergeId } })
    },
    'deleting an asset with its relations': () => write('deleteAssets', { body: { data: { ids: [ids.goneAsset] } } }),
    'polling for new jobs of an agent': () =>
      admin.workflows.listJobs({ query: { clientId: 'client-7', state: 'CREATED', workflow: 'discovery', limit: 1 } }),
    'listing the open jobs of a client': () =>
      admin.workflows.listJobs({ query: { clientId: 'client-7', group: 'OPEN', pagination: false } }),
    'listing jobs by state': () => admin.workflows.listJobs({ query: { state: 'rare', limit: 20 } }),
    'listing jobs by workflow and tag': () =>
      admin.workflows.listJobs({ query: { tag: 'tag-7,even', workflow: 'discovery', sort: 'desc' } }),
    'listing the newest jobs of all types': () =>
      admin.workflows.listJobs({ query: { sort: 'desc', pagination: false } }),
    'listing jobs that failed since yesterday': () =>
      admin.jobs.listJobs({ query: { phase: 'failed', since: new Date(Date.now() - 86_400_000).toISOString() } }),
    'listing jobs without finished monitoring runs, with and without the jobs of campaigns': async () => {
      for (const grouped of [false, true])
        await admin.jobs.listJobs({ query: { withoutMonitoring: true, grouped, limit: 10 } })
    },
    'listing jobs, discoveries, gateways and history for a caller who can read one access group': async () => {
      const { data } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
      for (const accessGroupId of [ids.group, data[0]?.id ?? '']) {
        const reader = await createCaller(hub, [
          { permissions: ['glb_jobs_read'] },
          { permissions: ['inventory_read_asset_data'], accessGroupId },
        ])
        for (const withoutMonitoring of [false, true]) await reader.jobs.listJobs({ query: { withoutMonitoring } })
        await reader.discovery.listDiscoveries({})
        await reader.onboarding.listGateways({})
        await reader.exchange(inventory, 'readHistory', { params: { id: ids.asset } })
      }
    },
    'reading one job with its history': () => admin.jobs.getJob({ params: { id: ids.job } }),
    'taking, renewing and ending a job': async () => {
      const engine = hub.context.peers(workflows, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' }))
      const clientId = 'client-9'
      const wish = { clientId, workflows: ['discovery'], waitSeconds: 2, leaseSeconds: 60 }
      const { data: taken } = await engine.takeJob({ body: { data: wish } })
      assert.ok(taken)
      const [id, lease] = [taken.job.id, taken.lease.id]
      await engine.renewLease({ params: { id: lease }, body: { data: { jobId: id, clientId, progress: 7 } } })
      await engine.readLease({ params: { id }, query: { clientId } })
      await engine.moveJob({ params: { id }, body: { data: { state: 'FINISHED', as: 'CLIENT', lease } } })
      await engine.takeJob({ body: { data: { ...wish, clientId: 'nobody' } } })
    },
    'selecting credentials for addresses': () => {
      const devices = [{ address: '10.7.7.7', assetIds: [ids.asset] }, { address: '10.7.7.8' }]
      return platform(hub).selectCredentials({
        body: { data: { jobId: v7(), gatewayId: ids.gateway, product, devices } },
      })
    },
    'selecting credentials of a template': async () => {
      const template = await admin.credentials.createInstancesTemplate({ body: { data: { name: v7() } } })
      const instancesTemplateId = template.data.id
      await admin.credentials.mapInstance({ params: { instancesTemplateId, instanceId: ids.instance } })
      const devices = [{ address: '10.7.7.7' }, { address: '10.7.7.8' }]
      return platform(hub).selectCredentials({
        body: { data: { jobId: v7(), gatewayId: ids.gateway, product, devices, instancesTemplateId } },
      })
    },
    'recording which credentials worked': () =>
      platform(hub).recordUse({
        body: {
          data: {
            jobId: v7(),
            gatewayId: ids.gateway,
            uses: [{ address: '10.7.7.7', instanceId: ids.instance, assetId: ids.asset, worked: true }],
          },
        },
      }),
    'listing the credentials for an address': () => admin.credentials.listInstances({ query: { address: '0.0.7.7' } }),
    'listing credentials by name': () => admin.credentials.listInstances({ query: { name: 'instance-7' } }),
    'reading one credential, its versions and its uses': async () => {
      const params = { instanceId: ids.instance }
      await admin.credentials.getInstance({ params })
      await admin.credentials.listInstanceVersions({ params })
      await admin.credentials.readInstanceUsage({ params })
    },
    'listing the credentials that devices refused': () =>
      admin.credentials.listRefusals({
        query: { gatewayId: ids.gateway, resourceIdentifier: 'link-7', addresses: '10.7.7.7,10.7.7.8' },
      }),
    'changing a credential': () =>
      admin.credentials.updateInstance({ params: { instanceId: ids.instance }, body: { data: { name: v7() } } }),
    'listing the credentials of an asset': () =>
      admin.credentials.listAssetInstances({ params: { assetId: ids.asset } }),
    'deleting the credentials of deleted assets': async () => {
      const at = new Date(Date.now() + 600_000)
      await hub.contextOf('credentials').tasks.runDue(hub.tenant.tenantId, { at })
    },
    'listing the children of a node': async () => {
      const query = { parentId: ids.line, limit: 50 }
      const { meta } = await admin.hierarchy.listNodes({ params: { id: ids.hierarchy }, query })
      await admin.hierarchy.listNodes({
        params: { id: ids.hierarchy },
        query: { ...query, cursor: meta.nextCursor ?? '' },
      })
    },
    'listing two levels of a hierarchy': async () => {
      const query = { depth: 2, limit: 100 }
      const { meta } = await admin.hierarchy.listNodes({ params: { id: ids.hierarchy }, query })
      await admin.hierarchy.listNodes({
        params: { id: ids.hierarchy },
        query: { ...query, cursor: meta.nextCursor ?? '' },
      })
    },
    'reading a node with its counts and its path': async () => {
      const limited = await createCaller(hub, [
        { permissions: ['glb_hierarchy_read'] },
        { permissions: ['inventory_read_asset_data'], accessGroupId: ids.group },
      ])
      for (const caller of [admin, limited])
        for (const id of [ids.line, ids.cell]) await caller.hierarchy.readNode({ params: { id } })
      await admin.hierarchy.readPath({ params: { id: ids.cell } })
    },
    'searching a node by a rare part of its name': async () => {
      const page = { after: { name: '', id: lowestId }, limit: 50, belowId: undefined, compared: 100 }
      const query = { hierarchyId: ids.hierarchy, text: 'ode-999', ...page }
      const found = await hub.context.database.read(hub.tenant, (handle) => searchNodes(handle, query))
      assert.equal(found.length, 11)
    },
    'reading the versions, the links, the connections and the impact of an asset': async () => {
      await admin.updates.readAssetUpdates({ params: { id: ids.asset } })
      await admin.updates.readImpact({ params: { id: ids.asset } })
      const body = { data: { assetIds: [ids.asset] } }
      await hub.context
        .peers(hierarchy, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' }))
        .describeAssetNodes({ body })
    },
    'counting the versions in use': () => admin.updates.listDrift({}),
    'listing the assets of a node': () => admin.inventory.listAssets({ query: { hierarchyNode: ids.cell } }),
    'listing the assets of a node and of all nodes below': async () => {
      for (const count of [true, false])
        await admin.inventory.listAssets({ query: { hierarchyNode: ids.line, includeBelow: true, count } })
    },
    'moving a node, assigning an asset and counting it': async () => {
      await admin.hierarchy.moveNode({ params: { id: ids.cell }, body: { data: { position: 7 } } })
      await admin.hierarchy.assignAssets({ params: { id: ids.line }, body: { data: { assetIds: [ids.asset] } } })
      await hub.settle()
    },
    'exporting pages of assets with their relations, and pages of relations': async () => {
      const limited = await createCaller(hub, [
        { permissions: ['inventory_read_asset_data'], accessGroupId: ids.group },
      ])
      for (const { principalId } of [admin, limited]) {
        const access = await hub.context.access.of(hub.tenant.tenantId, principalId)
        const caller = {
          ...systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name }),
          rights: access?.rights ?? noRights,
        }
        const api = hub.context.peers(inventory, caller)
        const position = { limit: 100, count: false }
        const relations = { predicates: ['is_part_of'], incoming: true }
        await api.exportAssets({ body: { data: { ...position, relations } } })
        await api.exportRelations({ body: { data: position } })
      }
    },
    'sealing audit entries, publishing events and finding due tasks': () => hub.settle(),
  }

  for (const [what, work] of Object.entries(paths)) {
    test(`uses an index for ${what}`, async () => {
      const sent = await hub.statements(work, { withChecks: true })
      assert.ok(sent.length > 0, 'nothing was looked at')
      // A path that sends a statement many times, for example per task, sends it with similar values.
      for (const statements of Map.groupBy(sent, ({ text }) => text).values()) {
        for (const { text, values } of statements.slice(0, 3)) assert.deepEqual(await explain(text, values), [], text)
      }
    })
  }

  test('uses an index for the children of nodes and the nodes below them if most nodes have the same parent', async (t) => {
    if (hub.database.server.citus) return t.skip('Citus does not change the statistics of one column')
    const setParents = (setting: string) =>
      hub.asOwner(async (owner) => {
        await owner.query(`alter table hierarchy_nodes alter column parent_id ${setting}`)
        await owner.query('analyze hierarchy_nodes')
      })
    await setParents('set (n_distinct = 2)')
    try {
      const queries = [
        { parentId: ids.line, count: false },
        { depth: 2, count: false },
        { q: 'node', count: false },
      ]
      for (const query of queries) {
        const sent = await hub.statements(() =>
          admin.hierarchy.listNodes({ params: { id: ids.hierarchy }, query: { ...query, limit: 50 } }),
        )
        const ofStructure = sent.filter(({ text }) => text.includes('"hasChildren"'))
        assert.ok(ofStructure.length > 0)
        for (const { text, values } of ofStructure) assert.deepEqual(await explain(text, values), [], text)
      }
      const deletion = { params: { id: ids.cell }, query: { dryRun: true } }
      const sent = await hub.statements(() => admin.hierarchy.deleteNode(deletion))
      const ofSubtree = sent.filter(({ text }) => text.includes('recursive below'))
      assert.ok(ofSubtree.length > 0)
      for (const { text, values } of ofSubtree)
        assert.ok((await rowsRead(text, values, 'hierarchy_nodes')) < wasted, text)
    } finally {
      await setParents('reset (n_distinct)')
    }
  })

  test('reads the siblings of found nodes once for their positions, and the nodes below a node at most once', async () => {
    const query = { parentId: ids.line, q: 'node', count: false, limit: 50 }
    const sent = await hub.statements(() => admin.hierarchy.listNodes({ params: { id: ids.hierarchy }, query }))
    for (const [part, table] of [
      ['as position', 'hierarchy_nodes'],
      ['with recursive below', 'below'],
    ] as const) {
      const statements = sent.filter(({ text }) => text.includes(part))
      assert.ok(statements.length > 0)
      for (const { text, values } of statements) assert.ok((await rowsRead(text, values, table)) < 10 * wasted, text)
    }
  })

  /** Returns how many rows of a table or of a common table expression a statement reads. */
  async function rowsRead(text: string, values: readonly unknown[], table: string): Promise<number> {
    const nodes = (await planOf(text, values)) ?? assert.fail(text)
    return nodes
      .filter((node) => tableOf(node) === table || node['CTE Name'] === table)
      .reduce((sum, node) => sum + (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1), 0)
  }

  /** Sends a write and waits until it is accepted and applied. */
  async function write(operation: string, input: object): Promise<{ mergeId: string }> {
    const { body } = await admin.exchange(inventory, operation, { headers: { prefer: 'wait=30' }, ...input })
    const { data } = body as { data?: { state: string; detail: { result: { mergeId: string } } } }
    assert.equal(data?.state, 'finished', JSON.stringify(body))
    return data.detail.result
  }

  /** Returns the faults of the plan. */
  async function explain(text: string, values: readonly unknown[]): Promise<string[]> {
    const tables = await tenantTables()
    return ((await planOf(text, values)) ?? []).flatMap((node) => faults(node, tables))
  }

  /** Returns the nodes of the plan of a statement, or undefined for a write that cannot be explained. */
  async function planOf(text: string, values: readonly unknown[]): Promise<PlanNode[] | undefined> {
    try {
      await client.query('begin')
      if (hub.database.server.citus) await client.query(`set local citus.propagate_set_commands = 'local'`)
      await client.query(`set local app.tenant = '${hub.tenant.tenantId}'`)
      // A worker explains the plan for unknown values if it gets parameters. It runs a statement with the plan for its
      // values.
      const { rows } = hub.database.server.citus
        ? await client.query(`explain (analyze, format json) ${await withConstants(client, text, values)}`)
        : await client.query(`explain (analyze, format json) ${text}`, [...values])
      return nodesOf(rows[0]['QUERY PLAN'])
    } catch (error) {
      const { code = '', message } = error as { code?: string; message: string }
      // The same write cannot be sent twice. Its plan was already recorded when it was explained first.
      if (code.startsWith('23')) return undefined
      // Citus does not measure these statements. The tests on a server without Citus check them.
      if (message.startsWith('EXPLAIN ANALYZE is currently not supported for INSERT ... SELECT')) return undefined
      throw error
    } finally {
      await client.query('rollback')
    }
  }

  /** Returns all nodes of a plan. The plan of a cluster contains the plans of its shards. */
  function nodesOf(part: unknown): PlanNode[] {
    if (typeof part !== 'object' || part === null) return []
    const inner = Object.values(part).flatMap(nodesOf)
    return 'Node Type' in part ? [part as PlanNode, ...inner] : inner
  }

  /** Returns the table of a node. The name of a shard ends with its number. */
  function tableOf({ 'Relation Name': name = '' }: PlanNode): string {
    return hub.database.server.citus ? name.replace(/_\d+$/, '') : name
  }

  function faults(node: PlanNode, tables: ReadonlySet<string>): string[] {
    const table = tableOf(node)
    const removed = node['Rows Removed by Filter'] ?? 0
    const isScan = tables.has(table) && node['Node Type'] === 'Seq Scan'
    if (isScan && removed + (node['Actual Rows'] ?? 0) > wasted) return [`reads all of ${table}`]
    return removed > wasted ? [`throws away ${removed} rows of ${table}`] : []
  }

  /** Fills two tenants with the same number of rows of every kind. */
  async function fill() {
    const neighbour = await hub.anotherTenant()
    const made = await admin.identity.createServerUser({ body: { data: { name: 'historian' } } })
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'the group' } } })
    const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    await hub.settle()
    const ids = await hub.asOwner(async (owner) => {
      for (const tenantId of [neighbour.tenantId, hub.tenant.tenantId]) {
        await owner.query(
          `insert into principals (tenant_id, id, kind, name)
           select $1, gen_random_uuid(), 'user', 'user-' || n from generate_series(1, $2::int) n`,
          [tenantId, many],
        )
        await owner.query(
          `insert into access_groups (tenant_id, id, name) select $1, gen_random_uuid(), 'group-' || n from generate_series(1, $2::int) n`,
          [tenantId, many],
        )
        await owner.query(
          `insert into grants (tenant_id, id, principal_id, role)
           select $1, gen_random_uuid(), id, 'viewer' from principals where tenant_id = $1 and kind = 'user' on conflict do nothing`,
          [tenantId],
        )
        await owner.query(
          `insert into events (tenant_id, id, position, type, subject, data)
           select $1, gen_random_uuid(), 1000000 + n, 't', 's', '{}' from generate_series(1, $2::int) n`,
          [tenantId, many],
        )
        await owner.query(
          `insert into audit_entries (tenant_id, id, time, action, outcome, principal_name, principal_kind, sequence, hash)
           select $1, gen_random_uuid(), now(), 'a', 'done', 'x', 'user', 1000000 + n, '' from generate_series(1, $2::int) n`,
          [tenantId, many],
        )
        await owner.query(
          `insert into idempotent_requests (tenant_id, principal_id, key, fingerprint, status)
           select $1, gen_random_uuid(), 'k', '', 200 from generate_series(1, $2::int)`,
          [tenantId, many],
        )
      }
      await fillInventory(owner, hub.tenant.tenantId)
      await fillWorkflows(owner, hub.tenant.tenantId)
      await fillCredentials(owner, hub.tenant.tenantId)
      await fillRemoteAccess(owner, hub.tenant.tenantId)
      await fillUpdates(owner, hub.tenant.tenantId)
      await fillMonitoring(owner, hub.tenant.tenantId)
      await fillHierarchy(owner, hub.tenant.tenantId, tree.id)
      for (const { tenantId } of [neighbour, hub.tenant]) await fillSubscriptions(owner, tenantId)
      await owner.query('analyze')
      const one = async (text: string) =>
        (await owner.query<{ id: string }>(text, [hub.tenant.tenantId])).rows[0]?.id ?? ''
      return {
        group: group.id,
        hierarchy: tree.id,
        line: await one(`select id from hierarchy_nodes where tenant_id = $1 and name = 'node-7'`),
        cell: await one(`select id from hierarchy_nodes where tenant_id = $1 and name = 'node-777'`),
        user: await one(`select id from principals where tenant_id = $1 and name = 'user-7'`),
        grant: await one('select id from grants where tenant_id = $1 limit 1'),
        entry: await one('select id from audit_entries where tenant_id = $1 limit 1'),
        asset: await one(`select id from assets where tenant_id = $1 and name = 'asset-7'`),
        otherAsset: await one(`select id from assets where tenant_id = $1 and name = 'asset-508'`),
        twinAsset: await one(`select id from assets where tenant_id = $1 and name = 'asset-509'`),
        goneAsset: await one(`select id from assets where tenant_id = $1 and name = 'asset-9'`),
        campaign: await one('select id from update_campaigns where tenant_id = $1 limit 1'),
        monitoring: await one('select id from monitorings where tenant_id = $1 limit 1'),
        monitoringRun: await one('select latest_run_id as id from monitorings where tenant_id = $1 limit 1'),
        updateJob: await one('select job_id as id from update_devices where tenant_id = $1 limit 1'),
        subscription: await one('select id from event_subscriptions where tenant_id = $1 limit 1'),
        session: await one('select id from remote_sessions where tenant_id = $1 limit 1'),
        job: await one('select id from workflow_jobs where tenant_id = $1 limit 1'),
        instance: await one(`select id from credential_instances where tenant_id = $1 and name = 'instance-7'`),
        clientId: made.data.clientId,
        clientSecret: made.data.clientSecret,
      }
    })
    return { ...ids, gateway: (await enrolledGateway(hub, admin)).id }
  }
})

/** Inserts many assets with one identifier each. Each asset was found by one of a hundred gateways. */
async function fillRemoteAccess(owner: Client, tenantId: string): Promise<void> {
  await owner.query(
    `insert into remote_sessions (tenant_id, id, job_id, state, is_reported, asset_id, asset_name, access_group_id,
       gateway_id, service, port, principal_id, principal_kind, principal_name, roles, needs_approval, recording,
       duration_minutes, idle_minutes, is_recording_deleted, ending, created_at, active_at, expires_at, ended_at, closed_at)
     select $1, gen_random_uuid(), gen_random_uuid(), 'ended', true, a.id, a.name, a.access_group_id, gen_random_uuid(),
       'ssh', 22, gen_random_uuid(), 'user', 'x', '{"roles":[]}', false, 'none', 60, 15, true, 'expired', now(), now(),
       now(), now(), now()
     from assets a where a.tenant_id = $1`,
    [tenantId],
  )
}

/** Inserts a hundred monitorings. Each asset has a result in one of them, and a current state. */
async function fillMonitoring(owner: Client, tenantId: string): Promise<void> {
  await owner.query(
    `insert into monitorings (tenant_id, id, name, asset_link_ids, targets, keys, assign_working, latest_run_id, principal_id,
       principal_kind, principal_name, roles, created_at, modified_at)
     select $1, gen_random_uuid(), 'monitoring-' || n, '[]', '{"filter":"x"}', '[]', false, gen_random_uuid(),
       gen_random_uuid(), 'user', 'x', '{"roles":[]}', now(), now() from generate_series(0, 99) n`,
    [tenantId],
  )
  await owner.query(
    `insert into monitoring_runs (tenant_id, id, monitoring_id, number, cause, state, created_at, ended_at)
     select $1, latest_run_id, id, 1, 'schedule', 'finished', now(), now() from monitorings where tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into monitoring_results (tenant_id, monitoring_id, asset_id, asset_name, run_id, is_pending, gateway_id, routes,
       rank, state, since_at, checked_at, is_changed, property_values)
     select $1, m.id, a.id, a.name, m.latest_run_id, a.n % 500 = 7, gen_random_uuid(), '[]', 2, 'reached', now(), now(),
       false, '[]'
     from (select id, name, row_number() over () as n from assets where tenant_id = $1) a
     join monitorings m on m.tenant_id = $1 and m.name = 'monitoring-' || (a.n % 100)`,
    [tenantId],
  )
  await owner.query(
    `insert into asset_availability (tenant_id, asset_id, from_at, state)
     select $1, id, now(), case when row_number() over () % 500 = 7 then 'failed' else 'reached' end
     from assets where tenant_id = $1`,
    [tenantId],
  )
}

/** Inserts a hundred ended campaigns. Each asset is a device of one of them. */
async function fillUpdates(owner: Client, tenantId: string): Promise<void> {
  await owner.query(
    `insert into update_campaigns (tenant_id, id, name, artefact_id, artefact, targets, waves, stop_on_failure_percent,
       approval, concurrent_devices, verify_minutes, allows_downgrade, state, tolerated, created_by_id, created_by_name,
       created_at, started_at, finished_at, modified_at)
     select $1, gen_random_uuid(), 'campaign-' || n, gen_random_uuid(), '{"name":"x","version":"1","kind":"firmware"}',
       '{"assetIds":[]}', '[]', 10, 'none', 20, 15, false, 'finished', '{}', gen_random_uuid(), 'x', now(), now(), now(), now()
     from generate_series(0, 99) n`,
    [tenantId],
  )
  await owner.query(
    `insert into update_devices (tenant_id, id, campaign_id, asset_id, access_group_id, to_version, steps, wave, position,
       group_key, after_assets, not_with_assets, windows, state, job_id, is_held, created_at, modified_at)
     select $1, gen_random_uuid(), c.id, a.id, a.access_group_id, '1', '[]', 1, 0, '', '[]', '[]', '[]', 'succeeded',
       gen_random_uuid(), false, now(), now()
     from (select id, access_group_id, row_number() over () as n from assets where tenant_id = $1) a
     join update_campaigns c on c.tenant_id = $1 and c.name = 'campaign-' || (a.n % 100)`,
    [tenantId],
  )
}

async function fillInventory(owner: Client, tenantId: string): Promise<void> {
  await owner.query(
    `insert into assets (tenant_id, id, access_group_id, type, schema_url, document, name, serial_number, management_state,
                         reachability_state, responsible, version, created_at, modified_at)
     select $1, gen_random_uuid(), (select id from access_groups where tenant_id = $1 and name = 'default'), 'Device', 'x',
            '{"functional_object_type":"Device","custom_properties":[],"responsible":"x"}', 'asset-' || n, 'S' || n,
            'unknown', 'unknown', 'x', 2, now(), now()
     from generate_series(1, $2::int) n`,
    [tenantId, many],
  )
  await owner.query(
    `insert into asset_identifiers (tenant_id, key, asset_id, uncertainty, type, name, value, identifier, created_at)
     select $1, name, id, 1006, 'CustomIdentifier', 'tag', replace(name, 'asset', 'tag'), '{}', now() from assets where tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into asset_addresses (tenant_id, asset_id, kind, address)
     select tenant_id, id, 'ipv4', '10.0.0.' || replace(serial_number, 'S', '') from assets where tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into device_addresses (tenant_id, asset_id, gateway_id, app_instance_id, address, first_found_at, last_found_at)
     select a.tenant_id, a.id, g.id, 'link-7', '10.0.0.' || replace(a.serial_number, 'S', ''), now(), now()
     from assets a join assets g on g.tenant_id = $1 and g.serial_number = 'S' || (1 + substring(a.serial_number from 2)::int % 3)
     where a.tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into asset_history (tenant_id, asset_id, version, time, change, access_group_id, principal_name, source_type, document)
     select tenant_id, id, v.version, now() - make_interval(secs => substring(serial_number from 2)::int * 56.4), 'created',
            access_group_id, 'x', 'manual', document
     from assets cross join generate_series(1, 2) as v (version) where tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into asset_words (tenant_id, asset_id, words)
     select tenant_id, id, array_to_tsvector(array[right(tenant_id::text, 4) || name, right(tenant_id::text, 4) || serial_number])
     from assets where tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into asset_facets (tenant_id, facet, value, access_group_id, assets)
     select $1, f.facet, f.value, a.access_group_id, count(*)
     from assets a, lateral (values ('type', a.type), ('firmware_version', a.serial_number)) as f (facet, value)
     where a.tenant_id = $1 group by 2, 3, 4`,
    [tenantId],
  )
  await owner.query(
    `insert into relation_counts (tenant_id, predicate, part, relations, changes)
     select $1, case n when 1 then 'found_by_gateway' else 'p' || n end, 0, $2, $2 from generate_series(1, 200) n`,
    [tenantId, many],
  )
  await owner.query(
    `insert into relations (tenant_id, id, subject_type, subject_id, predicate, object_type, object_id, source_type, created_at, modified_at)
     select $1, gen_random_uuid(), 'asset', a.id, 'found_by_gateway', 'asset', g.id, 'discovery', now(), now()
     from assets a join assets g on g.tenant_id = $1 and g.serial_number = 'S' || (1 + substring(a.serial_number from 2)::int % 100)
     where a.tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into relations (tenant_id, id, subject_type, subject_id, predicate, object_type, object_id, source_type, created_at, modified_at)
     select $1, gen_random_uuid(), 'asset', subject_id, p.predicate, 'node', object_id, 'discovery', now(), now()
     from relations, (values ('is_here'), ('is_there')) as p (predicate) where tenant_id = $1`,
    [tenantId],
  )
}

const product = { identifier: 'link', version: '7' } as const

function platform(hub: TestHub) {
  return hub.context.peers(credentials, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' }))
}

/**
 * Inserts many credential instances for ten versions of a link. Half of them apply to one shared network. Each other
 * instance applies to its own network.
 */
async function fillCredentials(owner: Client, tenantId: string): Promise<void> {
  await owner.query('analyze assets')
  await owner.query(
    `insert into credential_schemas (tenant_id, id, resource_identifier, resource_version, uri, schema, created_by)
     select $1, gen_random_uuid(), $2, n::text, 'u', '{}', 'x' from generate_series(1, 10) n`,
    [tenantId, product.identifier],
  )
  // The values are not really sealed. Instances that the tests use need no secret, and the other instances are never
  // opened.
  await owner.query(
    `insert into credential_instances (tenant_id, id, schema_id, name, shown, sealed, ip_ranges, created_by, modified_by,
                                       modified_at, asset_id, copied_from)
     select $1, gen_random_uuid(), s.id, 'instance-' || n, '{}', '', '["192.0.2.1"]', 'x', 'x',
            now() - make_interval(secs => n), case when n % 1000 = 0 then gen_random_uuid() when n % 10 = 0 then a.id end,
            case when n % 10 = 0 then gen_random_uuid() end
     from generate_series(1, $2::int) n
     join assets a on a.tenant_id = $1 and a.name = 'asset-' || n
     join credential_schemas s on s.tenant_id = $1 and s.resource_version = (1 + n % 10)::text`,
    [tenantId, many],
  )
  await owner.query(
    `insert into credential_places (tenant_id, block, instance_id, schema_id, resource_identifier, for_discovery, modified_at)
     select $1, case when substring(name from 10)::int % 2 = 0 then '4/16/a07' else '4/24/' || to_hex(substring(name from 10)::int) end,
            id, schema_id, $2, asset_id is null, modified_at
     from credential_instances where tenant_id = $1`,
    [tenantId, product.identifier],
  )
  await owner.query(
    `insert into credential_history (tenant_id, instance_id, version, change, fields, changed_by)
     select $1, id, 1, 'created', '{}', 'x' from credential_instances where tenant_id = $1`,
    [tenantId],
  )
  await owner.query('analyze credential_instances')
  await owner.query(
    `insert into credential_uses (tenant_id, instance_id, gateway_id, address, asset_id, job_id, worked_at)
     select $1, i.id, gen_random_uuid(), '10.0.0.1', a.id, gen_random_uuid(), now()
     from credential_instances i
     join assets a on a.tenant_id = $1 and a.name = replace(i.name, 'instance', 'asset')
     where i.tenant_id = $1`,
    [tenantId],
  )
}

/** Inserts many nodes on two levels, twenty on the first one, and assigns one asset to each node. */
async function fillHierarchy(owner: Client, tenantId: string, hierarchyId: string): Promise<void> {
  await owner.query(
    `insert into hierarchy_nodes (tenant_id, id, hierarchy_id, parent_id, name, rank, created_at, modified_at)
     select $1, gen_random_uuid(), $2, $2, 'node-' || n, n, now(), now() from generate_series(1, 20) n`,
    [tenantId, hierarchyId],
  )
  await owner.query(
    `insert into hierarchy_nodes (tenant_id, id, hierarchy_id, parent_id, name, name_tokens, rank, created_at, modified_at)
     select $1, gen_random_uuid(), $2, p.id, 'node-' || n, array_to_tsvector(array(select distinct right($2::uuid::text, 4)
         || substr('node-' || n, i, 3) from generate_series(1, length('node-' || n)) i)), n, now(), now()
     from generate_series(21, $3::int) n join hierarchy_nodes p on p.tenant_id = $1 and p.name = 'node-' || 1 + n % 20`,
    [tenantId, hierarchyId, many],
  )
  await owner.query(
    `insert into relations (tenant_id, id, subject_type, subject_id, predicate, object_type, object_id, source_type, created_at, modified_at)
     select $1, gen_random_uuid(), 'asset', a.id, 'is_assigned_to_node', 'node', n.id, 'manual', now(), now()
     from assets a join hierarchy_nodes n on n.tenant_id = $1 and n.name = replace(a.name, 'asset', 'node')
     where a.tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into hierarchy_assets (tenant_id, hierarchy_id, asset_id, node_id, access_group_id, is_gateway,
                                   reachability_state, is_undecided, changed_at, is_recent)
     select $1, $2, r.subject_id, r.object_id, a.access_group_id, false, 'unknown', true, now(), true
     from relations r join assets a on a.tenant_id = $1 and a.id = r.subject_id
     where r.tenant_id = $1 and r.predicate = 'is_assigned_to_node'`,
    [tenantId, hierarchyId],
  )
  await owner.query(
    `insert into hierarchy_counts (tenant_id, node_id, access_group_id, is_gateway, hierarchy_id, assets_here, assets, online,
                                   offline, undecided, changed)
     select $1, n.id, g.id, false, $2, 1, 1, 0, 0, 1, 1
     from hierarchy_nodes n
     cross join (select id from access_groups where tenant_id = $1 and name = 'default' union all select $3::uuid) as g (id)
     where n.tenant_id = $1`,
    [tenantId, hierarchyId, lowestId],
  )
}

/**
 * Inserts many jobs of a hundred clients. One job in seven is open. Each job has one rare tag and one frequent tag. The newest jobs
 * are finished monitoring runs, and then the jobs of the devices of campaigns.
 */
async function fillWorkflows(owner: Client, tenantId: string): Promise<void> {
  await owner.query(
    `insert into workflow_jobs (tenant_id, id, client_id, workflow, definition, definition_hash, state, state_group, phase,
                                is_final, awaits_client, version, created_at, modified_at)
     select $1, gen_random_uuid(), 'client-' || n % 100, 'discovery', '{}', '',
            case when n % 10000 = 1 then 'rare' when n % 7 = 0 then 'CREATED' else 'FINISHED' end,
            case when n % 7 = 0 then 'OPEN' else 'DONE' end, case when n % 7 = 0 then 'waiting' else 'finished' end,
            n % 7 > 0, n % 7 = 0, 1, now(), now()
     from generate_series(1, $2::int) n`,
    [tenantId, many],
  )
  await owner.query(
    `insert into workflow_jobs (tenant_id, id, client_id, workflow, definition, definition_hash, state, state_group, phase,
                                is_final, awaits_client, version, created_at, modified_at)
     select $1, (f.first || substring(gen_random_uuid()::text from 9))::uuid, 'client-' || n % 100, f.workflow, '{}', '',
            'FINISHED', 'DONE', 'finished', true, false, 1, now(), now()
     from generate_series(1, $2::int) n, (values ('ffffffff', 'monitoring'), ('fffffffe', 'artefact-update')) as f (first, workflow)`,
    [tenantId, many],
  )
  await owner.query(
    `insert into workflow_job_tags (tenant_id, tag, job_id)
     select $1, unnest(array['tag-' || row_number() over () % 100, 'even']), id from workflow_jobs where tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into workflow_job_history (tenant_id, job_id, number, modified_at, status)
     select $1, id, 0, now(), '{"state":"CREATED"}' from workflow_jobs where tenant_id = $1`,
    [tenantId],
  )
}

/** Inserts two paused webhooks with long logs. Few of their deliveries failed or are dead letters. */
async function fillSubscriptions(owner: Client, tenantId: string): Promise<void> {
  await owner.query(
    `insert into event_subscriptions (tenant_id, id, kind, name, url, types, active, details, principal_id, principal_kind,
                                      principal_name, roles, created_at, modified_at)
     select $1, gen_random_uuid(), 'webhook', 'webhook-' || n, 'https://a.example', '{t}', false, '{"batchSize":1}',
            gen_random_uuid(), 'user', 'x', '{}', now(), now() from generate_series(1, 2) n`,
    [tenantId],
  )
  await owner.query(
    `insert into event_subscription_progress (tenant_id, subscription_id, position)
     select $1, id, 0 from event_subscriptions where tenant_id = $1`,
    [tenantId],
  )
  await owner.query(
    `insert into event_deliveries (tenant_id, id, subscription_id, event_id, position, type, subject, state, is_dead_letter,
                                   message_id, attempt_count, attempts, next_at, created_at)
     select $1, gen_random_uuid(), s.id, gen_random_uuid(), n, 't', 's', case when n % 100 < 2 then 'failed' else 'succeeded' end,
            n % 100 = 1, 'm', 1, '[]', case when n % 100 = 0 then now() end, now()
     from generate_series(1, $2::int) n join event_subscriptions s on s.tenant_id = $1`,
    [tenantId, many],
  )
}
