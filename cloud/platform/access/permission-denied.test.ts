import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissionDenied, permissionDeniedIn } from './permission-denied.ts'
import { noRights, rightsOf } from './rights.ts'
import { changeAccess, insertAccessGroup } from './store.ts'
import { testSite } from './testing.ts'

const permission = 'inventory_write_asset_data'

test('returns a permission error with the missing permission and the access group', () => {
  const { message } = permissionDenied({ permission: 'glb_audit_read' })
  assert.equal(message, 'Permission denied: requires `glb_audit_read`')
  const inGroup = permissionDenied({ permission, accessGroup: 'Hall 3', pointer: '/data/ids/0' })
  assert.equal(inGroup.message, 'Permission denied: requires `inventory_write_asset_data` in access group `Hall 3`')
  assert.deepEqual(inGroup.errors, [{ pointer: '/data/ids/0', code: 'forbidden', detail: inGroup.message }])
})

test('omits the access group from a permission error when the caller cannot see the group', {
  timeout: 300_000,
}, async () => {
  await using site = await testSite()
  const { database } = site.process()
  const messages = await database.transaction(site.scope, async (tx) => {
    await changeAccess(tx)
    const { id = '' } = (await insertAccessGroup(tx, 'Hall 3')) ?? {}
    const reader = rightsOf([{ accessGroupId: id, permissions: ['inventory_read_asset_data'] }])
    const denials = [noRights, reader].map((rights) =>
      permissionDeniedIn(tx, { rights }, { permission, accessGroupId: id }),
    )
    return (await Promise.all(denials)).map(({ message }) => message)
  })
  assert.deepEqual(messages, [
    'Permission denied: requires `inventory_write_asset_data`',
    'Permission denied: requires `inventory_write_asset_data` in access group `Hall 3`',
  ])
})
