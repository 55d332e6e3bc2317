import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Entity, inventory } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { applyWrite, assertCounts, asset as entity, node, postRelation } from '../testing.ts'

const tag = (value: string) => ({ asset_identifier_type: 'CustomIdentifier', name: 'tag', value })

describe('merge, undo and split', () => {
  let hub: TestHub
  let admin: TestCaller
  let operator: TestCaller
  let counter = 0

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    operator = await hub.as('operator')
  })

  after(async () => {
    await assertCounts(hub)
    await hub[Symbol.asyncDispose]()
  })

  async function put(fields: object, identifiers: object[] = [tag(`t${counter++}`)]): Promise<string> {
    const asset = { functional_object_type: 'Device', asset_identifiers: identifiers, ...fields }
    return (await applyWrite(admin, 'createAsset', { body: { data: { asset } } })).result.assetId
  }

  const merge = (id: string, other: string, { prefer = 'this', caller = operator } = {}) =>
    applyWrite(caller, 'mergeAsset', { params: { id }, body: { data: { other, prefer } } })
  const undo = (id: string, mergeId: string, caller = operator) =>
    applyWrite(caller, 'undoMerge', { params: { id, mergeId } })
  const split = (id: string, identifiers: object[], more: object = {}) =>
    applyWrite(operator, 'splitAsset', { params: { id }, body: { data: { identifiers, ...more } } })
  const read = async (id: string) => (await admin.inventory.readAsset({ params: { id } })).data
  const statusOf = async (id: string) => (await admin.exchange(inventory, 'readAsset', { params: { id } })).status
  const identifiersOf = async (id: string) =>
    (await admin.inventory.readIdentifiers({ params: { id } })).data.map(({ value }) => String(value)).toSorted()

  async function relationsOf(id: string): Promise<string[]> {
    const { data } = await admin.inventory.listAssetRelations({ params: { id }, query: { limit: 100 } })
    const short = ({ type, id: of }: Entity) => `${type}/${of}`
    return data
      .map(({ subject, predicate, object, source }) =>
        [short(subject), predicate, short(object), source.type, source.value].join(' '),
      )
      .toSorted()
  }

  /** Returns all readable data of an asset except its timestamps. */
  async function allOf(id: string) {
    const { last_modified_timestamp: _, ...document } = await read(id)
    return { document, identifiers: await identifiersOf(id), relations: await relationsOf(id) }
  }

  test('moves the identifiers of the other asset in a merge, and deletes the other asset', async () => {
    const id = await put({ name: 'pump' }, [tag('m1')])
    const other = await put({ name: 'twin', description: 'found apart' }, [tag('m2'), tag('m3')])
    const { state: final, result } = await merge(id, other)
    assert.deepEqual([final, result.outcome, result.assetId], ['finished', 'merged', id])
    for (const value of ['m1', 'm2', 'm3']) assert.equal(await put({ name: 'pump' }, [tag(value)]), id)
    assert.deepEqual(await identifiersOf(id), ['m1', 'm2', 'm3'])
    assert.equal(await statusOf(other), 404)
    assert.equal((await read(id)).description, 'found apart')
    const matches = await admin.inventory.listAssets({ query: { q: 'm3' } })
    assert.deepEqual(
      matches.data.map((asset) => asset.id),
      [id],
    )
  })

  test('keeps the values of the remaining asset in a merge, or of the other asset if it is preferred', async () => {
    const [id, other, third] = [await put({ name: 'pump' }), await put({ name: 'twin' }), await put({ name: 'third' })]
    await merge(id, other)
    assert.equal((await read(id)).name, 'pump')
    await merge(id, third, { prefer: 'other' })
    assert.equal((await read(id)).name, 'third')
  })

  test('moves custom property values in a merge, so that filters find them', async () => {
    const { data: property } = await admin.inventory.createCustomProperty({
      body: { data: { name: `cost ${counter}`, data_type: 'text' } },
    })
    const [id, other] = [await put({ name: 'pump' }), await put({ name: 'twin' })]
    const value = { asset_id: other, key: property.key, value: 'x' }
    await applyWrite(operator, 'setPropertyValues', { body: { data: [value] } })
    const { result } = await merge(id, other)
    const owners = async () =>
      (await admin.inventory.listAssets({ query: { filter: `custom_properties/${property.key} eq 'x'` } })).data.map(
        (asset) => asset.id,
      )
    assert.deepEqual(await owners(), [id])
    await undo(id, result.mergeId)
    assert.deepEqual(await owners(), [other])
  })

  test('moves the relations of the other asset, combines equal ones, and ends those between the two assets', async () => {
    const [id, other, rack] = [await put({ name: 'pump' }), await put({ name: 'twin' }), await put({ name: 'rack' })]
    const place = node()
    const [one, two, third] = [entity(id), entity(other), entity(rack)]
    await postRelation(admin, { subject: one, predicate: 'in', object: third, source: { value: 'mine' } })
    await postRelation(admin, { subject: two, predicate: 'in', object: third, source: { value: 'theirs' } })
    await postRelation(admin, { subject: place, predicate: 'holds', object: two })
    await postRelation(admin, { subject: one, predicate: 'near', object: two, isBidirectional: true })
    const before = [await relationsOf(id), await relationsOf(other)]
    const { result } = await merge(id, other)
    assert.deepEqual(
      await relationsOf(id),
      [`node/${place.id} holds asset/${id} manual `, `asset/${id} in asset/${rack} manual mine`].toSorted(),
    )
    await undo(id, result.mergeId)
    assert.deepEqual([await relationsOf(id), await relationsOf(other)], before)
  })

  test('records the merge in the history of both assets', async () => {
    const [id, other] = [await put({ name: 'pump' }), await put({ name: 'twin' })]
    const { result } = await merge(id, other)
    await undo(id, result.mergeId)
    const history = async (of: string) =>
      (await admin.inventory.readHistory({ params: { id: of } })).data
        .toReversed()
        .slice(1)
        .map(({ change, source }) => `${change} ${source.type} ${source.value}`)
    assert.deepEqual(await history(id), [`updated merge ${other}`, `updated merge_undone ${other}`])
    assert.deepEqual(await history(other), [`deleted merge ${id}`, `created merge_undone ${id}`])
  })

  test('undoes a chain of merges only in reverse order', async () => {
    const ids = [await put({ name: 'a' }), await put({ name: 'b' }), await put({ name: 'c' })] as const
    const [a, b, c] = ids
    await postRelation(admin, {
      subject: entity(c),
      predicate: 'feeds',
      object: node('01980000-0000-7000-8000-0000000000aa'),
    })
    const before = await Promise.all(ids.map(allOf))
    const first = (await merge(b, c)).result.mergeId
    const second = (await merge(a, b)).result.mergeId
    assert.equal((await identifiersOf(a)).length, 3)
    assert.equal((await operator.exchange(inventory, 'undoMerge', { params: { id: b, mergeId: first } })).status, 404)
    await undo(a, second)
    await undo(b, first)
    assert.deepEqual(await Promise.all(ids.map(allOf)), before)
  })

  test('undoes a merge only once, and lists the merge with the time of the undo', async () => {
    const [id, other] = [await put({ name: 'pump' }), await put({ name: 'twin' })]
    const { mergeId } = (await merge(id, other)).result
    const listed = async () => (await operator.inventory.listMerges({ params: { id } })).data
    assert.deepEqual(
      (await listed()).map((entry) => [entry.id, entry.otherId, entry.otherName, entry.identifiers]),
      [[mergeId, other, 'twin', 1]],
    )
    assert.equal((await listed())[0]?.undoneTimestamp, null)
    await undo(id, mergeId)
    assert.notEqual((await listed())[0]?.undoneTimestamp, null)
    const again = await operator.exchange(inventory, 'undoMerge', { params: { id, mergeId } })
    assert.deepEqual([again.status, (again.body as ProblemDocument).code], [409, 'conflict'])
    const nothing = await operator.exchange(inventory, 'undoMerge', { params: { id, mergeId: v7() } })
    assert.equal(nothing.status, 404)
  })

  test('keeps later changes of the asset when a merge is undone', async () => {
    const [id, other] = [await put({ name: 'pump' }, [tag('later')]), await put({ name: 'twin', description: 'd' })]
    const { mergeId } = (await merge(id, other)).result
    await put({ name: 'renamed' }, [tag('later'), tag('later-still')])
    await undo(id, mergeId)
    const { name, description } = await read(id)
    assert.deepEqual([name, description ?? null], ['renamed', null])
    assert.deepEqual(await identifiersOf(id), ['later', 'later-still'])
    assert.deepEqual([(await read(other)).name, (await read(other)).description], ['twin', 'd'])
  })

  test('does not restore a relation that ended after the merge when the merge is undone', async () => {
    const [id, other, rack] = [await put({ name: 'pump' }), await put({ name: 'twin' }), await put({ name: 'rack' })]
    await postRelation(admin, { subject: entity(other), predicate: 'in', object: entity(rack) })
    await postRelation(admin, { subject: entity(other), predicate: 'near', object: entity(rack) })
    const { mergeId } = (await merge(id, other)).result
    await admin.inventory.deleteRelationsByFilter({
      query: { relationsFilter: `subject.id eq '${id}' and predicate eq 'in'` },
    })
    await undo(id, mergeId)
    assert.deepEqual(await relationsOf(id), [])
    assert.deepEqual(await relationsOf(other), [`asset/${other} near asset/${rack} manual `])
  })

  test('refuses a merge unless both assets are different, exist and are writable', async () => {
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'closed line' } } })
    const { data: groups } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
    const local = await hub.as('operator', { accessGroupId: groups[0]?.id ?? '' })
    const [id, hidden] = [await put({ name: 'pump' }), await put({ name: 'theirs', access_group: 'closed line' })]
    const answerTo = async (caller: TestCaller, of: string, other: string) => {
      const { status, body } = await caller.exchange(inventory, 'mergeAsset', {
        params: { id: of },
        body: { data: { other } },
      })
      return [status, (body as ProblemDocument).code]
    }
    assert.deepEqual(await answerTo(local, id, id), [409, 'conflict'])
    assert.deepEqual(await answerTo(local, id, v7()), [422, 'asset_not_found'])
    assert.deepEqual(await answerTo(local, id, hidden), [422, 'asset_not_found'])
    assert.deepEqual(await answerTo(local, hidden, id), [404, 'not_found'])
    assert.deepEqual(await answerTo(local, v7(), id), [404, 'not_found'])
    assert.deepEqual(await answerTo(await hub.as('viewer'), id, hidden), [403, 'forbidden'])
    const { mergeId } = (await merge(id, hidden, { caller: admin })).result
    assert.deepEqual((await local.inventory.listMerges({ params: { id } })).meta.totalElements, 0)
    assert.equal((await local.exchange(inventory, 'undoMerge', { params: { id, mergeId } })).status, 404)
    await undo(id, mergeId, admin)
    assert.equal((await read(hidden)).access_group, group.name)
  })

  test('fails a merge without changes when the other asset was deleted in the meantime', async () => {
    const [id, other] = [await put({ name: 'pump' }), await put({ name: 'twin' })]
    const before = await allOf(id)
    const [, late] = await Promise.all([
      operator.inventory.deleteAssets({ body: { data: { ids: [other] } } }),
      operator.exchange(inventory, 'mergeAsset', { params: { id }, body: { data: { other } } }),
    ])
    const { statusId } = (late.body as { data?: { statusId: string } }).data ?? {}
    if (statusId === undefined) return
    const { data } = await operator.inventory.readStatus({ params: { id: statusId }, query: { wait: 30 } })
    if (data.state === 'finished') return
    assert.equal((data.detail.result as ProblemDocument).code, 'asset_not_found')
    assert.deepEqual(await allOf(id), before)
  })

  test('checks If-Match when the merge is applied', async () => {
    const [id, other] = [await put({ name: 'pump' }), await put({ name: 'twin' })]
    const headers = { prefer: 'wait=30', 'if-match': '"99"' }
    const { state: final, result } = await applyWrite(operator, 'mergeAsset', {
      params: { id },
      body: { data: { other } },
      headers,
    })
    assert.deepEqual([final, result.code], ['failed', 'precondition_failed'])
  })

  test('applies a merge and the writes before and after it in the order in which they were accepted', async () => {
    const [id, other] = [await put({ name: 'pump' }, [tag('o1')]), await put({ name: 'twin' }, [tag('o2')])]
    const write = (name: string) =>
      operator.inventory.createAsset({
        body: { data: { asset: { functional_object_type: 'Device', name, asset_identifiers: [tag('o2')] } } },
      })
    const accepted = [
      await write('before'),
      await operator.inventory.mergeAsset({ params: { id }, body: { data: { other, prefer: 'other' } } }),
      await write('after'),
    ]
    const results: unknown[] = []
    for (const { data } of accepted) {
      const status = await operator.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
      results.push((status.data.detail.result as { assetId: string }).assetId)
    }
    assert.deepEqual(results, [other, id, id])
    assert.equal((await read(id)).name, 'after')
    const history = await admin.inventory.readHistory({ params: { id } })
    assert.deepEqual(
      history.data.map(({ after: document }) => document?.name),
      ['after', 'before', 'pump'],
    )
  })

  test('creates an asset from some identifiers of another asset in a split, and reverses it with a merge', async () => {
    const id = await put({ name: 'mixed', description: 'both' }, [tag('s1'), tag('s2'), tag('s3')])
    const before = await allOf(id)
    const { state: final, result } = await split(id, [tag('s2'), tag('s3')], { name: 'second' })
    assert.deepEqual([final, result.outcome], ['finished', 'split'])
    const second = result.createdAssetId
    assert.deepEqual([await identifiersOf(id), await identifiersOf(second)], [['s1'], ['s2', 's3']])
    const { name, access_group, functional_object_type: type } = await read(second)
    assert.deepEqual([name, access_group, type], ['second', 'default', 'Device'])
    assert.equal(await put({ name: 'second' }, [tag('s3')]), second)
    assert.equal(await put({ name: 'mixed' }, [tag('s1')]), id)
    await merge(id, second)
    assert.deepEqual(await allOf(id), before)
  })

  test('refuses a split with identifiers of other assets or with all identifiers of the asset', async () => {
    const id = await put({ name: 'whole' }, [tag('w1'), tag('w2')])
    await put({ name: 'another' }, [tag('w3')])
    for (const identifiers of [[tag('w1'), tag('w2')], [tag('w1'), tag('w3')], [tag('w4')]]) {
      const { state: final, result } = await split(id, identifiers)
      assert.deepEqual([final, result.code], ['failed', 'conflict'])
    }
    assert.deepEqual(await identifiersOf(id), ['w1', 'w2'])
  })

  test('refuses to undo a merge when its identifiers now belong to another asset', async () => {
    const [id, other] = [await put({ name: 'pump' }), await put({ name: 'twin' }, [tag('left')])]
    const { mergeId } = (await merge(id, other)).result
    await split(id, [tag('left')])
    const { state: final, result } = await undo(id, mergeId)
    assert.deepEqual([final, result.code], ['failed', 'conflict'])
  })

  test('refuses to undo a merge when the remaining asset would have no identifiers', async () => {
    const [id, other] = [await put({ name: 'pump' }, [tag('own')]), await put({ name: 'twin' }, [tag('theirs')])]
    const { mergeId } = (await merge(id, other)).result
    await split(id, [tag('own')])
    const { state: final, result } = await undo(id, mergeId)
    assert.deepEqual([final, result.code], ['failed', 'conflict'])
    assert.deepEqual(await identifiersOf(id), ['theirs'])
  })

  test('keeps the stored counts correct through merges, undos and splits', async () => {
    const counted = await admin.inventory.listAssets({ query: { filter: 'id ne null', limit: 1 } })
    const stored = await admin.inventory.listAssets({ query: { limit: 1 } })
    assert.equal(stored.meta.totalElements, counted.meta.totalElements)
  })

  test('restores any two assets completely when their merge is undone', async () => {
    const rack = await put({ name: 'rack' })
    const place = node()
    const text = fc.constantFrom('x', 'y', 'z')
    const fields = fc.record(
      {
        name: text,
        description: text,
        product_instance_information: fc.record({ serial_number: text }, { requiredKeys: [] }),
        instance_annotations: fc.uniqueArray(fc.record({ key: text, value: text }), { selector: ({ key }) => key }),
      },
      { requiredKeys: [] },
    )
    const ends = fc.constantFrom('this', 'other', 'rack', 'place')
    const relation = fc.record({ from: ends, predicate: fc.constantFrom('p', 'q'), to: ends })
    const arbitraries = { one: fields, two: fields, relations: fc.array(relation, { maxLength: 6 }) }
    const prefer = fc.constantFrom('this', 'other')
    await fc.assert(
      fc.asyncProperty(fc.record({ ...arbitraries, prefer }), async ({ one, two, relations, prefer: preferred }) => {
        const [id, other] = [await put(one), await put(two, [tag(`p${counter++}`), tag(`p${counter++}`)])]
        const entities = { this: entity(id), other: entity(other), rack: entity(rack), place }
        for (const { from, predicate, to } of relations)
          await postRelation(admin, { subject: entities[from], predicate, object: entities[to] })
        const before = [await allOf(id), await allOf(other)]
        const { result } = await merge(id, other, { prefer: preferred })
        assert.equal((await identifiersOf(id)).length, 3)
        assert.equal((await undo(id, result.mergeId)).state, 'finished')
        assert.deepEqual([await allOf(id), await allOf(other)], before)
      }),
      { numRuns: 12 },
    )
  })
})
