import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { enrolledGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createAssets, createHierarchy, createNode, projectAll } from './testing.ts'

describe('assets that the caller of a hierarchy cannot read', () => {
  let hub: TestHub
  let operator: TestCaller
  let lineGroup: string

  before(async () => {
    hub = await testHub()
    operator = await hub.as('operator')
    const admin = await hub.as('administrator')
    lineGroup = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line' } } })).data.id
  })

  after(() => hub[Symbol.asyncDispose]())

  test('counts only readable assets in the refused deletion of a node or a hierarchy', async () => {
    const id = await createHierarchy(operator, 'Deletion')
    const node = await createNode(operator, id, 'Site')
    const [hidden = '', shown = ''] = await createAssets(operator, [
      { name: 'hidden' },
      { name: 'shown', accessGroup: 'line' },
    ])
    await operator.hierarchy.assignAssets({ params: { id: node.id }, body: { data: { assetIds: [hidden, shown] } } })
    await projectAll(hub)
    const limited = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read', 'glb_hierarchy_write', 'glb_inventory_read_relation_data'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: lineGroup },
    ])
    for (const operation of ['deleteNode', 'deleteHierarchy'] as const)
      for (const [caller, assets] of [
        [limited, 1],
        [operator, 2],
      ] as const) {
        const params = { id: operation === 'deleteNode' ? node.id : id }
        const problem = (await caller.exchange(hierarchy, operation, { params })).body as ProblemDocument
        assert.equal(problem.assignedAssets, assets)
        assert.equal(problem.childNodes, operation === 'deleteNode' ? 0 : 1)
        const note = caller === limited ? ' Assets that you cannot read are assigned too.' : ''
        const detail = `assigned assets: ${assets}, rules: 0).${note} To delete`
        assert.ok(problem.detail.includes(detail), problem.detail)
        const counted = await caller.hierarchy[operation]({ params, query: { dryRun: true } })
        assert.equal(counted.data.assignedAssets, assets)
      }
  })

  test('returns 403 for a cleanup without permissions for relations, also if the deleted node has no relations', async () => {
    const id = await createHierarchy(operator, 'Cleanup')
    const [used, unused] = [await createNode(operator, id, 'used'), await createNode(operator, id, 'unused')]
    const assetIds = await createAssets(operator, [{ name: 'cleaned' }])
    await operator.hierarchy.assignAssets({ params: { id: used.id }, body: { data: { assetIds } } })
    for (const node of [used, unused])
      await operator.hierarchy.deleteNode({ params: { id: node.id }, query: { recursive: true } })
    const limited = await createCaller(hub, [{ permissions: ['glb_hierarchy_read', 'glb_hierarchy_write'] }])
    for (const node of [used, unused]) {
      const refused = await limited.exchange(hierarchy, 'cleanupNode', { params: { id: node.id } })
      assert.equal(refused.status, 403)
    }
  })

  test('proposes no assets to a caller that cannot read the gateway of the rule', async () => {
    const admin = await hub.as('administrator')
    const gateway = await enrolledGateway(hub, admin)
    const id = await createHierarchy(operator, 'Rules')
    const node = await createNode(operator, id, 'Site')
    const [asset = ''] = await createAssets(operator, [{ name: 'found', accessGroup: 'line' }])
    await hub.asOwner((owner) =>
      owner.query(
        `insert into relations (tenant_id, id, subject_type, subject_id, predicate, object_type, object_id, source_type,
           created_at, modified_at, created_ordinal)
         values ($1, $2, 'asset', $3, 'found_by_gateway', 'asset', $4, 'discovery', now(), now(), 1)`,
        [hub.tenant.tenantId, crypto.randomUUID(), asset, gateway.id],
      ),
    )
    await operator.hierarchy.replaceRules({
      params: { id },
      body: { data: { rules: [{ nodeId: node.id, gatewayId: gateway.id }] } },
    })
    const limited = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: lineGroup },
    ])
    const proposals = async (caller: TestCaller) =>
      (await caller.hierarchy.listProposals({ params: { id } })).data.map(({ assetId }) => assetId)
    assert.deepEqual(await proposals(operator), [asset])
    assert.deepEqual(await proposals(limited), [])
  })

  test('returns 422 for a rule with an unreadable gateway, an unknown id or an asset that is not a gateway', async () => {
    const gateway = await enrolledGateway(hub, await hub.as('administrator'))
    const id = await createHierarchy(operator, 'Refused gateways')
    const node = await createNode(operator, id, 'Site')
    const [device = ''] = await createAssets(operator, [{ name: 'device', accessGroup: 'line' }])
    const limited = await ruleWriter()
    const put = (caller: TestCaller, gatewayId: string) =>
      caller.exchange(hierarchy, 'replaceRules', {
        params: { id },
        body: { data: { rules: [{ nodeId: node.id, gatewayId }] } },
      })
    for (const [caller, gatewayId] of [
      [operator, crypto.randomUUID()],
      [operator, device],
      [limited, gateway.id],
    ] as const) {
      const { status, body } = await put(caller, gatewayId)
      const { code, errors, detail } = body as ProblemDocument
      assert.deepEqual([status, code], [422, 'asset_not_found'])
      assert.equal(detail, `Gateway ${gatewayId} does not exist`)
      assert.equal(errors?.[0]?.pointer, '/data/rules/0/gatewayId')
    }
    assert.equal((await put(operator, gateway.id)).status, 200)
  })

  test('shows a substitute id instead of an unreadable gateway, and keeps the gateway when the rule is written back', async () => {
    const gateway = await enrolledGateway(hub, await hub.as('administrator'))
    const id = await createHierarchy(operator, 'Hidden gateways')
    const node = await createNode(operator, id, 'Site')
    const rule = { nodeId: node.id, gatewayId: gateway.id }
    const rulesFor = async (caller: TestCaller) => (await caller.hierarchy.readRules({ params: { id } })).data.rules
    await operator.hierarchy.replaceRules({ params: { id }, body: { data: { rules: [rule] } } })
    const limited = await ruleWriter()
    const shown = await rulesFor(limited)
    assert.notEqual(shown[0]?.gatewayId, undefined)
    assert.notEqual(shown[0]?.gatewayId, gateway.id)
    const added = { nodeId: node.id, namePattern: 'Pump*' }
    const written = { params: { id }, body: { data: { rules: [added, ...shown] } } }
    assert.deepEqual((await limited.hierarchy.replaceRules(written)).data.rules, [added, ...shown])
    assert.deepEqual(await rulesFor(operator), [added, rule])
    // A caller that can read the gateway gets its id, also if it sends the substitute id.
    assert.deepEqual((await operator.hierarchy.replaceRules(written)).data.rules, [added, rule])
    // A substitute id is valid only in its own hierarchy.
    const other = await createHierarchy(operator, 'Other rules')
    const site = await createNode(operator, other, 'Site')
    const copied = shown.map((one) => ({ ...one, nodeId: site.id }))
    const refused = await limited.exchange(hierarchy, 'replaceRules', {
      params: { id: other },
      body: { data: { rules: copied } },
    })
    assert.equal(refused.status, 422)
  })

  test('shows a deleted gateway of a rule to a caller that can read all assets, and keeps it when written back', async () => {
    const gateway = await enrolledGateway(hub, await hub.as('administrator'))
    const id = await createHierarchy(operator, 'Deleted gateways')
    const node = await createNode(operator, id, 'Site')
    const rules = [{ nodeId: node.id, gatewayId: gateway.id }]
    await operator.hierarchy.replaceRules({ params: { id }, body: { data: { rules } } })
    await operator.inventory.deleteAssets({ body: { data: { ids: [gateway.id] } }, headers: { prefer: 'wait=30' } })
    const shown = (await operator.hierarchy.readRules({ params: { id } })).data
    assert.deepEqual(shown.rules, rules)
    await operator.hierarchy.replaceRules({ params: { id }, body: { data: shown } })
    const limited = await ruleWriter()
    const refused = await limited.exchange(hierarchy, 'replaceRules', { params: { id }, body: { data: shown } })
    assert.equal(refused.status, 422)
    await operator.hierarchy.replaceRules({ params: { id }, body: { data: { rules: [] } } })
    const repeated = await operator.exchange(hierarchy, 'replaceRules', { params: { id }, body: { data: shown } })
    assert.equal(repeated.status, 422)
  })

  function ruleWriter(): Promise<TestCaller> {
    return createCaller(hub, [
      { permissions: ['glb_hierarchy_read', 'glb_hierarchy_write'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: lineGroup },
    ])
  }
})
