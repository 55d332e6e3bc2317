import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { mergeAsset } from './asset.ts'
import type { Document, PlainObject } from './document.ts'
import {
  type FieldSources,
  type Finding,
  mergedSources,
  mergeFinding,
  shownFields,
  withEdits,
} from './field-sources.ts'

const [generic, unknown, snmp, opcua] = [
  'millwright.links.ip-scan',
  'example.links.own',
  'millwright.links.snmp',
  'millwright.links.opcua',
]

type State = { document: Document; sources: FieldSources }

const empty: State = { document: {}, sources: {} }

function applied(state: State, finding: Finding): State {
  const { fields, sources } = mergeFinding(state, finding)
  return { document: mergeAsset(state.document, fields), sources }
}

/** Returns the state after findings, one minute after each other. */
function found(...findings: [source: string, asset: PlainObject, reporter?: string][]): State {
  return findings.reduce<State>(
    (state, [source, asset, reporter = 'gateway'], minute) =>
      applied(state, { source, reporter, asset, time: at(minute) }),
    empty,
  )
}

function at(minute: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
}

describe('merged findings of several links', () => {
  const product = (members: PlainObject) => ({ product_instance_information: { manufacturer_product: members } })

  test('combines the members of the product information from several links', () => {
    const { document } = found(
      [snmp, { product_instance_information: { serial_number: 'S1', manufacturer_product: { product_id: 'P1' } } }],
      [generic, product({ product_id: 'guess', product_name: 'Switch', manufacturer: {} })],
      [opcua, product({ product_family: 'X200' })],
    )
    assert.deepEqual(document.product_instance_information, {
      serial_number: 'S1',
      manufacturer_product: { product_family: 'X200', product_id: 'P1', product_name: 'Switch' },
    })
  })

  test('uses the value of another link when the winning link no longer reports a member', () => {
    const { document } = found(
      [generic, product({ product_id: 'guess' })],
      [snmp, product({ product_id: 'P1', product_name: 'Switch' })],
      [snmp, product({ product_version: '2' })],
    )
    assert.deepEqual(document, product({ product_id: 'guess', product_version: '2' }))
  })

  test('keeps a field that a later report of the same link does not contain', () => {
    assert.equal(found([snmp, { name: 'a', description: 'b' }], [snmp, { name: 'a' }]).document.description, 'b')
  })

  test('clears a field that a link reports as null, unless another link reports a value', () => {
    assert.equal(found([snmp, { name: 'a' }], [snmp, { name: null }]).document.name, undefined)
    assert.equal(found([generic, { name: 'b' }], [snmp, { name: 'a' }], [snmp, { name: null }]).document.name, 'b')
  })

  test('keeps a value that a client changed when a less specific link reports the field', () => {
    const { document, sources } = found([snmp, { name: 'a' }])
    const changed = { document: { ...document, name: 'client' }, sources }
    const finding = (source: string) => ({ source, reporter: 'gateway', asset: { name: 'b' }, time: at(9) })
    assert.equal(applied(changed, finding(generic)).document.name, 'client')
    assert.equal(applied(changed, finding(opcua)).document.name, 'b')
    assert.deepEqual(shownFields(changed.document, sources), [], 'the changed value has no source')
  })

  test('gives a new connection point another id if a link has reported a different one with the same id', () => {
    const port = (mac: string) => [
      { connection_point_type: 'EthernetPort', id: 'eth0', mac_address: mac },
      {
        connection_point_type: 'Ipv4Connectivity',
        id: mac,
        ipv4_address: `10.0.0.${Number.parseInt(mac.slice(-2), 16)}`,
        related_connection_points: [{ connection_point_id: 'eth0', custom_relationship: 'Relies on' }],
      },
    ]
    const { document } = found(
      [snmp, { connection_points: port('02:00:00:00:00:01') }],
      [opcua, { connection_points: port('02:00:00:00:00:02') }],
      [snmp, { connection_points: port('02:00:00:00:00:01') }],
      [opcua, { connection_points: port('02:00:00:00:00:02') }],
    )
    const points = document.connection_points as { id: string; related_connection_points?: PlainObject[] }[]
    assert.deepEqual(points.map(({ id }) => id).toSorted(), [
      '02:00:00:00:00:01',
      '02:00:00:00:00:02',
      'eth0',
      'eth0-2',
    ])
    const references = points.flatMap(({ related_connection_points: related = [] }) => related)
    assert.deepEqual(references.map(({ connection_point_id: id }) => id).toSorted(), ['eth0', 'eth0-2'])
  })

  test('keeps the addresses that two gateways report with the same link', () => {
    const address = (ipv4: string) => ({
      connection_points: [{ connection_point_type: 'Ipv4Connectivity', id: ipv4, ipv4_address: ipv4 }],
    })
    const { document } = found([snmp, address('10.0.0.1'), 'one'], [snmp, address('10.1.0.1'), 'two'])
    assert.equal((document.connection_points as unknown[]).length, 2)
  })

  test('does not let a link claim the name of the source of edits', () => {
    const { document, sources } = found([snmp, { name: 'a' }], ['manual', { name: 'b' }])
    assert.equal(document.name, 'a')
    const [shown] = shownFields(document, sources)
    assert.deepEqual([shown?.source, shown?.others.map(({ source }) => source)], [snmp, ['link manual']])
    // A report that was stored under this name has no higher rank either.
    const report = { source: 'manual', since: at(0), seen: '2026-01-01', values: { name: { '': { value: 'b' } } } }
    const stored = applied(
      { document: { name: 'b' }, sources: { 'manual gateway': report } },
      {
        source: snmp,
        reporter: 'gateway',
        asset: { name: 'a' },
        time: at(1),
      },
    )
    assert.equal(stored.document.name, 'a')
  })

  test('stores the reports of the latest 16 links, and all edits', () => {
    let state: State = empty
    for (let day = 0; day < 20; day += 1) {
      const finding = { source: `link-${day}`, reporter: 'gateway', asset: { name: 'a' } }
      state = applied(state, { ...finding, time: at(day * 24 * 60) })
      if (day === 0) {
        const after = { ...state.document, name: 'edited' }
        state = { document: after, sources: withEdits(state.sources, { before: state.document, after, time: at(1) }) }
      }
    }
    const links = Array.from({ length: 16 }, (_, index) => `link-${index + 4} gateway`)
    assert.deepEqual(Object.keys(state.sources).toSorted(), ['manual', ...links].toSorted())
    assert.equal(state.document.name, 'edited')
  })

  test('keeps only those edits of two merged assets that the merged asset contains', () => {
    const edited = (name: string) => withEdits({}, { before: {}, after: { name }, time: at(0) })
    assert.deepEqual(mergedSources(edited('a'), edited('b'), { name: 'a' }), edited('a'))
    assert.deepEqual(mergedSources({}, edited('b'), { name: 'a' }), {})
  })

  test('keeps the age of each value when the reports of one link about two assets are merged', () => {
    const [first, second] = [found([snmp, { name: 'a' }]), found([opcua, {}], [snmp, { description: 'b' }])]
    const merged = mergedSources(first.sources, second.sources, {})
    const shown = shownFields({ name: 'a', description: 'b' }, merged)
    assert.deepEqual(
      shown.map(({ field, since }) => [field, since]),
      [
        ['/name', at(0)],
        ['/description', at(1)],
      ],
    )
  })

  test('changes nothing when the links report the same again, in any order', () => {
    const mac = fc.constantFrom('02:00:00:00:00:01', '02:00:00:00:00:02')
    const port = fc.record(
      { connection_point_type: fc.constant('EthernetPort'), id: fc.constantFrom('a', 'b'), mac_address: mac },
      { requiredKeys: ['connection_point_type', 'id', 'mac_address'] },
    )
    const software = fc.record({
      software_component_type: fc.constant('SoftwareArtifactComponent'),
      artifact: fc.record({ name: fc.constantFrom('x', 'y'), version: fc.constantFrom('1', '2') }),
    })
    const asset = fc.record(
      {
        name: fc.constantFrom('a', 'b', null),
        product_instance_information: fc.record(
          { serial_number: fc.constantFrom('1', '2'), manufacturer_product: fc.constant({ manufacturer: {} }) },
          { requiredKeys: [] },
        ),
        connection_points: fc.uniqueArray(port, { selector: ({ id }) => id }),
        software_components: fc.uniqueArray(software, { selector: ({ artifact }) => artifact.name }),
        location: fc.constantFrom([], [{ location_type: 'Okz', location_identifier: 'H1' }]),
      },
      { requiredKeys: [] },
    )
    const source = fc.constantFrom(generic, unknown, snmp, opcua)
    const finding = fc.tuple(source, asset, fc.constantFrom('one', 'two'))
    const findings = fc.array(finding, { maxLength: 6 }).map((all) => JSON.parse(JSON.stringify(all)) as typeof all)
    fc.assert(
      fc.property(findings, fc.array(fc.nat(5), { maxLength: 6 }), (first, repeated) => {
        const state = found(...first)
        const latest = [...new Map(first.map((one) => [`${one[0]} ${one[2]}`, one])).values()]
        for (const index of repeated) {
          const [from, reported, reporter] = latest[index] ?? []
          if (from === undefined || reported === undefined || reporter === undefined) continue
          const finding = { source: from, reporter, asset: reported, time: at(100) }
          assert.deepEqual(applied(state, finding), state)
        }
      }),
      { numRuns: 200 },
    )
  })
})
