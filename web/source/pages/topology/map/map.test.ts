import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Impact } from '@millwright/api/inventory/impact.ts'
import type { TopologyGroup, TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { positionAt, timeAt, timelineOf } from '../timeline-scale.ts'
import { arrange, layouts } from './arrangement.ts'
import { between, cameraFor, onScreen, zoomed } from './camera.ts'
import { marksOf } from './impact-marks.ts'
import { type Box, commonParts, distinctName, groupKey, pathOf, rootKey, sceneOf } from './scene.ts'

const keys = Array.from({ length: 60 }, (_, index) => `${index}`)
/** A star with 20 leaves, and items without connections. */
const edges = keys.slice(1, 21).map((to) => ({ from: '0', to, predicate: 'is_connected_to', count: 1 }))

function overlaps(one: Box, other: Box): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  )
}

describe('arrangement of a group', () => {
  for (const layout of layouts)
    test(`the layout ${layout} gives each item its own cell, and the same cells every time`, () => {
      const grid = arrange(layout, { keys, edges, aspect: 1.7, cellAspect: 1.5 })
      const cells = new Set(grid.cells.map(({ column, row }) => `${column} ${row}`))
      assert.equal(cells.size, keys.length)
      assert.ok(
        grid.cells.every(({ column, row }) => column >= 0 && column < grid.columns && row >= 0 && row < grid.rows),
      )
      assert.deepEqual(grid, arrange(layout, { keys, edges, aspect: 1.7, cellAspect: 1.5 }))
    })

  test('the network layout has the most connected item at the top, and items without connections at the bottom', () => {
    const { cells } = arrange('network', { keys, edges, aspect: 1.7, cellAspect: 1.5 })
    const rowOf = (index: number) => cells[index]?.row ?? -1
    assert.equal(rowOf(0), 0)
    assert.ok(Math.min(...keys.slice(21).map((key) => rowOf(Number(key)))) > rowOf(5))
  })
})

describe('scene of the map', () => {
  const count = { reached: 1, failed: 0, unknown: 0 }
  const group = (key: string): TopologyGroup => ({
    key,
    kind: 'node',
    name: key,
    children: 0,
    assets: 1,
    reachability: count,
    classes: [],
    changes: { added: 0, changed: 0, removed: 0 },
  })
  const content = (groups: readonly string[], assets: readonly string[]): TopologyGroups => ({
    path: [],
    total: { assets: 1, reachability: count, changes: { added: 0, changed: 0, removed: 0 } },
    groups: groups.map(group),
    assets: assets.map((id) => ({
      id,
      class: 'other' as const,
      management_state: 'unknown' as const,
      reachability_state: 'unknown' as const,
    })),
    edges: [],
    truncated: false,
  })
  const top = content(['a', 'b', 'c'], [])
  const scene = (loaded: [string, TopologyGroups][]) =>
    sceneOf({ loaded: new Map(loaded), layout: 'hierarchy', aspect: 1.7, forceGridOf: () => undefined })

  test('boxes do not overlap, and opening a group moves no other box', () => {
    const closed = scene([[rootKey, top]])
    const open = scene([
      [rootKey, top],
      ['b', content(['d'], ['1', '2', '3'])],
    ])
    const boxes = [...closed.items.values()].map(({ box }) => box)
    assert.equal(
      boxes.some((box, index) => boxes.slice(index + 1).some((other) => overlaps(box, other))),
      false,
    )
    for (const [key, { box }] of closed.items) assert.deepEqual(open.items.get(key)?.box, box)
    const [outer, inner] = [open.items.get(groupKey('b')), open.items.get('asset/2')]
    assert.ok(outer !== undefined && inner !== undefined)
    assert.ok(inner.box.x > outer.box.x && inner.box.x + inner.box.width < outer.box.x + outer.box.width)
    assert.deepEqual(
      pathOf(inner).map(({ key }) => key),
      [rootKey, 'b'],
    )
  })

  test('marks the asset of an impact, the affected assets, and the groups that contain them', () => {
    const rest = { ...group('rest'), kind: 'rest' as const }
    const impacted = (id: string, nodeIds: string[]) => ({
      id,
      class: 'other' as const,
      reachability_state: 'reached' as const,
      effect: 'affected' as const,
      reason: 'dependency' as const,
      depth: 1,
      nodeIds,
    })
    const impact: Impact = {
      asset: { id: '9' },
      mode: 'fails',
      time: '2026-01-31T10:20:00Z',
      total: { affected: 3, degraded: 0 },
      byNode: [
        { nodeId: 'd', names: ['Plant', 'b', 'd'], affected: 2, degraded: 0 },
        { names: [], affected: 1, degraded: 0 },
      ],
      byClass: [],
      assets: [impacted('1', ['d']), impacted('2', ['d']), impacted('3', [])],
      truncated: false,
    }
    const open = scene([
      [rootKey, { ...top, groups: [...top.groups, rest] }],
      ['b', content(['d', 'e'], [])],
    ])
    const marks = marksOf(impact, { scene: open, treeName: 'Plant', around: ['c'] })
    const marked = [...open.items.keys()].filter((key) => marks.has(key))
    assert.deepEqual(marked.toSorted(), ['b', 'c', 'd', 'rest'].map(groupKey))
    assert.deepEqual(marks.get(groupKey('b')), { effect: 'affected', affected: 2, degraded: 0 })
    assert.deepEqual(marks.get(groupKey('rest')), { effect: 'affected', affected: 1, degraded: 0 })
    assert.deepEqual(
      ['c', 'd'].map((key) => marks.get(groupKey(key))?.effect),
      ['failing', 'affected'],
    )
    assert.deepEqual(
      ['asset/9', 'asset/3'].map((key) => marks.get(key)?.effect),
      ['failing', 'affected'],
    )
  })
})

