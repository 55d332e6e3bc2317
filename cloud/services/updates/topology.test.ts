import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createTopology, type TopologyRelation } from './topology.ts'
import { impactOf } from './topology-impact.ts'
import { orderTargets } from './topology-order.ts'

/** Parses relations such as `plc > switch` (a cable that is recorded in one direction) or `plc part rack`. */
function relations(...lines: string[]): TopologyRelation[] {
  const predicates: Record<string, string> = {
    '>': 'is_connected_to',
    part: 'is_part_of',
    module: 'is_module_of',
    '=': 'is_redundant_with',
  }
  return lines.flatMap((line) => {
    const [subject = '', symbol = '', object = ''] = line.split(' ')
    const cable = { subject, predicate: 'is_connected_to', object }
    if (symbol === '-') return [cable, { ...cable, subject: object, object: subject }]
    return [{ subject, predicate: predicates[symbol] ?? '', object }]
  })
}

function topologyOf(lines: string[], gateways: string[] = []) {
  return createTopology({ relations: relations(...lines), gateways: new Set(gateways) })
}

function order(lines: string[], targets: string[], gateways: string[] = []) {
  const placements = orderTargets(topologyOf(lines, gateways), targets)
  return (id: string) => {
    const found = placements.get(id)
    assert.ok(found !== undefined)
    return found
  }
}

describe('order of updates', () => {
  test('updates the devices of a switch before the switch', () => {
    const place = order(['plc > switch', 'drive > switch', 'switch > core'], ['core', 'switch', 'plc', 'drive'])
    assert.deepEqual(
      ['plc', 'drive', 'switch', 'core'].map((id) => place(id).order),
      [0, 0, 1, 2],
    )
    assert.deepEqual(place('switch').after.toSorted(), ['drive', 'plc'])
    assert.deepEqual(place('core').after, ['switch'])
    assert.notEqual(place('plc').group, place('drive').group)
  })

  test('keeps the order of two targets with other devices between them', () => {
    const place = order(['plc > switch', 'switch > core'], ['core', 'plc'])
    assert.deepEqual(place('core').after, ['plc'])
  })

  test('updates modules and parts before the device that contains them', () => {
    const place = order(['module module plc', 'drive part plc'], ['plc', 'module', 'drive'])
    assert.deepEqual(place('plc').after.toSorted(), ['drive', 'module'])
  })

  test('takes the direction of cables without direction from the gateway', () => {
    const lines = ['gateway - core', 'core - switch', 'switch - plc']
    const place = order(lines, ['core', 'switch', 'plc'], ['gateway'])
    assert.deepEqual(
      ['plc', 'switch', 'core'].map((id) => place(id).order),
      [0, 1, 2],
    )
    const reversed = order(['core > switch', 'switch > plc', 'gateway > core'], ['core', 'plc'], ['gateway'])
    assert.deepEqual(reversed('core').after, ['plc'], 'the gateway has precedence over the recorded direction')
  })

  test('updates one device at a time if cables have no direction, outer devices first', () => {
    const place = order(['a - switch', 'b - switch', 'switch - core', 'c - core'], ['a', 'b', 'c', 'switch', 'core'])
    assert.equal(new Set(['a', 'b', 'c', 'switch', 'core'].map((id) => place(id).group)).size, 1)
    assert.equal(place('a').kind, 'no-direction')
    assert.deepEqual(
      ['a', 'b', 'c'].map((id) => place(id).order),
      [0, 1, 2],
    )
    assert.deepEqual(['core', 'switch'].map((id) => place(id).order).toSorted(), [3, 4])
  })

  test('updates one device of a ring at a time, after the devices downstream of it', () => {
    const ring = ['s1 - s2', 's2 - s3', 's3 - s1', 'plc - s2', 'gateway - s1']
    const place = order(ring, ['s1', 's2', 's3', 'plc'], ['gateway'])
    assert.deepEqual([place('s1').kind, place('s2').kind, place('plc').kind], ['ring', 'ring', 'single'])
    assert.equal(new Set(['s1', 's2', 's3'].map((id) => place(id).group)).size, 1)
    assert.deepEqual(place('s2').after, ['plc'])
    assert.deepEqual(place('s1').after, [])
    assert.equal(new Set(['s1', 's2', 's3'].map((id) => place(id).order)).size, 3)
  })

  test('never updates redundant devices together', () => {
    const place = order(['a = b', 'b = c'], ['a', 'b', 'd'])
    assert.deepEqual([place('a').notWith, place('b').notWith, place('d').notWith], [['b'], ['a'], []])
    assert.deepEqual(place('b').redundant.toSorted(), ['a', 'c'], 'also those that are not targets')
  })

  test('gives a group the same key for different targets', () => {
    const ring = ['s2 - s3', 's3 - s1', 's1 - s2']
    const keys = ['s1', 's2', 's3'].map((id) => order(ring, [id])(id).group)
    assert.deepEqual(keys, ['s1', 's1', 's1'])
    assert.equal(order(ring.toReversed(), ['s3'])('s3').group, 's1')
  })

  test('updates one device at a time if relations contradict each other', () => {
    const place = order(['a part b', 'b part a', 'c part a'], ['a', 'b', 'c'])
    assert.deepEqual([place('a').kind, place('a').group], ['contradiction', place('b').group])
    assert.deepEqual(place('a').after, ['c'])
  })

  test('updates the devices between two gateways one at a time', () => {
    const lines = ['g1 - s1', 's1 - s2', 's2 - g2', 'plc - s1']
    const place = order(lines, ['s1', 's2', 'plc'], ['g1', 'g2'])
    assert.equal(place('s1').group, place('s2').group)
    assert.deepEqual(place('s1').after, ['plc'])
  })

  test('updates parts first inside a group without direction', () => {
    const place = order(['plc - switch', 'drive - switch', 'drive part plc'], ['plc', 'drive', 'switch'])
    assert.equal(place('plc').group, place('drive').group)
    assert.deepEqual(place('plc').after, ['drive'])
    assert.ok(place('plc').order > place('drive').order)
  })

  test('updates one device at a time if relations of the group were not read', () => {
    const input = { relations: relations('plc > switch', 'drive > switch'), gateways: new Set<string>() }
    const topology = createTopology({ ...input, unexplored: new Set(['switch']) })
    const placements = orderTargets(topology, ['plc', 'drive'])
    assert.equal(placements.get('plc')?.kind, 'unexplored')
    assert.equal(placements.get('plc')?.group, placements.get('drive')?.group)
  })

  test('lists the devices below many devices only once', () => {
    const leaves = Array.from({ length: 3_000 }, (_, index) => `leaf${index}`)
    const tops = Array.from({ length: 3_000 }, (_, index) => `top${index}`)
    const lines = [...leaves.map((leaf) => `${leaf} part hub`), ...tops.map((top) => `hub part ${top}`)]
    const placements = orderTargets(topologyOf(lines), [...leaves, ...tops])
    const listed = [...placements.values()].reduce((sum, { after }) => sum + after.length, 0)
    assert.ok(listed <= 6_000, String(listed))
    assert.ok(tops.every((top) => (placements.get(top)?.order ?? 0) > 0))
  })

  test('orders a chain of 10,000 devices without recursion', () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `d${index}`)
    const lines = ids.slice(1).map((id, index) => `${id} ${index % 2 === 0 ? '>' : 'part'} d${index}`)
    const placements = orderTargets(topologyOf(lines), ids)
    assert.equal(placements.get('d0')?.order, 9_999)
  })
})

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const graphs = fc.record({
  edges: fc.array(
    fc.record({
      subject: fc.constantFrom(...names),
      kind: fc.constantFrom('both', 'both', 'one', 'part', 'redundant'),
      object: fc.constantFrom(...names),
    }),
    { maxLength: 10 },
  ),
  gateways: fc.subarray(names, { maxLength: 2 }),
  targets: fc.subarray(names),
})

