import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { canonical } from '../assets/asset.ts'
import type { RelationRow } from '../relations/relation.ts'
import {
  mergedDocument,
  redirectedRelations,
  relationsAfterMerge,
  relationsAfterUndo,
  revertedDocument,
} from './merge-rules.ts'

const [pump, mergedId, rack] = ['0000-a', '0000-b', '0000-c'] as const
const base = { functional_object_type: 'Device', created_timestamp: 'then', last_modified_timestamp: 'then' }
const state = (value: string) => ({ state_value: value, state_timestamp: 'then' })

describe('mergedDocument and revertedDocument', () => {
  const asset = {
    ...base,
    name: 'pump',
    product_instance_information: { serial_number: '1' },
    connection_points: [{ id: 'eth0', mac_address: 'a' }],
    custom_properties: [{ key: '2', value: 'mine' }],
    management_state: state('unknown'),
    responsible: 'jane',
  }
  const other = {
    ...base,
    name: 'twin',
    description: 'found apart',
    product_instance_information: { serial_number: '2', manufacturer_product: { product_id: 'P' } },
    connection_points: [
      { id: 'eth0', mac_address: 'b' },
      { id: 'eth1', mac_address: 'c' },
    ],
    custom_properties: [
      { key: '1', value: 'theirs' },
      { key: '2', value: 'theirs' },
    ],
    management_state: state('regarded'),
    created_timestamp: 'earlier',
    responsible: 'joe',
  }

  test('keeps the values of the preferred asset and adds values that only the other asset has, at every level', () => {
    const merged = mergedDocument(asset, other, 'this')
    assert.deepEqual(merged, {
      ...asset,
      description: 'found apart',
      product_instance_information: { serial_number: '1', manufacturer_product: { product_id: 'P' } },
      connection_points: [
        { id: 'eth0', mac_address: 'a' },
        { id: 'eth1', mac_address: 'c' },
      ],
      custom_properties: [
        { key: '1', value: 'theirs' },
        { key: '2', value: 'mine' },
      ],
      management_state: state('regarded'),
    })
  })

  test('prefers the values of the other asset on request, but keeps the timestamps of the remaining asset', () => {
    const merged = mergedDocument(asset, other, 'other')
    assert.deepEqual([merged.name, merged.responsible, merged.created_timestamp], ['twin', 'joe', 'then'])
    assert.deepEqual(merged.custom_properties, other.custom_properties)
  })

  test('restores the document from before the merge, and keeps later changes', () => {
    const after = mergedDocument(asset, other, 'other')
    const changed = {
      ...after,
      name: 'renamed',
      connection_points: [...(after.connection_points as object[]), { id: 'new' }],
    }
    const { name, description, connection_points, responsible } = revertedDocument(changed, { before: asset, after })
    assert.deepEqual([name, description, responsible], ['renamed', undefined, 'jane'])
    assert.deepEqual(connection_points, [{ id: 'new' }, { id: 'eth0', mac_address: 'a' }])
  })

  test('restores any document completely if nothing changed after the merge', () => {
    const value = fc.jsonValue({ maxDepth: 2, noUnicodeString: false }).filter((json) => json !== null)
    const document = fc
      .dictionary(fc.constantFrom('name', 'description', 'location', 'x', '__proto__', 'management_state'), value)
      .map((fields) => canonical({ ...base, custom_properties: [], ...fields }))
    fc.assert(
      fc.property(document, document, fc.constantFrom('this' as const, 'other' as const), (one, two, prefer) => {
        const after = mergedDocument(one, two, prefer)
        assert.deepEqual(revertedDocument(after, { before: one, after }), one)
      }),
      { numRuns: 200 },
    )
  })
})

describe('relationsAfterMerge and relationsAfterUndo', () => {
  const row = (subjectId: string, predicate: string, objectId: string): RelationRow => ({
    id: `${subjectId}${predicate}${objectId}`,
    subjectType: 'asset',
    subjectId,
    predicate,
    objectType: 'asset',
    objectId,
    sourceType: 'manual',
    sourceValue: null,
    createdAt: 'then',
    modifiedAt: 'then',
  })
  const ends = { assetId: pump, otherId: mergedId }
  const short = ({
    subject,
    predicate,
    object,
  }: {
    subject: { id: string }
    predicate: string
    object: { id: string }
  }) => [subject.id, predicate, object.id].join(' ')

  test('moves each relation of the other asset once, and drops relations between the two assets', () => {
    const current = [row(pump, 'in', rack)]
    const relations = [
      row(mergedId, 'in', rack),
      row(rack, 'holds', mergedId),
      row(mergedId, 'near', pump),
      row(pump, 'near', mergedId),
      row(mergedId, 'knows', mergedId),
    ]
    const { create, united } = relationsAfterMerge({ ...ends, relations, current })
    assert.deepEqual(create.map(short), [`${rack} holds ${pump}`, `${pump} knows ${pump}`])
    assert.deepEqual(united, [`${mergedId}in${rack}`])
    const possible = redirectedRelations(relations, ends)
    assert.deepEqual(possible.map(short), [`${pump} in ${rack}`, `${rack} holds ${pump}`, `${pump} knows ${pump}`])
  })

  test('moves relations back on undo if the relation and the asset at its other end still exist', () => {
    const ended = [
      row(mergedId, 'in', rack),
      row(mergedId, 'gone', rack),
      row(mergedId, 'moved', rack),
      row(mergedId, 'into', 'nowhere'),
      row(mergedId, 'near', pump),
    ]
    const current = [row(pump, 'in', rack), row(pump, 'moved', rack), row(pump, 'into', 'nowhere')]
    const exists = (id: string) => id === rack
    const { end, create } = relationsAfterUndo({ ...ends, ended, united: [`${mergedId}in${rack}`], current, exists })
    assert.deepEqual(end, [`${pump}moved${rack}`])
    assert.deepEqual(create.map(short), [
      `${mergedId} in ${rack}`,
      `${mergedId} moved ${rack}`,
      `${mergedId} near ${pump}`,
    ])
  })
})
