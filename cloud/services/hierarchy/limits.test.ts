import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { newId } from '../../platform/database/id.ts'
import type { Answer } from '../../platform/service.ts'
import { sessionsBlockedBy } from '../../platform/testing/blocked-sessions.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { exchangeHandlers } from './exchange.ts'
import { createAssets, createHierarchy, createNode, exportedNodes } from './testing.ts'

let hub: TestHub
let admin: TestCaller

describe('limits and large hierarchies', () => {
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('creates no more hierarchies than the limit when requests are concurrent', async () => {
    const operator = await hub.as('operator', { tenant: await hub.anotherTenant() })
    const create = async (index: number) => {
      const body = { data: { name: `Tree ${index}` } }
      return (await operator.exchange(hierarchy, 'createHierarchy', { body })).status
    }
    const concurrent = 40
    const statuses: number[] = []
    for (let index = 0; index < hierarchyLimits.hierarchies + 5; index += concurrent) {
      const count = Math.min(concurrent, hierarchyLimits.hierarchies + 5 - index)
      statuses.push(...(await Promise.all(Array.from({ length: count }, (_, offset) => create(index + offset)))))
    }
    const refused = Array.from({ length: 5 }, () => 409)
    assert.deepEqual(statuses.toSorted(), [
      ...Array.from({ length: hierarchyLimits.hierarchies }, () => 201),
      ...refused,
    ])
    const { meta } = await operator.hierarchy.listHierarchies({})
    assert.equal(meta.totalElements, hierarchyLimits.hierarchies)
  })

  test(
    'exports and imports more nodes than one page, and lists their assets after each change of the tree',
    onlyInLongRuns,
    async () => {
      const id = await createHierarchy(admin, 'Large')
      const nodes = Array.from({ length: 6_000 }, (_, index) => ({
        path: [`site ${index % 3}`, `hall ${index % 50}`, `cell ${index}`],
      }))
      const { data: imported } = await admin.hierarchy.importNodes({ params: { id }, body: { data: { nodes } } })
      assert.equal(imported.created, 6_153)
      const csv = String(await admin.hierarchy.exportNodes({ params: { id }, query: { format: 'csv' } }))
      assert.equal(csv.split('\r\n').length, 6_155)
      const { data: unchanged } = await admin.hierarchy.importNodes({ params: { id }, body: { data: { csv } } })
      assert.deepEqual([unchanged.created, unchanged.updated, unchanged.unchanged], [0, 0, 6_153])

      const { data: sites } = await admin.hierarchy.listNodes({ params: { id } })
      const [first = '', second = ''] = sites.map((site) => site.id)
      const { data: cells } = await admin.hierarchy.listNodes({ params: { id }, query: { q: 'cell 5999' } })
      const [assetId = ''] = await createAssets(admin, [{ name: 'large' }])
      await admin.hierarchy.assignAssets({
        params: { id: cells[0]?.id ?? '' },
        body: { data: { assetIds: [assetId] } },
      })
      const assetsBelow = async (node: string) => {
        const query = { hierarchyNode: node, includeBelow: true, fields: 'id' }
        return (await admin.inventory.listAssets({ query })).data.map((asset) => asset.id)
      }
      const site = sites.find(({ name }) => name === 'site 2')?.id ?? ''
      assert.deepEqual([await assetsBelow(site), await assetsBelow(first)], [[assetId], []])
      const repeated = await hub.statements(() => assetsBelow(site))
      assert.ok(!repeated.some(({ text }) => text.includes('recursive below')), 'the nodes are read again')
      await admin.hierarchy.moveNode({ params: { id: cells[0]?.parentId ?? '' }, body: { data: { parentId: second } } })
      assert.deepEqual([await assetsBelow(site), await assetsBelow(second)], [[], [assetId]])
    },
  )

  test('finds names with letters outside ASCII in any case', async () => {
    const id = await createHierarchy(admin, 'Umlauts')
    const parent = await createNode(admin, id, 'Übergabe')
    await createNode(admin, id, 'ÜBERLAUF', { parentId: parent.id })
    const names = async (query: object) =>
      (await admin.hierarchy.listNodes({ params: { id }, query })).data.map(({ name }) => name)
    assert.deepEqual(await names({ q: 'über' }), ['ÜBERLAUF', 'Übergabe'])
    assert.deepEqual(await names({ q: 'ÜBER', parentId: parent.id }), ['ÜBERLAUF'])
  })

  for (const [what, csv, detail] of [
    ['a control character in a name', 'Path\na\u0001b\n', /Line 2: a name in the path/],
    ['a column that occurs twice', 'Path,Type,Type\na,b,c\n', /The column Type occurs twice/],
    ['a property without a name', 'Path,Property: \na,b\n', /Unknown column/],
    [
      'an invalid line after a cell with a line break',
      'Path,Property: p\na,"1\n2"\n,x\n',
      /Line 4: a name in the path/,
    ],
    [
      'too many properties',
      `Path,${Array.from({ length: 65 }, (_, index) => `Property: ${index}`).join(',')}\na${',x'.repeat(65)}\n`,
      /Line 2: the node has 65 properties. The limit is 64/,
    ],
    [
      'more cells than columns',
      'Path,Type\na,site\na/b,line,c\n',
      /Line 3: the row has 3 cells, but the first line has 2/,
    ],
    ['fewer cells than columns', 'Path,Type\na,site\na/b\n', /Line 3: the row has 1 cells, but the first line has 2/],
    ['a reserved property name', 'Path,Property: __proto__\na,b\n', /The property name __proto__ is reserved/],
    [
      'more properties than the limit, and no other columns',
      `Path,${Array.from({ length: 257 }, (_, index) => `Property: ${index}`).join(',')}\n`,
      /The file has 257 properties. The limit is 256/,
    ],
    ['an unknown column', 'Path,Colour\na,b\n', /Use the columns Path, Occurrences, Type and "Property: <name>"/],
    ['too many rows', `Path\n${'a\n'.repeat(20_001)}`, /the file has more than 20000 rows/],
    ['a path that occurs twice', 'Path\na\nb\na\n', /Line 4: The path a occurs twice/],
    ['a type that the template refuses', 'Path,Type\na,site\na/b,desk\n', /Line 3: The template plant does not allow/],
    ['a wrong number of occurrences', 'Path,Occurrences\na/b,1\n', /Line 2: the cell Occurrences must have one number/],
  ] as const)
    test(`returns 400 with a pointer to the CSV file for ${what}`, async () => {
      const id = await createHierarchy(admin, `CSV with ${what}`, 'plant')
      const answer = await admin.exchange(hierarchy, 'importNodes', { params: { id }, body: { data: { csv } } })
      assert.equal(answer.status, 400)
      const problem = answer.body as ProblemDocument
      assert.match(problem.detail, detail)
      assert.deepEqual(problem.errors, [{ pointer: '/data/csv', code: problem.code, detail: problem.detail }])
    })

  test('returns 400 for an import that gives a node a type that the nodes below it do not allow', async () => {
    const id = await createHierarchy(admin, 'Types of an import', 'plant')
    const nodes = [
      { path: ['a'], type: 'site' },
      { path: ['a', 'b'], type: 'building' },
    ]
    await admin.hierarchy.importNodes({ params: { id }, body: { data: { nodes } } })
    const body = { data: { csv: 'Path,Type\na,line\n' } }
    const answer = await admin.exchange(hierarchy, 'importNodes', { params: { id }, body })
    assert.equal((answer.body as ProblemDocument).code, 'invalid_node_type')
    assert.match((answer.body as ProblemDocument).detail, /^Line 2: /)
  })

  test('refuses to export CSV with more columns than the limit, and exports JSON', async () => {
    const id = await createHierarchy(admin, 'Columns')
    const nodes = Array.from({ length: 5 }, (_, node) => ({
      path: [`node ${node}`],
      properties: Object.fromEntries(Array.from({ length: 60 }, (_value, index) => [`${node} ${index}`, 'x'])),
    }))
    await admin.hierarchy.importNodes({ params: { id }, body: { data: { nodes } } })
    const csv = await admin.exchange(hierarchy, 'exportNodes', { params: { id }, query: { format: 'csv' } })
    assert.equal(csv.status, 409)
    assert.deepEqual(await exportedNodes(admin, id), nodes)
  })

  test('returns the paths of up to 100 assets, and 409 if they have too many nodes', async () => {
    const path = Array.from({ length: hierarchyLimits.levels }, (_, level) => `level ${level}`)
    const assetIds = await createAssets(
      admin,
      Array.from({ length: hierarchyLimits.assetsWithPaths }, (_, index) => ({ name: `path ${index}` })),
    )
    // Four paths of 32 nodes for each of the 100 assets are more than the limit.
    for (const name of ['a', 'b', 'c', 'd']) {
      const id = await createHierarchy(admin, `Paths ${name}`)
      await admin.hierarchy.importNodes({ params: { id }, body: { data: { nodes: [{ path }] } } })
      const { data } = await admin.hierarchy.listNodes({ params: { id }, query: { q: 'level 31' } })
      await admin.hierarchy.assignAssets({ params: { id: data[0]?.id ?? '' }, body: { data: { assetIds } } })
    }
    const statusOf = async (ids: string[]) =>
      (await admin.exchange(hierarchy, 'listPathsOfAssets', { body: { data: { assetIds: ids } } })).status
    assert.deepEqual([await statusOf(assetIds), await statusOf([...assetIds, newId()])], [409, 400])
    const some = assetIds.slice(0, 50).toReversed()
    const { data } = await admin.hierarchy.listPathsOfAssets({ body: { data: { assetIds: some } } })
    assert.deepEqual(
      data.map(({ assetId }) => assetId),
      some,
    )
    for (const { paths } of data)
      assert.deepEqual(
        paths.map((one) => [one.hierarchyName, one.path.map(({ name }) => name)]),
        ['a', 'b', 'c', 'd'].map((name) => [`Paths ${name}`, path]),
      )
  })

  test('limits the size of the properties of all nodes of a hierarchy', async () => {
    const id = await createHierarchy(admin, 'Property bytes')
    const properties = { note: 'ü'.repeat(500) }
    const { data: node } = await admin.hierarchy.createNode({
      params: { id },
      body: { data: { name: 'a', properties } },
    })
    await admin.hierarchy.copyNode({ params: { id: node.id }, body: { data: { name: 'b' } } })
    await admin.hierarchy.updateNode({ params: { id: node.id }, body: { data: { properties: { note: 'short' } } } })
    const nodes = [
      { path: ['b'], properties: { other: 'x' } },
      { path: ['c'], properties },
      { path: ['d'], properties },
    ]
    await admin.hierarchy.importNodes({ params: { id }, body: { data: { nodes } } })
    const { data: found } = await admin.hierarchy.listNodes({ params: { id }, query: { q: 'd' } })
    await admin.hierarchy.deleteNode({ params: { id: found[0]?.id ?? '' } })
    const key = [hub.tenant.tenantId, id]
    const { rows } = await hub.asOwner((owner) =>
      owner.query(
        `select h.property_bytes::integer as stored,
           (select sum(octet_length(n.properties::text))::integer from hierarchy_nodes n
            where n.tenant_id = h.tenant_id and n.hierarchy_id = h.id) as actual
         from hierarchies h where h.tenant_id = $1 and h.id = $2`,
        key,
      ),
    )
    assert.equal(rows[0]?.stored, rows[0]?.actual)
    await hub.asOwner((owner) =>
      owner.query('update hierarchies set property_bytes = $3 where tenant_id = $1 and id = $2', [
        ...key,
        hierarchyLimits.propertyBytes - 100,
      ]),
    )
    const statusOf = async (operation: string, input: object) =>
      (await admin.exchange(hierarchy, operation, input)).status
    const imported = [{ path: ['f'], properties }]
    assert.equal(await statusOf('createNode', { params: { id }, body: { data: { name: 'e', properties } } }), 409)
    assert.equal(await statusOf('updateNode', { params: { id: node.id }, body: { data: { properties } } }), 409)
    assert.equal(await statusOf('importNodes', { params: { id }, body: { data: { nodes: imported } } }), 409)
    assert.equal(await statusOf('createNode', { params: { id }, body: { data: { name: 'g' } } }), 201)
  })

  test('does not write the tokens of names again when an import changes only types and properties', async () => {
    const id = await createHierarchy(admin, 'Unchanged names')
    const importType = (type: string) =>
      admin.hierarchy.importNodes({ params: { id }, body: { data: { nodes: [{ path: ['a'], type }] } } })
    await importType('site')
    const sent = await hub.statements(async () => {
      await importType('area')
    })
    assert.ok(sent.some(({ text }) => text.includes('update hierarchy_nodes')))
    assert.ok(!sent.some(({ text }) => text.includes('name_tokens')))
  })

  test('prints two exports of a tenant at the same time, and does not wait for clients that do not read', async () => {
    const id = await createHierarchy(admin, 'Exports')
    await createNode(admin, id, 'a')
    const started = await hub.asOwner(async (owner) => {
      await owner.query('begin')
      await owner.query('lock table hierarchy_nodes in access exclusive mode')
      const exports = Promise.all(Array.from({ length: 5 }, () => startExport(id)))
      const printing = async () => (await sessionsBlockedBy(owner, hub.database)).length
      while ((await printing()) < 2);
      for (let read = 0; read < 20; read++) assert.equal(await printing(), 2)
      await owner.query('commit')
      return exports
    })
    assert.match((await Array.fromAsync(await startExport(id))).join(''), /"path":\["a"\]/)
    for (const stream of started) stream.destroy()
  })

  test('returns the errors of up to ten nodes of a batch', async () => {
    const id = await createHierarchy(admin, 'Invalid batch', 'plant')
    const nodes = Array.from({ length: 12 }, (_, index) => ({ key: `${index}`, name: `${index}`, type: 'desk' }))
    const missing = { key: 'missing', name: 'a', parentId: newId() }
    const body = { data: { nodes: [{ key: 'valid', name: 'a' }, missing, ...nodes] } }
    const answer = await admin.exchange(hierarchy, 'createNodes', { params: { id }, body })
    const { errors, code } = answer.body as ProblemDocument
    assert.equal(code, 'node_not_found')
    assert.deepEqual(
      errors?.map(({ pointer }) => pointer),
      ['/data/nodes/1/parentId', ...nodes.slice(0, 9).map((_, index) => `/data/nodes/${index + 2}/type`)],
    )
  })

  test('runs two imports of a tenant at the same time', async () => {
    const ids = await Promise.all(['Import 1', 'Import 2', 'Import 3'].map((name) => createHierarchy(admin, name)))
    const imported = await hub.asOwner(async (owner) => {
      await owner.query('begin')
      await owner.query('select from hierarchies where tenant_id = $1 for update', [hub.tenant.tenantId])
      const body = { data: { nodes: [{ path: ['a'] }] } }
      const started = Promise.all(ids.map((id) => admin.hierarchy.importNodes({ params: { id }, body })))
      const waiting = async () => (await sessionsBlockedBy(owner, hub.database)).length
      while ((await waiting()) < 2);
      for (let read = 0; read < 20; read++) assert.equal(await waiting(), 2)
      await owner.query('commit')
      return started
    })
    assert.deepEqual(
      imported.map(({ data }) => data.created),
      [1, 1, 1],
    )
  })
})

/** Starts an export without reading it. */
async function startExport(id: string): Promise<Readable> {
  const { exportNodes } = exchangeHandlers(hub.contextOf('hierarchy'))
  const caller = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: '' })
  const { body } = (await exportNodes({ params: { id }, headers: {}, query: {} }, caller)) as Answer
  return body as Readable
}