type Drawn = { subject: string; kind: string; object: string }

function written({ subject, kind, object }: Drawn): string {
  const symbol = { both: '-', one: '>', part: 'part', redundant: '=' }[kind]
  return `${subject} ${symbol} ${object}`
}

/** A slow and simple model of the topology: it removes each cable to find bridges, and compares all pairs of devices. */
function modelOf(edges: readonly Drawn[], gateways: readonly string[]) {
  const own = edges.filter(({ subject, object }) => subject !== object)
  const stated = (from: string, to: string, kind: string) =>
    own.some((edge) => edge.kind === kind && edge.subject === from && edge.object === to)
  const isCable = (one: string, other: string) =>
    ['both', 'one'].some((kind) => stated(one, other, kind) || stated(other, one, kind))
  const network = (start: string, without: readonly [string, string] = ['', '']) => {
    const reached = new Set([start])
    for (const node of reached)
      for (const other of names)
        if (isCable(node, other) && !(without.includes(node) && without.includes(other))) reached.add(other)
    return reached
  }
  const isOneWay = (from: string, to: string) =>
    stated(from, to, 'one') && !stated(to, from, 'one') && !stated(from, to, 'both') && !stated(to, from, 'both')
  const [joined, below] = [new Set<string>(), new Set<string>()]
  for (const one of names) {
    for (const other of names) {
      if (stated(one, other, 'part')) below.add(`${other} ${one}`)
      if (one === other || !isCable(one, other)) continue
      const rest = network(one, [one, other])
      const hasGateway = [...network(one)].some((node) => gateways.includes(node))
      const isHere = [...rest].some((node) => gateways.includes(node))
      const isThere = [...network(other, [one, other])].some((node) => gateways.includes(node))
      const isPart = stated(one, other, 'part') && !stated(other, one, 'part')
      const isWhole = stated(other, one, 'part') && !stated(one, other, 'part')
      if (rest.has(other) || (isHere && isThere)) joined.add(`${one} ${other}`)
      else if (hasGateway) below.add(isHere ? `${one} ${other}` : `${other} ${one}`)
      else if (isPart || (!isWhole && isOneWay(one, other))) below.add(`${other} ${one}`)
      else if (!isWhole && !isOneWay(other, one)) joined.add(`${one} ${other}`)
    }
  }
  const reachable = (start: readonly string[]) => {
    const reached = new Set(start)
    for (const node of reached)
      for (const other of names)
        if (joined.has(`${node} ${other}`) || joined.has(`${other} ${node}`) || below.has(`${node} ${other}`))
          reached.add(other)
    return reached
  }
  const isSameCluster = (one: string, other: string) => reachable([one]).has(other) && reachable([other]).has(one)
  const isDownstream = (one: string, of: string) =>
    !isSameCluster(one, of) &&
    reachable(names.filter((node) => below.has(`${of} ${node}`) && !isSameCluster(node, of))).has(one)
  return { isSameCluster, isDownstream }
}

