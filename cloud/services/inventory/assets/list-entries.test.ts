import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { canonical, mergeAsset } from './asset.ts'
import { matchEntries } from './list-entries.ts'

type Entry = Record<string, unknown>
type Reference = { connection_point_id: string; custom_relationship: string }

const ethernet = (id: string, mac: string, more: Entry = {}) => ({
  connection_point_type: 'EthernetPort',
  id,
  mac_address: mac,
  ...more,
})
const ipv4 = (id: string, address: string, more: Entry = {}) => ({
  connection_point_type: 'Ipv4Connectivity',
  id,
  ipv4_address: address,
  ...more,
})
const on = (id: string) => ({
  related_connection_points: [{ connection_point_id: id, custom_relationship: 'Relies on' }],
})

/** Generates connection points of a device. Several points may have the same natural key and different names. */
const storedPoints = fc
  .uniqueArray(
    fc.record({
      type: fc.constantFrom('EthernetPort', 'Ipv4Connectivity', 'Ipv6Connectivity', 'Custom'),
      key: fc.constantFrom('02:00:00:00:00:01', '10.0.0.1', 'fd00:0:0:0:0:0:0:1'),
      name: fc.option(fc.constantFrom('X1', 'X2'), { nil: undefined }),
      id: fc.option(fc.uuid(), { nil: undefined, freq: 5 }),
      target: fc.nat(),
      isRelated: fc.boolean(),
    }),
    { selector: ({ type, key, name }) => `${type} ${key} ${name}`, maxLength: 8 },
  )
  .filter((drafts) => {
    const ids = drafts.flatMap(({ id }) => id ?? [])
    return new Set(ids).size === ids.length
  })
  .map((drafts): Entry[] => {
    const fields: Record<string, string> = {
      EthernetPort: 'mac_address',
      Ipv4Connectivity: 'ipv4_address',
      Ipv6Connectivity: 'ipv6_address',
    }
    const ids = drafts.flatMap(({ id }) => (id === undefined ? [] : [id]))
    return drafts.map(({ type, key, name, id, target, isRelated }) => ({
      connection_point_type: type,
      [fields[type] ?? 'node']: key,
      ...(name === undefined ? {} : { name }),
      ...(id === undefined ? {} : { id }),
      ...(isRelated && ids.length > 0 ? on(ids[target % ids.length] ?? '') : {}),
    }))
  })

/**
 * Returns the points as a link sends them in its next scan: every id is new, in the entries and in the references to them.
 */
function rescanned(points: readonly Entry[], newIds: readonly string[]): Entry[] {
  const renamed = new Map(points.map(({ id }, index) => [id, newIds[index] ?? '']))
  return points.map((point) => ({
    ...point,
    ...(point.id === undefined ? {} : { id: renamed.get(point.id) }),
    ...(point.related_connection_points === undefined
      ? {}
      : {
          related_connection_points: (point.related_connection_points as Reference[]).map((one) => ({
            ...one,
            connection_point_id: renamed.get(one.connection_point_id),
          })),
        }),
  }))
}

const shuffled = (length: number) => fc.shuffledSubarray([...Array(length).keys()], { minLength: length })

const scan = storedPoints.chain((stored) =>
  fc.record({
    stored: fc.constant(stored),
    order: shuffled(stored.length),
    ids: fc.uniqueArray(
      // Some links number their points in the order in which they send them.
      fc.oneof(fc.uuid(), fc.constantFrom(...stored.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])), 'a')),
      { minLength: stored.length, maxLength: stored.length },
    ),
  }),
)

