import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import type { PropertyTable } from '../../../platform/filter/filter.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { relationProperties } from '../relations/relation-filter.ts'
import { applyWrite, asset, node, postRelation } from '../testing.ts'
import { assetProperties } from './filter.ts'

/** These tests check docs/reference/filters.md: its examples work, and its lists of properties are complete. */

const page = readFileSync(new URL('../../../../docs/reference/filters.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```(\w+)(?: depth=(\d+))?\n([\s\S]*?)^```$/gm)].map(
  ([, kind, depth, text = '']) => ({
    kind: kind ?? '',
    depth: depth === undefined ? {} : { depth: Number(depth) },
    lines: text.trim().split('\n'),
  }),
)
const of = (kind: string) => blocks.filter((block) => block.kind === kind)

describe('docs/reference/filters.md', () => {
  let hub: TestHub
  let admin: TestCaller
  const names = new Map<string, string>()

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    const { data: property } = await admin.inventory.createCustomProperty({ body: { data: { name: 'cost centre' } } })
    names.set('key', property.key)
    for (const [name, more] of Object.entries(plant)) {
      const created = await applyWrite(admin, 'createAsset', {
        body: { data: { asset: { ...device(name), ...more } } },
      })
      names.set(name, created.result.assetId)
    }
    const value = { asset_id: names.get('module'), key: property.key, value: '4711' }
    await applyWrite(admin, 'setPropertyValues', { body: { data: [value] } })
    for (const [one, other] of [
      ['module', 'rack'],
      ['part', 'module'],
    ] as const) {
      const [subject, object] = [one, other].map((name) => asset(names.get(name) ?? '')) as [never, never]
      await postRelation(admin, { subject, predicate: 'is_module_of', object })
    }
    const subject = asset(names.get('rack') ?? '')
    await postRelation(admin, { subject, predicate: 'is_assigned_to_node', object: node() })
  })

  after(() => hub[Symbol.asyncDispose]())

  const filled = (line: string) => line.replace(/<(\w+)>/g, (_, name: string) => names.get(name) ?? assert.fail(name))

  for (const [kind, operation, parameter] of [
    ['assets', 'listAssets', 'filter'],
    ['relations', 'listRelations', 'filter'],
    ['relationsFilter', 'listAssets', 'relationsFilter'],
  ] as const) {
    test(`finds at least one element with every filter example for ${kind}`, async () => {
      assert.ok(of(kind).length > 0)
      for (const { lines, depth } of of(kind)) {
        for (const line of lines) {
          const query = { [parameter]: filled(line), ...depth }
          const { status, body } = await admin.exchange(inventory, operation, { query })
          assert.equal(status, 200, `${line}: ${JSON.stringify(body)}`)
          assert.ok((body as { meta: { totalElements: number } }).meta.totalElements > 0, line)
        }
      }
    })
  }

  test('returns the documented problem code for every example of an invalid filter', async () => {
    for (const line of of('wrong').flatMap(({ lines }) => lines)) {
      const [filter = '', code] = line.split(' → ')
      const { status, body } = await admin.exchange(inventory, 'listAssets', { query: { filter } })
      assert.deepEqual([status, (body as ProblemDocument).code], [400, code], line)
    }
  })

  test('the filter reference lists every property that a filter can contain', () => {
    const listed = (table: PropertyTable) => table.filterable.filter((name) => !name.endsWith('/any(…)'))
    const arrays = assetProperties.filterable.filter((name) => name.endsWith('/any(…)'))
    for (const name of [...listed(assetProperties), ...listed(relationProperties)])
      assert.ok(page.includes(`\`${name}\``), `docs/reference/filters.md lacks ${name}`)
    for (const name of arrays.map((array) => array.replace('/any(…)', ''))) {
      const property = assetProperties.find(name)
      assert.ok(property?.kind === 'array')
      const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? ''
      for (const inner of property.elements.properties.filterable)
        assert.ok(row.includes(`\`${inner}\``), `docs/reference/filters.md lacks ${name}/${inner}`)
    }
  })
})

const device = (name: string) => ({
  functional_object_type: 'Device',
  name,
  asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }],
})

const plant = {
  rack: { description: `the operator's spare` },
  module: {
    name: 'Drive 12',
    asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '00-1B-1B-00-00-12' }],
    connection_points: [{ connection_point_type: 'Ipv4Connectivity', ipv4_address: '192.0.2.12' }],
    location: [{ location_type: 'MountingLocation', slot_number: 4 }],
    instance_annotations: [{ key: 'colour', value: 'green' }],
    product_instance_information: {
      serial_number: 'S-12',
      manufacturer_product: { product_id: 'D1', manufacturer: { name: 'Example Drives' } },
    },
    software_components: [
      {
        software_component_type: 'SoftwareArtifactComponent',
        artifact: {
          functional_object_type: 'SoftwareArtifact',
          is_firmware: true,
          asset_identifiers: [
            { asset_identifier_type: 'SoftwareIdentifier', name: 'firmware of drives', version: 'V4.1.2' },
          ],
        },
      },
    ],
  },
  part: {},
}