test('orders the targets of random topologies as a simple model does', () => {
  fc.assert(
    fc.property(graphs, ({ edges, gateways, targets }) => {
      const place = order(edges.map(written), targets, gateways)
      const model = modelOf(edges, gateways)
      const before = (id: string): Set<string> => {
        const all = new Set(place(id).after)
        for (const each of all) for (const next of place(each).after) all.add(next)
        return all
      }
      for (const one of targets) {
        const { after, notWith } = place(one)
        for (const each of after) {
          assert.ok(targets.includes(each) && place(each).order < place(one).order, `${each} is not before ${one}`)
        }
        for (const other of targets) {
          if (one === other) continue
          assert.equal(place(one).group === place(other).group, model.isSameCluster(one, other), `${one} ${other}`)
          if (model.isDownstream(other, one)) assert.ok(before(one).has(other), `${other} is not before ${one}`)
          if (after.includes(other)) assert.ok(model.isDownstream(other, one) || model.isSameCluster(one, other))
          const isRedundant = edges.some(
            ({ subject, kind, object }) =>
              kind === 'redundant' && [subject, object].includes(one) && [subject, object].includes(other),
          )
          assert.equal(notWith.includes(other), isRedundant)
        }
      }
    }),
    { numRuns: 2_000 },
  )
})

describe('impact of a restart', () => {
  function impact(lines: string[], id: string, gateways: string[] = []) {
    const { interrupted, ...rest } = impactOf(topologyOf(lines, gateways), id)
    return { interrupted: interrupted.toSorted(), ...rest }
  }

  test('interrupts the devices that reach the gateway only through the device, and their parts', () => {
    const lines = ['gateway - core', 'core - s1', 's1 - plc', 'module module plc', 'core - s2', 's1 = s2']
    assert.deepEqual(impact(lines, 's1', ['gateway']), {
      interrupted: ['module', 'plc'],
      redundant: ['s2'],
      isCertain: true,
      isComplete: true,
    })
    assert.deepEqual(impact(lines, 'plc', ['gateway']).interrupted, ['module'])
    assert.deepEqual(impact(lines, 'unknown', ['gateway']).interrupted, [])
  })

  test('interrupts only the devices that are connected through one device of a ring', () => {
    const lines = ['s1 - s2', 's2 - s3', 's3 - s1', 'plc - s2', 'gateway - s1']
    assert.deepEqual(impact(lines, 's2', ['gateway']).interrupted, ['plc'])
    assert.equal(impact(lines, 's2', ['gateway']).isCertain, false)
  })

  test('treats the largest part of a network without direction as the part that stays connected', () => {
    const lines = ['core - switch', 'core - x', 'core - y', 'switch - plc']
    assert.deepEqual(impact(lines, 'switch').interrupted, ['plc'])
    assert.equal(impact(lines, 'switch').isCertain, false)
  })

  test('follows recorded directions without a gateway', () => {
    const lines = ['plc > switch', 'switch > core', 'other > core']
    assert.deepEqual(impact(lines, 'switch'), {
      interrupted: ['plc'],
      redundant: [],
      isCertain: true,
      isComplete: true,
    })
    assert.deepEqual(impact(lines, 'core').interrupted, ['other', 'plc', 'switch'])
  })

  test('includes devices that are connected through a part of the device', () => {
    const lines = ['cp module plc', 'drive > cp', 'axis part drive']
    assert.deepEqual(impact(lines, 'plc').interrupted, ['axis', 'cp', 'drive'])
  })

  test('finds the same devices as a search without the device, in any network with a gateway', () => {
    const network = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), { maxLength: 12 })
    fc.assert(
      fc.property(network, fc.constantFrom(...names.slice(1)), (pairs, id) => {
        const reachable = (without: string) => {
          const reached = new Set(['a'].filter((node) => node !== without))
          for (const node of reached)
            for (const [one, other] of pairs) {
              if (one === without || other === without) continue
              if (one === node) reached.add(other)
              if (other === node) reached.add(one)
            }
          return reached
        }
        const found = impact(
          pairs.map(([one, other]) => `${one} - ${other}`),
          id,
          ['a'],
        )
        if (!reachable('').has(id)) return
        const left = reachable(id)
        const expected = [...reachable('')].filter((node) => node !== id && !left.has(node)).toSorted()
        assert.deepEqual(found.interrupted, expected)
      }),
      { numRuns: 1_000 },
    )
  })
})