describe('camera of the map', () => {
  const size = { width: 800, height: 400 }
  const box = { x: 10, y: 20, width: 100, height: 100 }

  test('shows a box completely, and a zoom keeps the point under the pointer', () => {
    const camera = cameraFor(box, size, 0)
    assert.deepEqual(onScreen(camera, box), { x: 200, y: 0, width: 400, height: 400 })
    const at = { x: 300, y: 100 }
    const near = zoomed(camera, 2, { at, whole: camera })
    assert.equal(near.x + at.x / near.scale, camera.x + at.x / camera.scale)
    assert.deepEqual(between(camera, near, 1), near)
  })
})

describe('scale of the timeline', () => {
  test('has hours for a week and days for a longer time, and ends after now', () => {
    const now = Date.parse('2026-01-31T10:20:00Z')
    const week = timelineOf('week', now)
    assert.deepEqual([week.bars, week.bucket, week.to > now], [168, 'hour', true])
    assert.deepEqual([timelineOf('quarter', now).bars, timelineOf('quarter', now).bucket], [90, 'day'])
    assert.equal(positionAt(week, timeAt(week, 17)), 17)
    assert.deepEqual([positionAt(week, 0), positionAt(week, Number.MAX_SAFE_INTEGER)], [0, 168])
  })
})

describe('names on the map', () => {
  const distinct = (names: readonly string[]) => names.map((name) => distinctName(name, commonParts(names)))

  test('leave out the start and the end that all names of a group have in common', () => {
    assert.deepEqual(distinct(['A-L1-C1-SW1', 'A-L2-C1-SW1']), ['L1', 'L2'])
    assert.deepEqual(distinct(['A-L1-PLC01', 'A-L1-PLC02']), ['PLC01', 'PLC02'])
    assert.deepEqual(distinct(['Line 1', 'Line 2']), ['Line 1', 'Line 2'])
    assert.deepEqual(distinct(['A-1', 'A-1']), ['1', '1'])
    assert.deepEqual(distinct(['A-', 'A-B']), ['A-', 'B'])
    assert.deepEqual(distinct(['A-L1']), ['A-L1'])
  })
})