describe('list entries of an asset that is written again', () => {
  test('leaves connection points unchanged when a second scan sends them with other ids in another order', () => {
    fc.assert(
      fc.property(scan, ({ stored, order, ids }) => {
        const sent = rescanned(stored, ids)
        const permuted = order.map((index) => sent[index])
        assert.deepEqual(matchEntries('connection_points', stored, permuted), stored)
      }),
    )
  })

  test('keeps ids unique and references valid when connection points are added, removed or changed', () => {
    const change = fc.record({ scan, dropped: fc.nat(7), mask: fc.boolean() })
    fc.assert(
      fc.property(change, ({ scan: { stored, order, ids }, dropped, mask }) => {
        const added: Entry = ethernet('fresh', '02:00:00:00:00:99')
        const sent = [...rescanned(stored, ids).filter((_, index) => index !== dropped), added].map((point, index) =>
          mask && index === 0 ? { ...point, name: 'changed' } : point,
        )
        const result = matchEntries(
          'connection_points',
          order.map((index) => stored[index]),
          sent,
        ) as Entry[]
        const idsOf = (points: Entry[]) => points.flatMap(({ id }) => (id === undefined ? [] : [id]))
        assert.equal(new Set(idsOf(result)).size, idsOf(result).length)
        // A point without an id may get the id of the stored point that it matches. No point may lose its id.
        for (const [index, { id }] of sent.entries()) assert.ok(id === undefined || result[index]?.id !== undefined)
        for (const [index, { related_connection_points: related }] of sent.entries()) {
          const [before] = (related ?? []) as Reference[]
          if (before === undefined) continue
          const [after] = (result[index]?.related_connection_points ?? []) as Reference[]
          const target = sent.findIndex(({ id }) => id === before.connection_point_id)
          if (target !== -1) assert.equal(after?.connection_point_id, result[target]?.id)
        }
        assert.deepEqual(matchEntries('connection_points', result, sent), result, 'a third scan changes nothing')
      }),
    )
  })

  test('keeps the stored id of a connection point and updates references when a new point is added', () => {
    const stored = [ethernet('e-1', '02:00:00:00:00:01'), ipv4('i-1', '10.0.0.1', on('e-1'))]
    const sent = [
      ethernet('x', '02-00-00-00-00-01'),
      ipv4('y', '10.0.0.2', on('x')),
      ipv4('z', '10.0.0.1', { ...on('x'), network_mask: '255.255.255.0' }),
    ]
    assert.deepEqual(matchEntries('connection_points', stored, sent), [
      ethernet('e-1', '02-00-00-00-00-01'),
      ipv4('y', '10.0.0.2', on('e-1')),
      ipv4('i-1', '10.0.0.1', { ...on('e-1'), network_mask: '255.255.255.0' }),
    ])
  })

  test('assigns another id to a new connection point whose id belongs to a stored one', () => {
    const stored = [ipv4('1', '10.0.0.1'), ipv4('2', '10.0.0.2')]
    const sent = [ipv4('1', '10.0.0.2'), ipv4('2', '10.0.0.3', on('1'))]
    const result = matchEntries('connection_points', stored, sent)
    assert.deepEqual(result, [ipv4('2', '10.0.0.2'), ipv4('2-2', '10.0.0.3', on('2'))])
    assert.deepEqual(matchEntries('connection_points', result, sent), result)
  })

  test('keeps the id of a connection point whose address changed when the link sends the same id', () => {
    const sent = [ipv4('port-1', '10.0.0.9')]
    assert.deepEqual(matchEntries('connection_points', [ipv4('port-1', '10.0.0.1')], sent), sent)
  })

  test('matches running software by name and keeps its stored id', () => {
    const running = (id: string, name: string, version: string) => ({
      software_component_type: 'RunningSoftwareComponent',
      running_software_id: id,
      artifact: { asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name, version }] },
    })
    const stored = [running('a', 'Broker', '1'), running('b', 'Agent', '1')]
    assert.deepEqual(
      matchEntries('software_components', stored, [running('x', 'Agent', '1'), running('y', 'Broker', '1')]),
      stored,
    )
    assert.deepEqual(matchEntries('software_components', stored, [running('x', 'Agent', '2')]), [
      running('b', 'Agent', '2'),
    ])
  })

  test('leaves a document unchanged when unordered lists are sent in another order', () => {
    const stored = canonical({
      name: 'Pump',
      asset_operations: [
        { activation_flag: true, operation_name: 'Backup' },
        { activation_flag: true, operation_name: 'Restore' },
      ],
      instance_annotations: [
        { key: 'a', value: '1' },
        { key: 'b', value: '2' },
      ],
      rack: [{ slot: 1 }, { slot: 2 }],
    })
    const reversed = (name: string) => ({ [name]: (stored[name] as Entry[]).toReversed() })
    const sent = { ...reversed('asset_operations'), ...reversed('instance_annotations') }
    assert.deepEqual(mergeAsset(stored, sent), stored)
    assert.notDeepEqual(mergeAsset(stored, reversed('rack')), stored, 'a list of another schema keeps its order')
  })
})
