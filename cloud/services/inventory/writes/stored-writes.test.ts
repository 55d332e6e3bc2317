import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import { findAccessGroupByName } from '../../../platform/access/store.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { writesTopic } from './accept.ts'

/** The queue must survive an upgrade. These payloads have the form in which version 1.0.0-alpha.1 stored them. */
describe('writes that version 1.0.0-alpha.1 queued', () => {
  let hub: TestHub
  let operator: TestCaller
  let defaultGroupId: string

  before(async () => {
    hub = await testHub()
    operator = await hub.as('operator')
    const { database } = hub.contextOf('inventory')
    const group = await database.read(hub.tenant, (handle) => findAccessGroupByName(handle, defaultAccessGroup))
    defaultGroupId = group?.id ?? ''
  })

  after(() => hub[Symbol.asyncDispose]())

  const identifier = (value: string) => ({
    key: `CustomIdentifier/tag/${value}`,
    uncertainty: 1,
    type: 'CustomIdentifier',
    name: 'tag',
    value,
    identifier: { asset_identifier_type: 'CustomIdentifier', name: 'tag', value },
  })

  const item = (value: string, more: object = {}) => ({
    asset: { functional_object_type: 'Device', name: value },
    identifiers: [identifier(value)],
    relations: [],
    ...more,
  })

  const putPayload = (...items: object[]) => ({
    items,
    source: { type: 'manual' },
    strict: false,
    mayRelate: true,
    defaultGroupId,
  })

  /** Inserts a row into the queue, wakes the applier, and returns the final status. */
  async function applied(kind: string, payload: object): Promise<{ state: string; result: unknown }> {
    const id = v7()
    const [principalId, roles] = [operator.principalId, JSON.stringify(['operator'])]
    await hub.asOwner((owner) =>
      owner.query(
        `insert into operations (tenant_id, id, accepted_at, kind, payload, items, principal_id, principal_kind,
                                 principal_name, roles, grants, request_id, modified_at)
         values ($1, $2, clock_timestamp(), $3, $4, 1, $5, 'server_user', 'operator', $6, null, 'request-1', now())`,
        [hub.tenant.tenantId, id, kind, JSON.stringify(payload), principalId, roles],
      ),
    )
    await hub.contextOf('inventory').database.transaction(hub.tenant, async (tx) => tx.signal(writesTopic))
    const { data } = await operator.inventory.readStatus({ params: { id }, query: { wait: 30 } })
    return { state: data.state, result: (data.detail as { result: unknown }).result }
  }

  async function created(value: string): Promise<string> {
    const { state, result } = await applied('put', putPayload(item(value)))
    assert.equal(state, 'finished', JSON.stringify(result))
    return (result as { assetId: string }).assetId
  }

  test('applies stored put, put-many and put-whole writes, with a relation and a refused item', async () => {
    const id = await created('first')
    const related = [{ key: identifier('first').key, uncertainty: 1 }]
    const relations = [{ predicate: 'is_connected_to', related, role: 'object', bidirectional: false }]
    const refused = { refused: { code: 'invalid_asset', detail: '/data/assets/1/name must be a string' } }
    const many = await applied('put-many', putPayload(item('second', { relations }), refused))
    assert.equal(many.state, 'finished')
    const outcomes = (many.result as { outcome?: string; code?: string }[]).map(({ outcome, code }) => outcome ?? code)
    assert.deepEqual(outcomes, ['created', 'invalid_asset'])
    const rest = { states: [{ state: 'management_state', value: 'regarded' }], responsible: 'jane' }
    const whole = await applied('put-whole', putPayload(item('first', { assetId: id, rest })))
    assert.deepEqual([whole.state, (whole.result as { outcome: string }).outcome], ['finished', 'updated'])
    const { meta } = await operator.inventory.listAssetRelations({ params: { id }, query: {} })
    assert.equal(meta.totalElements, 1)
  })

  test('applies stored patch writes of one and of several assets, and stored deletions', async () => {
    const [id, other] = [await created('third'), await created('fourth')]
    const one = await applied('patch', { items: [{ assetId: id, change: 'name', name: 'renamed' }], single: true })
    assert.deepEqual(one, { state: 'finished', result: { assetId: id, outcome: 'updated' } })
    const items = [
      { assetId: id, change: 'management_state', value: 'regarded' },
      { assetId: other, change: 'responsible', responsible: 'jane' },
    ]
    const several = await applied('patch', { items, single: false })
    assert.deepEqual(several.result, [
      { assetId: id, outcome: 'updated' },
      { assetId: other, outcome: 'updated' },
    ])
    const deleted = await applied('delete', { ids: [id] })
    assert.deepEqual(deleted, { state: 'finished', result: [{ assetId: id, outcome: 'deleted' }] })
  })

  test('applies stored merge, undo-merge and split writes', async () => {
    const [id, other] = [await created('fifth'), await created('sixth')]
    const merged = await applied('merge', { assetId: id, otherId: other, prefer: 'this' })
    assert.equal(merged.state, 'finished', JSON.stringify(merged.result))
    const { mergeId } = merged.result as { mergeId: string }
    const undone = await applied('undo-merge', { assetId: id, mergeId })
    assert.equal(undone.state, 'finished', JSON.stringify(undone.result))
    await applied('merge', { assetId: id, otherId: other, prefer: 'this' })
    const split = await applied('split', { assetId: id, keys: [identifier('sixth').key], name: 'apart' })
    assert.equal(split.state, 'finished', JSON.stringify(split.result))
  })
})
