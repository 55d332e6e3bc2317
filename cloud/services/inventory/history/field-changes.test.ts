import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldChange } from '@millwright/api/inventory/changes.ts'
import { deletedFields, fieldChanges } from './field-changes.ts'

const accessGroupId = 'group-1'

function changesOf(before: object, after: object): FieldChange[] {
  return fieldChanges({ accessGroupId, document: { ...before } }, { accessGroupId, document: { ...after } })
}

test('lists the changed fields with their old and new values', () => {
  const product = (product_version: string, manufacturer: string) => ({
    product_instance_information: { manufacturer_product: { product_version, manufacturer: { name: manufacturer } } },
  })
  const firmware = (version: string) => ({
    software_components: [
      {
        artifact: {
          is_firmware: true,
          asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'firmware', version }],
        },
      },
    ],
  })
  const software = (...versions: [name: string, version: string][]) => ({
    software_components: versions.map(([name, version]) => ({
      artifact: { asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name, version }] },
    })),
  })
  const cases: [string, object, object, FieldChange[]][] = [
    ['a name', { name: 'a' }, { name: 'b' }, [{ field: 'name', before: 'a', after: 'b' }]],
    ['a new text', {}, { description: 'x' }, [{ field: 'description', after: 'x' }]],
    ['a cleared text', { description: 'x' }, {}, [{ field: 'description', before: 'x' }]],
    ['firmware', firmware('1'), firmware('2'), [{ field: 'firmware', before: '1', after: '2' }]],
    [
      'only the software that changed',
      software(['Runtime', '1.0'], ['Viewer', '4']),
      software(['Runtime', '1.1'], ['Viewer', '4']),
      [{ field: 'software_components', before: 'Runtime 1.0', after: 'Runtime 1.1' }],
    ],
    [
      'new software',
      software(['Runtime', '1.0']),
      software(['Runtime', '1.0'], ['Viewer', '4']),
      [{ field: 'software_components', after: 'Viewer 4' }],
    ],
    [
      'an outage with the time since which it lasts',
      { reachability_state: { state_value: 'reached', state_timestamp: '1' } },
      { reachability_state: { state_value: 'failed', state_timestamp: '2' } },
      [{ field: 'reachability_state', before: 'reached', after: 'failed', since: '2' }],
    ],
    [
      'the end of an outage with the time since which it lasted',
      { reachability_state: { state_value: 'failed', state_timestamp: '2' } },
      { reachability_state: { state_value: 'reached', state_timestamp: '3' } },
      [{ field: 'reachability_state', before: 'failed', after: 'reached', since: '2' }],
    ],
    [
      'a state without its time',
      { trust_state: { state_value: 'a', state_timestamp: '1' } },
      { trust_state: { state_value: 'b', state_timestamp: '2' } },
      [{ field: 'trust_state', before: 'a', after: 'b' }],
    ],
    ['times only', { last_modified_timestamp: '1' }, { last_modified_timestamp: '2' }, []],
    [
      'the product',
      product('1', 'Acme'),
      product('2', 'Acme'),
      [{ field: 'product_version', before: '1', after: '2' }],
    ],
    [
      'addresses',
      { connection_points: [{ ipv4_address: '10.0.0.1', mac_address: '00:00:00:00:00:01' }] },
      { connection_points: [{ ipv4_address: '10.0.0.2', mac_address: '00:00:00:00:00:01' }] },
      [{ field: 'addresses', before: '10.0.0.1', after: '10.0.0.2' }],
    ],
    [
      'a custom property',
      { custom_properties: [{ key: 'k', value: '1' }] },
      { custom_properties: [{ key: 'k', value: '2' }] },
      [{ field: 'custom_properties/k', before: '1', after: '2' }],
    ],
    ['another field', { location: [1] }, { location: [2] }, [{ field: 'location' }]],
  ]
  for (const [title, before, after, expected] of cases) assert.deepEqual(changesOf(before, after), expected, title)
})

test('lists a move to another access group first, and limits the number of fields and the length of values', () => {
  const many = (value: number) => Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field${index}`, value]))
  const changes = fieldChanges(
    { accessGroupId: 'a', document: { name: 'x'.repeat(1_000), ...many(1) } },
    { accessGroupId: 'b', document: { name: 'y', ...many(2) } },
  )
  assert.equal(changes.length, 12)
  assert.deepEqual(changes[0], { field: 'access_group', before: 'a', after: 'b' })
  assert.equal(changes[1]?.before?.length, 160)
})

test('keeps the name and the type of a deleted asset', () => {
  assert.deepEqual(deletedFields({ document: { name: 'pump', functional_object_type: 'Device' } }), [
    { field: 'name', before: 'pump' },
    { field: 'type', before: 'Device' },
  ])
})
