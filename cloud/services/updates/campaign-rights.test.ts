import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Permission } from '@millwright/api/permission.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { changeAccess, insertGrant, insertPrincipal } from '../../platform/access/store.ts'
import { newId } from '../../platform/database/id.ts'
import { sessionsBlockedBy } from '../../platform/testing/blocked-sessions.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { until as waitUntil } from './content-store/testing.ts'
import {
  closedWindow,
  createArtefact,
  createDraft,
  leaseUpdate,
  listDevices,
  newPlant,
  readCampaign,
  startCampaign,
  statesOf,
  tick,
  until,
  workUntil,
} from './testing.ts'

const code = (expected: string) => (problem: { code: string }) => problem.code === expected

describe('rights for campaigns', () => {
  let hub: TestHub
  let admin: TestCaller
  let artefactId: string
  let group: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    artefactId = await createArtefact(hub, admin)
    group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-1' } } })).data.id
  })

  after(() => hub[Symbol.asyncDispose]())

  const plantOf = (devices = 1, accessGroup?: string) =>
    newPlant(hub, admin, { devices, ...(accessGroup === undefined ? {} : { accessGroup }) })

  /** Creates a user who can manage updates, with the role of an operator in some access groups. */
  async function manager(...groups: string[]): Promise<TestCaller> {
    const permissions: Permission[] = ['glb_update_manage', 'glb_jobs_read']
    return withRole(permissions, groups)
  }

  async function withRole(permissions: Permission[], groups: string[]): Promise<TestCaller> {
    const role = `updates-${newId()}`
    await admin.authorization.createRole({ body: { data: { name: role, permissions } } })
    const principal = await hub.context.database.transaction(hub.tenant, async (tx) => {
      await changeAccess(tx)
      const made = await insertPrincipal(tx, { kind: 'user', name: `manager ${newId()}` })
      await insertGrant(tx, { principalId: made.id, role })
      for (const accessGroupId of groups)
        await insertGrant(tx, { principalId: made.id, role: 'operator', accessGroupId })
      return made
    })
    return hub.withToken(await hub.tokenFor(principal.id, { roles: [role, 'operator'] }), principal.id)
  }

  describe('approval', () => {
    test('starts no device before another person has approved the campaign, and shows this person', async () => {
      const plant = await plantOf()
      const { id, state } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, approval: 'required' })
      assert.equal(state, 'pending-approval')
      await tick(hub)
      assert.equal(await leaseUpdate(plant.gateway), undefined)
      const { data: job } = await until(
        hub,
        async () => admin.jobs.getJob({ params: { id: (await readCampaign(admin, id)).jobId ?? '' } }),
        ({ data }) => data.phase === 'waiting',
      )
      assert.equal(job.type, 'update-campaign')
      assert.deepEqual((await readCampaign(admin, id)).actions, ['cancel'])
      await assert.rejects(admin.updates.approveCampaign({ params: { id } }), code('forbidden'))
      const other = await hub.as('administrator')
      assert.deepEqual((await readCampaign(other, id)).actions, ['approve', 'cancel'])
      const { data: approved } = await other.updates.approveCampaign({ params: { id } })
      assert.deepEqual([approved.state, approved.approvedBy?.id], ['running', other.principalId])
      await assert.rejects(other.updates.approveCampaign({ params: { id } }), code('conflict'))
      await workUntil(plant, id, (campaign) => campaign.state === 'finished')
    })

    test('refuses the approval of the creator, of service accounts, and of persons who cannot write the devices', async () => {
      const plant = await plantOf(1, group)
      const creator = await hub.as('administrator')
      const draft = await createDraft(creator, { artefactId, assetIds: plant.assetIds, approval: 'required' })
      const params = { id: draft.id }
      await admin.updates.startCampaign({ params })
      await assert.rejects(creator.updates.approveCampaign({ params }), code('forbidden'))
      await assert.rejects((await manager()).updates.approveCampaign({ params }), code('forbidden'))
      await assert.rejects((await hub.as('operator')).updates.approveCampaign({ params }), code('forbidden'))
      const service = await hub.context.database.transaction(hub.tenant, async (tx) => {
        await changeAccess(tx)
        const made = await insertPrincipal(tx, { kind: 'server_user', name: `service ${newId()}` })
        await insertGrant(tx, { principalId: made.id, role: 'administrator' })
        return made
      })
      const program = hub.withToken(await hub.tokenFor(service.id, { roles: ['administrator'] }), service.id)
      await assert.rejects(program.updates.approveCampaign({ params }), code('forbidden'))
      await (await manager(group)).updates.approveCampaign({ params })
      await workUntil(plant, draft.id, ({ state }) => state === 'finished')
    })

    test('cancels a campaign without approval, and releases its devices', async () => {
      const plant = await plantOf()
      const options = { artefactId, assetIds: plant.assetIds, approval: 'required' as const }
      const { id } = await startCampaign(admin, options)
      await admin.updates.cancelCampaign({ params: { id } })
      assert.equal((await startCampaign(admin, options)).state, 'pending-approval')
    })
  })

  test('requires the permission to manage updates, and shows the possible actions', async () => {
    const plant = await plantOf()
    const viewer = await hub.as('viewer')
    const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, window: closedWindow() })
    assert.deepEqual((await readCampaign(viewer, id)).actions, [])
    const params = { id }
    for (const action of [
      'startCampaign',
      'pauseCampaign',
      'resumeCampaign',
      'cancelCampaign',
      'retryCampaign',
    ] as const)
      await assert.rejects(viewer.updates[action]({ params }), code('forbidden'))
    await assert.rejects(createDraft(viewer, { artefactId, assetIds: plant.assetIds }), code('forbidden'))
    await admin.updates.cancelCampaign({ params })
  })

  test('updates only devices in access groups in which the person can write', async () => {
    const [own, foreign] = [await plantOf(1, group), await plantOf()]
    const user = await manager(group)
    const { id } = await createDraft(admin, { artefactId, assetIds: [...own.assetIds, ...foreign.assetIds] })
    await user.updates.startCampaign({ params: { id } })
    const devices = await listDevices(admin, id)
    assert.deepEqual(
      devices.map(({ assetId, state }) => [assetId, state]),
      [[own.assetIds[0], 'waiting']],
      'targets that the person cannot read are left out',
    )
    await workUntil({ ...own, admin }, id, ({ state }) => state === 'finished')
    const permissions: Permission[] = ['glb_update_manage', 'glb_jobs_read', 'inventory_read_asset_data']
    const reader = await withRole(permissions, [group])
    const draft = await createDraft(reader, { artefactId, assetIds: foreign.assetIds })
    const { data: plan } = await reader.updates.planCampaign({ params: { id: draft.id } })
    assert.equal(plan.devices[0]?.outcome, 'forbidden')
    await assert.rejects(reader.updates.startCampaign({ params: { id: draft.id } }), code('conflict'))
  })

  test('shows devices, counts and targets only of assets that the caller can read', async () => {
    const [own, hidden] = [await plantOf(1, group), await plantOf()]
    const assetIds = [...own.assetIds, ...hidden.assetIds]
    const { id } = await startCampaign(admin, { artefactId, assetIds, window: closedWindow() })
    const user = await manager(group)
    await assert.rejects(createDraft(user, { artefactId, assetIds }), code('asset_not_found'))
    const seen = await readCampaign(user, id)
    assert.deepEqual([seen.devices, seen.targets], [1, { assetIds: own.assetIds }])
    assert.deepEqual(
      (await listDevices(user, id)).map(({ assetId }) => assetId),
      own.assetIds,
    )
    const nothing = await manager()
    const unseen = await readCampaign(nothing, id)
    assert.deepEqual([unseen.devices, unseen.targets, await listDevices(nothing, id)], [0, { assetIds: [] }, []])
    await assert.rejects(user.updates.resumeCampaign({ params: { id } }), code('forbidden'))
    await admin.updates.cancelCampaign({ params: { id } })
    const other = await hub.anotherTenant()
    const stranger = await hub.as('administrator', { tenant: other })
    for (const action of ['readCampaign', 'listDevices', 'listFailures', 'cancelCampaign', 'startCampaign'] as const)
      await assert.rejects(stranger.updates[action]({ params: { id } }), code('not_found'))
    assert.deepEqual((await stranger.updates.listCampaigns({})).data, [])
  })

  test('does not retry a device that failed after the check of the rights', onlyInLongRuns, async () => {
    const [own, hidden] = [await plantOf(1, group), await plantOf()]
    const assetIds = [...own.assetIds, ...hidden.assetIds]
    const { id } = await startCampaign(admin, { artefactId, assetIds, window: closedWindow() })
    const user = await manager(group)
    const fail = `update update_devices set state = 'failed' where campaign_id = $1 and asset_id = $2`
    await hub.asOwner(async (owner) => {
      await owner.query(fail, [id, own.assetIds[0]])
      await owner.query('begin')
      await owner.query('select from update_campaigns where tenant_id = $1 and id = $2 for update', [
        hub.tenant.tenantId,
        id,
      ])
      const retried = user.updates.retryCampaign({ params: { id } })
      await waitUntil(async () => (await sessionsBlockedBy(owner, hub.database)).length > 0)
      await owner.query(fail, [id, hidden.assetIds[0]])
      await owner.query('commit')
      await retried
    })
    const states = await statesOf(admin, id)
    assert.deepEqual(
      assetIds.map((assetId) => states.get(assetId)),
      ['waiting', 'failed'],
    )
    await admin.updates.cancelCampaign({ params: { id } })
  })

  test('checks the rights of the person who started the campaign again before each device starts', async () => {
    const plant = await plantOf(2, group)
    const user = await manager(group)
    const { id } = await startCampaign(user, { artefactId, assetIds: plant.assetIds, concurrentDevices: 1 })
    const held = await until(
      hub,
      () => leaseUpdate(plant.gateway),
      (one) => one !== undefined,
    )
    assert.ok(held)
    await hub.context.database.transaction(hub.tenant, async (tx) => {
      await changeAccess(tx)
      await tx.run(
        {
          name: '',
          text: 'delete from grants where tenant_id = $1 and principal_id = $2 and access_group_id is not null',
        },
        user.principalId,
      )
    })
    await plant.gateway.gatekeeper.advanceJob({
      params: { id: held.lease },
      body: { data: { jobId: held.jobId, state: 'PREPARED' } },
    })
    const ended = await workUntil({ ...plant, admin }, id, ({ state }) => state === 'finished')
    assert.deepEqual([ended.counts.canceled, ended.counts.skipped], [1, 1])
    for (const { reason } of await listDevices(admin, id)) assert.match(reason ?? '', /can no longer update devices/)
  })
})
