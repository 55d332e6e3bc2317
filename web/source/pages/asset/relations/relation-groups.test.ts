import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RelationRow } from './neighbourhood.ts'
import { relationGroups } from './relation-groups.ts'

test('places parents above, other relations left, the network right, and modules below', () => {
  const row = (direction: 'out' | 'in', predicate: string, name: string) =>
    ({ direction, relation: { id: name, predicate }, node: { name } }) as unknown as RelationRow
  const groups = relationGroups([
    row('in', 'is_module_of', 'IO01'),
    row('in', 'is_module_of', 'IO02'),
    row('out', 'is_connected_to', 'SW01'),
    row('in', 'is_controlled_by', 'DRV01'),
    row('out', 'is_assigned_to_node', 'Line 1'),
    row('in', 'is_part_of', 'SEN01'),
  ])
  assert.deepEqual(
    groups.map(({ side, key, rows }) => `${side}: ${key} ${rows.length}`),
    [
      'above: out is_assigned_to_node 1',
      'left: in is_controlled_by 1',
      'right: out is_connected_to 1',
      'below: in is_module_of 2',
      'below: in is_part_of 1',
    ],
  )
})
