import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Permission, permissionNames } from '@millwright/api/permission.ts'
import { maySee } from './visibility.ts'

function everywhere(...names: Permission[]) {
  return { rights: { everywhere: new Set(names), inGroups: new Map() } }
}

const inLine1 = {
  rights: {
    everywhere: new Set<Permission>(),
    inGroups: new Map([['inventory_read_asset_data', new Set(['line-1'])]]),
  },
} as Parameters<typeof maySee>[0]

/** The permissions that each type of event requires in the whole tenant. */
const needed: [string, Permission[]][] = [
  ['inventory.asset.created', ['inventory_read_asset_data']],
  ['inventory.relation.deleted', ['glb_inventory_read_relation_data']],
  ['inventory.custom-property.created', ['inventory_read_asset_data', 'glb_inventory_read_gateway_data']],
  ['inventory.schema.created', ['inventory_read_asset_data', 'glb_inventory_read_gateway_data']],
  ['authorization.grant.created', ['glb_access_manage', 'glb_audit_read']],
  ['identity.user.updated', ['glb_access_manage', 'glb_audit_read']],
  ['credentials.instance.delivered', ['glb_credential_read', 'glb_audit_read']],
  ['hierarchy.node.moved', ['glb_hierarchy_read', 'glb_audit_read']],
  ['events.webhook.disabled', ['glb_webhook_manage', 'glb_audit_read']],
  ['events.mqtt-publisher.created', ['glb_webhook_manage', 'glb_audit_read']],
  ['workflows.job.updated', ['glb_jobs_read']],
  ['workflows.workflow.created', ['glb_jobs_read']],
  ['discovery.run.finished', ['glb_jobs_read', 'glb_audit_read']],
  ['onboarding.gateway.created', ['glb_jobs_read', 'glb_audit_read']],
  ['inventory.assets.created', ['glb_audit_read']],
  ['inventory.something.new', ['glb_audit_read']],
  ['authorizations.grant.created', ['glb_audit_read']],
  ['constructor', ['glb_audit_read']],
]

for (const [type, permissions] of needed) {
  test(`shows the event ${type} only to holders of ${permissions.join(' or ')}`, () => {
    const event = { type, data: { accessGroupId: 'line-1' } }
    const enough = permissionNames.filter((name) => maySee(everywhere(name), event))
    assert.deepEqual(enough.toSorted(), permissions.toSorted())
    assert.equal(maySee(everywhere(), event), false)
  })
}

test('shows an asset event only to callers who can read the assets of its access group', () => {
  const event = (accessGroupId: unknown) => ({ type: 'inventory.asset.updated', data: { accessGroupId } })
  assert.equal(maySee(inLine1, event('line-1')), true)
  for (const other of ['line-2', '', undefined, null, ['line-1']]) assert.equal(maySee(inLine1, event(other)), false)
  assert.equal(maySee(inLine1, { type: 'inventory.schema.created', data: {} }), true)
})
