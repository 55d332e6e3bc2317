import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Impact } from '@millwright/api/inventory/impact.ts'
import type { TopologyGroup, TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import {
  comparedSince,
  exactPositionAt,
  nearestPosition,
  placeOf,
  positionAt,
  spanFor,
  ticksOf,
  timeAt,
  timelineOf,
} from '../timeline-scale.ts'
import { arrange, layouts } from './arrangement.ts'
import { orderedAssets } from './asset-order.ts'
import { between, cameraFor, onScreen, zoomed } from './camera.ts'
import { dividedWords, nameLines } from './canvas-text.ts'
import { stepOf } from './card-lines.ts'
import { clustersOf } from './clusters.ts'
import type { Box } from './geometry.ts'
import { marksOf } from './impact-marks.ts'
import { isInsideShown } from './inside.ts'
import { connectionsOfItem, connectionsTo, laneOf, routeOf } from './lines.ts'
import { commonParts, distinctName } from './names.ts'
import { pathOf, type SceneItem, sceneOf } from './scene.ts'
import { groupKey, rootKey } from './scene-keys.ts'
import { groupSigns, ownProblems } from './signs.ts'
import {
  isAtPlaceOf,
  separateNetworks,
  summaryGroup,
  switchAlone,
  withNetworks,
  withoutSwitch,
} from './switch-networks.ts'
import { switchTree } from './switch-tree.ts'
import { briefTexts, completeTexts, inForm, sharedForm, twoLines } from './title-form.ts'

const keys = Array.from({ length: 60 }, (_, index) => `${index}`)
/** A star with 20 leaves, and items without connections. */
const edges = keys.slice(1, 21).map((to) => ({ from: '0', to, predicate: 'is_connected_to', count: 1 }))

const unmonitored = { reachable: 0, unreachable: 0, unchecked: 0, unmonitored: 1 }

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
    stopped: 0,
    stoppedRead: 0,
    outdated: 0,
    monitoring: unmonitored,
    classes: [],
    changes: { added: 0, changed: 0, removed: 0 },
  })
  const content = (groups: readonly string[], assets: readonly string[]): TopologyGroups => ({
    path: [],
    total: {
      assets: 1,
      reachability: count,
      stopped: 0,
      stoppedRead: 0,
      outdated: 0,
      monitoring: unmonitored,
      changes: { added: 0, changed: 0, removed: 0 },
    },
    groups: groups.map(group),
    assets: assets.map((id) => ({
      id,
      class: 'other' as const,
      management_state: 'unknown' as const,
      reachability_state: 'unknown' as const,
      monitoring: 'unmonitored' as const,
    })),
    edges: [],
    unavailable: [],
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

  test('subnets with the most important problems come first, and the group of the rest is the last one with its problem', () => {
    const subnet = (key: string, stopped: number) => ({ ...group(key), kind: 'subnet' as const, stopped })
    const rest = { ...group('rest'), kind: 'rest' as const, stopped: 5 }
    const groups = [subnet('10.0.1.0/24', 0), subnet('10.0.2.0/24', 2), rest]
    const keysOf = (isWorstFirst: boolean) =>
      sceneOf({
        loaded: new Map([[rootKey, { ...top, groups }]]),
        layout: 'hierarchy',
        aspect: 1.7,
        isWorstFirst,
        forceGridOf: () => undefined,
      }).root.items.map(({ group: each }) => each?.key)
    assert.deepEqual(keysOf(true), ['10.0.2.0/24', 'rest', '10.0.1.0/24'])
    assert.deepEqual(keysOf(false), ['10.0.1.0/24', '10.0.2.0/24', 'rest'])
  })

  test('a subnet knows its connections in both directions, the most frequent first', () => {
    const subnet = (key: string) => ({ ...group(key), kind: 'subnet' as const })
    const groups = ['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24'].map(subnet)
    const edges = [
      { from: '10.0.1.0/24', to: '10.0.2.0/24', predicate: 'p', count: 1 },
      { from: '10.0.3.0/24', to: '10.0.1.0/24', predicate: 'p', count: 2 },
      { from: '10.0.1.0/24', to: '10.0.3.0/24', predicate: 'q', count: 2 },
    ]
    const { root } = scene([[rootKey, { ...top, groups, edges }]])
    const [first] = root.items
    assert.ok(first !== undefined)
    assert.deepEqual(
      connectionsOfItem(first).map(({ group: each, count: number }) => `${each.key} ${number}`),
      ['10.0.3.0/24 4', '10.0.2.0/24 1'],
    )
  })

  test('subnets with the same worst problem have the order of their addresses', () => {
    const subnet = (key: string, stopped: number, outdated = 0) => ({
      ...group(key),
      kind: 'subnet' as const,
      stopped,
      assets: 10,
      outdated,
    })
    const groups = [subnet('a', 0, 2), subnet('b', 0, 3), subnet('c', 1), subnet('d', 2), subnet('e', 0, 9)]
    const total = { ...top.total, assets: 50, outdated: 14 }
    const { root } = sceneOf({
      loaded: new Map([[rootKey, { ...top, groups, total }]]),
      layout: 'hierarchy',
      aspect: 1.7,
      isWorstFirst: true,
      forceGridOf: () => undefined,
    })
    assert.deepEqual(
      root.items.map(({ group: each }) => each?.key),
      ['c', 'd', 'e', 'a', 'b'],
    )
  })

  test('subnets have their complete address', () => {
    const subnet = (key: string) => ({ ...group(key), kind: 'subnet' as const })
    const { root } = scene([[rootKey, { ...top, groups: ['10.0.1.0/24', '10.0.12.0/24'].map(subnet) }]])
    assert.equal(distinctName('10.0.12.0/24', root.common.groups), '10.0.12.0/24')
  })

  test('the lines of subnets, and of places in a grid, are hidden until the user points at a box', () => {
    const hides = (loaded: TopologyGroups, layout: 'hierarchy' | 'force') =>
      sceneOf({ loaded: new Map([[rootKey, loaded]]), layout, aspect: 1.7, forceGridOf: () => undefined }).root
        .areLinesHidden
    const subnets = { ...top, groups: top.groups.map((each) => ({ ...each, kind: 'subnet' as const })) }
    assert.deepEqual([hides(subnets, 'hierarchy'), hides(subnets, 'force')], [true, true])
    assert.deepEqual([hides(top, 'hierarchy'), hides(top, 'force')], [true, false])
    assert.equal(hides(content([], ['1', '2']), 'hierarchy'), false)
  })

  test('the group of the rest is above the others if its problem is the worst one, and has their edges', () => {
    const boxesOf = (stopped: number, isWorstFirst = true) => {
      const { name: _name, ...unnamed } = group('rest')
      const rest = { ...unnamed, kind: 'rest' as const, stopped }
      const { items } = sceneOf({
        loaded: new Map([[rootKey, { ...top, groups: [{ ...group('a'), stopped: 1 }, group('b'), rest] }]]),
        layout: 'hierarchy',
        aspect: 1.7,
        isWorstFirst,
        forceGridOf: () => undefined,
      })
      const [one, last, other] = ['a', 'b', 'rest'].map((key) => items.get(groupKey(key))?.box)
      assert.ok(one !== undefined && last !== undefined && other !== undefined)
      assert.equal(overlaps(one, other), false)
      assert.deepEqual([other.x, other.x + other.width], [one.x, last.x + last.width])
      return other.y < one.y
    }
    assert.deepEqual([boxesOf(2), boxesOf(1), boxesOf(0), boxesOf(2, false)], [true, false, false, false])
  })

  test('the group of the rest is smaller than the other groups, and boxes do not overlap', () => {
    const rest = { ...group('rest'), kind: 'rest' as const }
    const { items } = scene([[rootKey, { ...content(['a'], []), groups: [group('a'), rest] }]])
    const [one, other] = [items.get(groupKey('a'))?.box, items.get(groupKey('rest'))?.box]
    assert.ok(one !== undefined && other !== undefined)
    assert.ok(other.width * other.height * 4 < one.width * one.height)
    assert.equal(overlaps(one, other), false)
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

describe('networks of switches', () => {
  const none = { added: 0, changed: 0, removed: 0 }
  const device = (key: string, name: string, parent?: string): TopologyGroup => ({
    key,
    kind: 'switch',
    name,
    ...(parent !== undefined && { parent }),
    children: 0,
    assets: 3,
    reachability: { reached: 3, failed: 0, unknown: 0 },
    stopped: 0,
    stoppedRead: 0,
    outdated: 1,
    monitoring: { reachable: 1, unreachable: 1, unchecked: 0, unmonitored: 1 },
    classes: [{ class: 'sensor', assets: 3 }],
    changes: none,
  })
  const groups = [
    device('r', 'P-A-L1-SW1'),
    device('a', 'P-A-L2-C1-SW1', 'r'),
    device('b', 'P-A-L2-C2-SW1', 'a'),
    device('c', 'P-A-L1-C2-SW1', 'r'),
    device('x', 'P-B-L1-SW1'),
  ]
  const top: TopologyGroups = {
    path: [],
    total: {
      assets: 15,
      reachability: { reached: 15, failed: 0, unknown: 0 },
      stopped: 0,
      stoppedRead: 0,
      outdated: 5,
      monitoring: unmonitored,
      changes: none,
    },
    groups,
    assets: [],
    edges: [{ from: 'a', to: 'r', predicate: 'is_connected_to', count: 1 }],
    unavailable: [],
    truncated: false,
  }

  test('sum the switches that are connected with each other', () => {
    const loaded = withNetworks(new Map([[rootKey, top]]))
    assert.deepEqual(
      loaded
        .get(rootKey)
        ?.groups.map(({ name, children, assets, outdated }) => `${name} ${children} ${assets} ${outdated}`),
      ['A 4 12 4', 'B 1 3 1'],
    )
    const inside = loaded.get('network:r')
    assert.deepEqual([inside?.groups.length, inside?.edges.length, inside?.total.assets], [4, 1, 12])
  })

  test('have the name of the place that their switches share, if no other network has it', () => {
    const place = (...names: string[]) => names.map((name) => ({ key: name, name }))
    const placed = (places: Record<string, ReturnType<typeof place>>) => {
      const all = groups.map((group) => ({ ...group, ...(places[group.key] && { place: places[group.key] }) }))
      const loaded = withNetworks(new Map([[rootKey, { ...top, groups: all as TopologyGroup[] }]]))
      return loaded.get(rootKey)?.groups.map(({ name, monitoring }) => `${name} ${monitoring.unreachable}`)
    }
    const paint = { r: place('Site', 'Paint shop', 'Line 1'), a: place('Site', 'Paint shop', 'Line 2') }
    assert.deepEqual(placed({ ...paint, x: place('Site', 'Body shop') }), ['Paint shop 4', 'Body shop 1'])
    assert.deepEqual(placed({ ...paint, x: place('Site', 'Paint shop') }), ['A 4', 'B 1'])
    assert.deepEqual(placed({ r: place('Site'), a: place('Other') }), ['A 4', 'B 1'])
  })

  test('name several switches by what their names share, and by the first and the last of a range', () => {
    const of = (...names: string[]) =>
      summaryGroup(
        names.map((name) => device(name, name)),
        { key: 'k', common: { start: 'P-A-'.length, end: '-SW1'.length } },
      )
    const several = of('P-A-L1-C1-SW1', 'P-A-L1-C2-SW1')
    assert.deepEqual([several.name, several.children, several.type], ['L1', 2, 'switches'])
    assert.equal(of('P-A-L1-C2-SW1', 'P-A-L2-C1-SW1').name, 'L1-C2 – L2-C1')
    assert.deepEqual([of('P-A-L1-C2-SW1').name, of('P-A-L1-C2-SW1').type], ['L1-C2', undefined])
    assert.equal(of('P-A-L1-C2-SW1', 'P-A-L2-C1-SW1').type, 'switch-range')
  })

  test('have the name of a place only if it is not the place of the whole network', () => {
    const placed = (name: string, key: string) => ({ ...device(name, name), place: [{ key, name: key }] })
    const members = [placed('P-A-L1-C1-SW1', 'Hall'), placed('P-A-L2-C1-SW1', 'Hall')]
    const of = (others: TopologyGroup[][]) =>
      summaryGroup(members, { key: 'k', common: { start: 'P-A-'.length, end: '-SW1'.length }, others }).name
    assert.equal(of([[placed('P-A-L3-C1-SW1', 'Line')]]), 'Hall')
    assert.equal(of([]), 'L1-C1 – L2-C1')
  })

  test('have boxes whose switches and assets add up to the network, with the core switch and the assets at it', () => {
    const self = { monitoring: 'unmonitored' } as const
    const own = groups.map((group) => (group.key === 'r' ? { ...group, self } : group))
    const loaded = withNetworks(new Map([[rootKey, { ...top, groups: own }]]))
    const scene = sceneOf({ loaded, layout: 'network', aspect: 2, forceGridOf: () => undefined })
    const [core, ...boxes] = scene.frames.get('network:r')?.summary?.items ?? []
    const network = scene.items.get(groupKey('network:r'))?.group
    assert.deepEqual([core?.group?.type, core?.group?.children], ['core-switch', 1])
    assert.equal(
      boxes.reduce((sum, { group }) => sum + (group?.children ?? 0), 0),
      (network?.children ?? 0) - 1,
    )
    const atCore = core?.group === undefined ? 0 : withoutSwitch(core.group).assets
    assert.equal(atCore, 2)
    assert.equal(
      boxes.reduce((sum, { group }) => sum + (group?.assets ?? 0), 1 + atCore),
      network?.assets,
    )
  })

  test('are separate if no connection between several networks is known, and keep the connections between them', () => {
    const topOf = (...edges: TopologyGroups['edges']) => {
      const loaded = withNetworks(new Map([[rootKey, { ...top, edges }]])).get(rootKey)
      return loaded ?? assert.fail('no top')
    }
    assert.equal(separateNetworks(topOf(...top.edges)), 2)
    assert.equal(separateNetworks({ ...topOf(), truncated: true }), 0)
    const connected = topOf(...top.edges, { from: 'a', to: 'x', predicate: 'is_connected_to', count: 1 })
    assert.deepEqual(
      connected.edges.map(({ from, to }) => `${from} ${to}`),
      ['network:r network:x'],
    )
    assert.equal(separateNetworks(connected), 0)
  })

  test('have a legend with the signs at the groups: the sign of each problem, except for a usual share of outdated assets', () => {
    const quiet = { reachable: 0, unreachable: 0, unchecked: 0, unmonitored: 3 }
    const plain = (key: string, parent?: string) => ({ ...device(key, key, parent), monitoring: quiet, outdated: 0 })
    const signsOf = (...members: TopologyGroup[]) => {
      const loaded = new Map([[rootKey, { ...top, groups: members }]])
      const scene = sceneOf({ loaded, layout: 'hierarchy', aspect: 2, forceGridOf: () => undefined })
      return [...groupSigns(scene, 0.4)]
    }
    const failed = { ...plain('a'), monitoring: { ...quiet, unreachable: 1 }, stopped: 1, stoppedRead: 1 }
    assert.deepEqual(signsOf(plain('a')), [])
    assert.deepEqual(signsOf({ ...failed, outdated: 1 }), ['failed', 'stopped'])
    assert.deepEqual(signsOf({ ...failed, outdated: 3 }, { ...plain('b'), stopped: 1 }), [
      'failed',
      'stopped',
      'outdated',
      'stoppedKnown',
    ])
    const self = { monitoring: 'unmonitored', outdated: true } as const
    assert.deepEqual(signsOf({ ...plain('a'), type: 'core-switch', self, outdated: 1 }), ['outdated'])
  })

  test('have a core switch over the whole width above rows of three boxes, which are wider if they are fewer', () => {
    const area = { x: 0, y: 0, width: 530, height: 115 }
    const summaryOf = (count: number) => {
      const heads = Array.from({ length: count }, (_, index) => [
        { key: `h${index}`, parent: 'r' },
        { key: `${index} below`, parent: `h${index}` },
      ])
      return switchTree([{ key: 'r' }, ...heads.flat()], area).summary.boxes.map(({ box }) => box)
    }
    for (const [count, rows, width] of [
      [2, 1, 251],
      [6, 2, 163],
      [7, 3, 163],
    ] as const) {
      const [core, ...boxes] = summaryOf(count)
      assert.equal(core?.width, area.width)
      assert.deepEqual(
        boxes.map((box) => Math.round(box.width)).filter((each) => each !== width),
        [],
        `${count}`,
      )
      assert.equal(new Set(boxes.map(({ y }) => y)).size, rows)
    }
    // Boxes of many lines are not lower than their texts.
    assert.equal(
      summaryOf(24).every((box) => box.height > 12),
      true,
    )
    assert.equal(summaryOf(2)[1]?.height, summaryOf(6)[1]?.height)
  })

  test('have a core switch with its complete name and its key', () => {
    const loaded = withNetworks(new Map([[rootKey, top]]))
    const scene = sceneOf({ loaded, layout: 'network', aspect: 2, forceGridOf: () => undefined })
    const core = scene.frames.get('network:r')?.summary?.items[0]?.group
    // A click on it opens the switch.
    assert.deepEqual([core?.name, core?.key], ['P-A-L1-SW1', 'r'])
  })

  test('mark the state of a core switch itself: not reachable, or with outdated firmware', () => {
    const problems = [
      { monitoring: 'unreachable', outdated: true } as const,
      { monitoring: 'unmonitored', outdated: true } as const,
      { monitoring: 'reachable' } as const,
    ].map((self) => ownProblems({ self }))
    assert.deepEqual(problems, [['failed', 'outdated'], ['outdated'], []])
  })

  test('contain the state of the core switch, and its numbers count only the assets at it', () => {
    const self = { monitoring: 'unreachable', outdated: true } as const
    const options = { key: 'k', common: { start: 'P-A-'.length, end: 0 }, isCore: true }
    const core = summaryGroup([{ ...device('r', 'P-A-L1-SW1'), self }], options)
    assert.deepEqual([core.type, core.name], ['core-switch', 'P-A-L1-SW1'])
    assert.deepEqual([core.self, core.assets, core.outdated], [self, 3, 1])
    const { assets, outdated, monitoring } = withoutSwitch(core)
    assert.deepEqual([assets, outdated, monitoring.unreachable, monitoring.unmonitored], [2, 0, 0, 1])
    // A search that the switch does not match counts only the assets at the switch.
    const { self: _self, ...searched } = core
    assert.equal(withoutSwitch(searched).assets, 3)
  })

  test('have a box with the core switch, the assets at it and their problems if both are at the same place', () => {
    const at = (line: string) => ({ place: ['P', line].map((key) => ({ key, name: key })) })
    const self = { monitoring: 'unreachable', outdated: true } as const
    const itemsOf = (coreLine: string) => {
      const placed = [
        { ...device('r', 'SW1'), ...at(coreLine), self },
        { ...device('a', 'SW2', 'r'), ...at('L1') },
        { ...device('b', 'SW3', 'a'), ...at('L1') },
        { ...device('c', 'SW4', 'r'), ...at('L2') },
        { ...device('d', 'SW5', 'c'), ...at('L2') },
      ]
      const loaded = withNetworks(new Map([[rootKey, { ...top, groups: placed }]]))
      const scene = sceneOf({ loaded, layout: 'network', aspect: 2, forceGridOf: () => undefined })
      const items = scene.frames.get('network:r')?.summary?.items ?? []
      return items.flatMap(({ group }) => group ?? [])
    }
    const textOf = ({ name, children, assets, outdated, monitoring }: TopologyGroup) =>
      `${name}: ${children}, ${assets}, ${outdated}, ${monitoring.unreachable}`
    assert.deepEqual(itemsOf('L1').map(textOf), ['SW1: 1, 1, 1, 1', 'L1: 3, 9, 3, 3', 'L2: 2, 6, 2, 2'])
    assert.deepEqual(itemsOf('L3').map(textOf), ['SW1: 1, 3, 1, 1', 'L1: 2, 6, 2, 2', 'L2: 2, 6, 2, 2'])
  })

  test('count only a core switch itself without the assets at it, and nothing if a search does not match it', () => {
    const self = { monitoring: 'unreachable', outdated: true } as const
    const { self: _self, ...searched } = { ...device('r', 'SW1'), self }
    const alone = switchAlone({ ...searched, self, stopped: 2 })
    assert.deepEqual(
      [alone.assets, alone.outdated, alone.stopped, alone.monitoring.unreachable, withoutSwitch(alone).assets],
      [1, 1, 0, 1, 0],
    )
    assert.deepEqual([switchAlone(searched).assets, switchAlone(searched).monitoring.unreachable], [0, 0])
  })

  test('contain the core switch in the box of its place', () => {
    const at = (...nodes: string[]) => ({ place: nodes.map((key) => ({ key, name: key, type: 'node' })) })
    assert.equal(isAtPlaceOf(at('P', 'L1'), at('P', 'L1')), true)
    assert.equal(isAtPlaceOf(at('P', 'L1'), at('P', 'L2')), false)
    assert.equal(isAtPlaceOf(at('P'), at('P', 'L1')), false)
    assert.equal(isAtPlaceOf({}, at('P', 'L1')), false)
    assert.equal(isAtPlaceOf(at('P', 'L1'), {}), false)
  })

  test('have one column for each place of the switches without further switches, if a place has several', () => {
    const placed = (key: string, line: string) => ({ key, parent: 'r', place: [{ key: line, name: line }] })
    const columnsOf = (...own: ReturnType<typeof placed>[]) =>
      switchTree([{ key: 'r' }, ...own], { x: 0, y: 0, width: 530, height: 105 })
        .summary.boxes.slice(1)
        .map(({ keys: members }) => members.join(' '))
    const [one, two, three, four] = [placed('1', 'A'), placed('2', 'A'), placed('3', 'A'), placed('4', 'B')]
    assert.deepEqual(columnsOf(one, two, three, four), ['1 2 3', '4'])
    assert.deepEqual(columnsOf(one, four), ['1 4'])
  })

  test('do not change without the parents of switches', () => {
    const loaded = new Map([[rootKey, { ...top, groups: groups.slice(0, 1) }]])
    assert.equal(withNetworks(loaded), loaded)
  })

  test('are trees whose boxes do not overlap, with a line from each switch to the switch above it', () => {
    const area = { x: 0, y: 0, width: 300, height: 200 }
    const { boxes, wires, summary } = switchTree(groups.slice(0, 4), area)
    const all = [...boxes.values()]
    assert.equal(all.length, 4)
    assert.equal(
      all.some((box, index) => all.slice(index + 1).some((other) => overlaps(box, other))),
      false,
    )
    assert.ok(
      (boxes.get('r')?.y ?? 0) < (boxes.get('a')?.y ?? 0) && (boxes.get('a')?.y ?? 0) < (boxes.get('b')?.y ?? 0),
    )
    assert.deepEqual(wires.map(({ from, to }) => `${from} ${to}`).toSorted(), ['a b', 'r a', 'r c'])
    assert.deepEqual(summary.boxes.map(({ keys: members }) => members.join(' ')).toSorted(), ['a b', 'c', 'r'])
  })

  test('have a summary whose lines start at the core, end at the edge of a box, and are not behind or along a box', () => {
    const area = { x: 0, y: 0, width: 530, height: 105 }
    for (const count of [1, 2, 5, 6, 13, 24]) {
      const heads = Array.from({ length: count }, (_, index) => `h${index}`)
      const own = [
        { key: 'r' },
        ...heads.flatMap((key) => [
          { key, parent: 'r' },
          { key: `${key} below`, parent: key },
        ]),
      ]
      const { boxes, wires } = switchTree(own, area).summary
      const [core = assert.fail('no core'), ...columns] = boxes.map(({ box }) => box)
      assert.deepEqual([columns.length, wires.length], [count, count])
      for (const [index, route] of wires.entries()) {
        const [start, end, box] = [route[0], route.at(-1), columns[index]]
        assert.ok(start !== undefined && start.y === core.y + core.height && start.x > core.x)
        assert.ok(start.x < core.x + core.width)
        assert.ok(box !== undefined && end !== undefined)
        assert.deepEqual(end, { x: box.x, y: box.y + box.height / 2 }, `${count} ${index}`)
        for (const [point, to] of route.entries()) {
          const from = route[point - 1]
          if (from === undefined) continue
          // With 2 pixels on each side, a line along an edge would overlap the box.
          const [width, height] = [Math.abs(from.x - to.x), Math.abs(from.y - to.y)]
          const [side, along] = width === 0 ? [2, -0.5] : [-0.5, 2]
          const [x, y] = [Math.min(from.x, to.x) - side, Math.min(from.y, to.y) - along]
          const line = { x, y, width: width + 2 * side, height: height + 2 * along }
          if (width + height > 1) assert.ok(!boxes.some(({ box: each }) => overlaps(line, each)), `${count} ${index}`)
        }
      }
      const all = [core, ...columns]
      assert.ok(!all.some((box, index) => all.slice(index + 1).some((other) => overlaps(box, other))))
    }
  })
})

describe('assets of a group', () => {
  test('are ordered by class: the controller and the switch first', () => {
    const asset = (name: string, assetClass: TopologyGroups['assets'][number]['class']) => ({
      id: name,
      name,
      class: assetClass,
      management_state: 'unknown' as const,
      reachability_state: 'unknown' as const,
      monitoring: 'unmonitored' as const,
    })
    const assets = [
      asset('DRV01', 'drive'),
      asset('IO10', 'module'),
      asset('IO9', 'module'),
      asset('SW01', 'switch'),
      asset('PLC01', 'controller'),
    ]
    assert.deepEqual(
      orderedAssets(assets).map(({ name }) => name),
      ['PLC01', 'SW01', 'DRV01', 'IO9', 'IO10'],
    )
  })
})

describe('camera of the map', () => {
  const size = { width: 800, height: 400 }
  const box = { x: 10, y: 20, width: 100, height: 100 }

  test('shows a box completely, and a zoom keeps the point under the pointer', () => {
    const camera = cameraFor(box, size, { margin: 0 })
    assert.deepEqual(onScreen(camera, box), { x: 200, y: 0, width: 400, height: 400 })
    const stretched = onScreen(cameraFor(box, size, { margin: 0, mostStretch: 2 }), box)
    assert.deepEqual([stretched.width, stretched.height], [800, 400])
    const at = { x: 300, y: 100 }
    const near = zoomed(camera, 2, { at, whole: camera })
    assert.equal(near.x + at.x / near.scale, camera.x + at.x / camera.scale)
    assert.deepEqual(between(camera, near, 1), near)
  })
})

describe('the inside of a group', () => {
  test('is shown in a small group only if the groups inside it have space for a short name and a number', () => {
    const isShown = (width: number, widthInside: number) => {
      const box = { x: 0, y: 0, width, height: 200 }
      const inside = { key: 'b', box: { ...box, width: widthInside }, group: { key: 'b', kind: 'node' } }
      const item = { key: 'a', box, frame: { items: [inside] } } as unknown as SceneItem
      return isInsideShown(item, { x: 0, y: 0, scale: 1, stretch: 1 }, false)
    }
    assert.deepEqual([isShown(200, 60), isShown(200, 90), isShown(300, 40)], [false, true, true])
  })
})

describe('scale of the timeline', () => {
  test('has hours for a week and days for a longer time, covers the complete span, and ends now', () => {
    const now = Date.parse('2026-01-31T10:20:00Z')
    const week = timelineOf('week', now)
    assert.deepEqual([week.bars, week.bucket, week.to, week.to - week.from], [169, 'hour', now, 7 * 86_400_000])
    assert.deepEqual([timelineOf('month', now).bars, timelineOf('month', now).bucket], [31, 'day'])
    assert.equal(timelineOf('day', Date.parse('2026-01-31T10:00:00Z')).bars, 24)
    assert.equal(positionAt(week, timeAt(week, 17)), 17)
    assert.deepEqual([positionAt(week, 0), positionAt(week, Number.MAX_SAFE_INTEGER)], [0, 169])
    assert.deepEqual([timeAt(week, 0), timeAt(week, 169)], [week.from, now])
  })

  test('has minutes for an hour, and is the shortest one that contains the start of a comparison', () => {
    const now = Date.parse('2026-01-31T10:20:00Z')
    assert.deepEqual([timelineOf('hour', now).bars, timelineOf('hour', now).bucket], [60, 'minute'])
    const ago = (hours: number) => spanFor(now - hours * 3_600_000, now)
    assert.deepEqual([0.9, 2, 30, 200, 9_000].map(ago), ['hour', 'day', 'week', 'month', 'month'])
    assert.equal(spanFor(undefined, now), 'day')
    assert.equal(exactPositionAt(timelineOf('day', now), now - 50 * 60_000), 23.5)
  })

  test('finds the bar at a place, and a place near the end is the end', () => {
    const day = timelineOf('day', Date.parse('2026-01-31T10:20:00Z'))
    assert.deepEqual([placeOf(day, 0), placeOf(day, day.bars)], [0, 1])
    assert.equal(nearestPosition(day, placeOf(day, 11)), 11)
    assert.deepEqual([nearestPosition(day, -1), nearestPosition(day, 0.995)], [0, day.bars])
  })
})

describe('labels and default of the timeline', () => {
  const now = new Date(2026, 0, 31, 10, 20).getTime()

  test('label midnights as days, and the hours between them only on the scale of a day', () => {
    const hours = ticksOf('day', timelineOf('day', now))
    assert.deepEqual(
      hours.filter(({ isDay }) => isDay).map(({ time }) => new Date(time).getHours()),
      [0],
    )
    assert.ok(hours.length > 3)
    assert.ok(ticksOf('week', timelineOf('week', now)).every(({ isDay }) => isDay))
  })

  test('mark the last day too, and leave out its name if it does not fit', () => {
    const lastOf = (hour: number) => {
      const last = ticksOf('week', timelineOf('week', new Date(2026, 0, 31, hour, 20).getTime())).at(-1)
      return [new Date(last?.time ?? 0).getDate(), last?.isNamed]
    }
    assert.deepEqual(
      [lastOf(14), lastOf(2)],
      [
        [31, true],
        [31, false],
      ],
    )
  })

  test('compare with the start of the time range, and always with a time before the displayed time', () => {
    const { from } = timelineOf('week', now)
    assert.equal(comparedSince('week', { since: undefined, at: undefined, now }), new Date(from).toISOString())
    const at = new Date(from - 1_000).toISOString()
    assert.ok(comparedSince('week', { since: undefined, at, now }) < at)
    assert.equal(comparedSince('week', { since: at, at: undefined, now }), at)
  })
})

describe('lines between boxes', () => {
  test('are counted for each group that a group has connections to, most frequent first', () => {
    const to = (key: string, other: string, count: number) => ({ from: key, to: other, predicate: 'p', count })
    const groups = ['a', 'b', 'c', 'd'].map((key) => ({ key }) as TopologyGroup)
    const found = connectionsTo('a', {
      groups,
      edges: [to('a', 'b', 1), to('c', 'a', 2), to('b', 'a', 3), to('b', 'd', 9)],
    })
    assert.deepEqual(
      found.map(({ group, count }) => `${group.key} ${count}`),
      ['b 4', 'c 2'],
    )
  })

  const gap = { x: 10, y: 10 }
  const boxes = Array.from({ length: 12 }, (_, index) => ({
    x: (index % 4) * 50,
    y: Math.floor(index / 4) * 30,
    width: 40,
    height: 20,
  }))

  test('are straight between a box and a wider box below it', () => {
    const route = routeOf(
      { x: 10, y: 0, width: 60, height: 20 },
      { x: 0, y: 30, width: 90, height: 20 },
      { gap, lane: 0.5 },
    )
    assert.deepEqual(route, [
      { x: 40, y: 20 },
      { x: 40, y: 30 },
    ])
  })

  test('lead through the free space of the grid and cross no box', () => {
    for (const [one, from] of boxes.entries())
      for (const [other, to] of boxes.entries()) {
        if (one === other) continue
        const route = routeOf(from, to, { gap, lane: laneOf(one + other) })
        for (const [index, end] of route.entries()) {
          const start = route[index - 1]
          if (start === undefined) continue
          const [x, y] = [Math.min(start.x, end.x), Math.min(start.y, end.y)]
          const part = { x, y, width: Math.abs(start.x - end.x), height: Math.abs(start.y - end.y) }
          const inner = ({ x: left, y: top, width, height }: Box) => ({
            x: left + 0.1,
            y: top + 0.1,
            width: width - 0.2,
            height: height - 0.2,
          })
          assert.ok(
            boxes.every((box) => !overlaps(part, inner(box))),
            `${one} ${other}`,
          )
        }
      }
  })
})

test('a name that is too long for one line has two lines that are about equally long', () => {
  const context = { measureText: (text: string) => ({ width: text.length }) } as CanvasRenderingContext2D
  assert.deepEqual(nameLines(context, 'ASSY-L01-C01-SW01', 14), ['ASSY-L01-', 'C01-SW01'])
  assert.deepEqual(nameLines(context, 'ASSY-L01-C01-SW01', 17), ['ASSY-L01-C01-SW01'])
  assert.deepEqual(nameLines(context, 'ASSY-L01-C01-SW01', 6), ['ASSY-', 'L01-C01-SW01'])
})

test('the problems of a card are divided into two lines if they do not fit into one, and only with space for two', () => {
  const choices = [
    ['2 failed', '3 stopped', '40 of 90 outdated'],
    ['2 failed', '3 stopped', '40 outdated'],
    ['2 failed'],
  ]
  const linesOf = (width: number, lines: number) =>
    dividedWords(choices, { fits: (words) => words.join(' ').length <= width, lines })
  assert.deepEqual(linesOf(40, 2), [choices])
  assert.deepEqual(linesOf(21, 2), [[['2 failed', '3 stopped']], [['40 outdated'], ['40 outdated']]])
  assert.deepEqual(linesOf(10, 2), [[['2 failed']], [['3 stopped', '40 outdated'], ['3 stopped']]])
  assert.deepEqual(linesOf(21, 1), [choices])
})

describe('the two lines of a box of switches', () => {
  const linesOf = (problems: string[], room = 20) =>
    twoLines(problems.length === 0 ? [] : [problems, problems.slice(0, 1)], (parts) => parts.join().length <= room)

  test('have one problem below the name, and a second one next to the name', () => {
    assert.deepEqual(linesOf([]), { first: undefined, second: [] })
    assert.deepEqual(linesOf(['1 in stop']), { first: undefined, second: [['1 in stop'], ['1 in stop']] })
    assert.deepEqual(linesOf(['1 in stop', '47% outdated']), { first: ['47% outdated'], second: [['1 in stop']] })
    assert.deepEqual(linesOf(['2 unreachable', '1 in stop', '47% outdated']), {
      first: ['1 in stop'],
      second: [['2 unreachable', '47% outdated'], ['2 unreachable']],
    })
  })

  test('have all problems below the name without space next to it', () => {
    const problems = ['1 in stop', '47% outdated']
    assert.deepEqual(linesOf(problems, 5), { first: undefined, second: [problems, ['1 in stop']] })
  })
})

describe('titles of the networks', () => {
  const titles = [
    { name: 60, counts: [150, 70], problems: [220, 140, 60] },
    { name: 80, counts: [150, 70], problems: [60] },
  ]

  test('have the longest form that fits in all of them', () => {
    const formIn = (room: number) => sharedForm(titles, { room, gap: 10 })
    assert.deepEqual(formIn(450), { count: 0, problems: 0 })
    assert.deepEqual(formIn(449), { count: 0, problems: 1 })
    assert.deepEqual(formIn(310), { count: 0, problems: 2 })
    assert.deepEqual(formIn(309), { count: 1, problems: 1 })
    assert.equal(formIn(200), undefined)
  })

  test('of places contain all problems, so that places are comparable', () => {
    const texts = [['2 controllers in stop', '40 outdated'], ['2 in stop', '40 outdated'], ['2 in stop']]
    assert.deepEqual(completeTexts(texts), texts.slice(0, 2))
    assert.deepEqual(completeTexts([]), [])
    assert.deepEqual(briefTexts(texts), texts.slice(1))
    assert.deepEqual(briefTexts([]), [])
  })

  test('use the shortest text of a title with fewer texts', () => {
    assert.deepEqual(
      [inForm(['long', 'short'], 0), inForm(['long', 'short'], 2), inForm([], 0)],
      ['long', 'short', undefined],
    )
  })
})

test('three lines of a card are closer together than two, so that they are not at its edge', () => {
  const edgeOf = (lines: number) => (50 - 12 - (lines - 1) * stepOf(50, { lines, size: 12 })) / 2
  assert.ok(edgeOf(3) >= 5)
  assert.ok(edgeOf(2) > edgeOf(3))
  assert.equal(stepOf(80, { lines: 3, size: 12 }), stepOf(50, { lines: 2, size: 12 }))
})

describe('names on the map', () => {
  test('divide a large group into cells, and a small one or one without cells not', () => {
    const names = Array.from({ length: 40 }, (_, index) => `A-L1-C0${(index % 4) + 1}-IO${index}`)
    const clusters = clustersOf(names) ?? []
    assert.deepEqual(
      clusters.map(({ name, members }) => `${name} ${members.length}`),
      ['C01 10', 'C02 10', 'C03 10', 'C04 10'],
    )
    assert.equal(distinctName(names[0] ?? '', clusters[0]?.common ?? { start: 0, end: 0 }), 'IO0')
    assert.equal(clustersOf(names.slice(0, 8)), undefined)
    assert.equal(clustersOf(names.map((name) => name.replaceAll('-', ''))), undefined)
  })

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
