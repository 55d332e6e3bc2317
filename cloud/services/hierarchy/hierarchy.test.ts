import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { lowestId } from '../../platform/database/id.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { searchNodes } from './search-store.ts'
import { createHierarchy, createNode, printTree } from './testing.ts'

type Answered = { status: number; body: unknown }
const problemIn = ({ body }: Answered) => body as ProblemDocument

let hub: TestHub
let operator: TestCaller
let viewer: TestCaller

describe('hierarchies and nodes', () => {
  before(async () => {
    hub = await testHub()
    operator = await hub.as('operator')
    viewer = await hub.as('viewer')
  })

  after(() => hub[Symbol.asyncDispose]())

  describe('hierarchies', () => {
    test('creates, reads, lists, renames and deletes a hierarchy', async () => {
      const created = await operator.hierarchy.createHierarchy({
        body: { data: { name: 'Plant north', description: 'By location', template: 'plant' } },
      })
      const { id } = created.data
      assert.deepEqual(created.data.levels, ['site', 'building', 'line', 'cell'])
      assert.equal((await viewer.hierarchy.readHierarchy({ params: { id } })).data.name, 'Plant north')
      const listed = await viewer.hierarchy.listHierarchies({})
      assert.ok(listed.data.some((one) => one.id === id))
      const renamed = await operator.hierarchy.updateHierarchy({
        params: { id },
        body: { data: { name: 'Plant south', description: null } },
      })
      assert.equal(renamed.data.name, 'Plant south')
      assert.equal(renamed.data.description, undefined)
      const deleted = await operator.hierarchy.deleteHierarchy({ params: { id } })
      assert.deepEqual(deleted.data, { deletedNodes: 0, remainingRelations: 0 })
      const answer = await viewer.exchange(hierarchy, 'readHierarchy', { params: { id } })
      assert.equal(answer.status, 404)
    })

    test('returns 409 already_exists when two hierarchies have the same name', async () => {
      await createHierarchy(operator, 'Twice')
      const answer = await operator.exchange(hierarchy, 'createHierarchy', { body: { data: { name: 'Twice' } } })
      assert.equal(answer.status, 409)
      assert.equal(problemIn(answer).code, 'already_exists')
    })

    test('returns 412 when If-Match names an older version', async () => {
      const id = await createHierarchy(operator, 'Versions')
      await operator.hierarchy.updateHierarchy({ params: { id }, body: { data: { name: 'Versions 2' } } })
      const answer = await operator.exchange(hierarchy, 'updateHierarchy', {
        params: { id },
        headers: { 'if-match': '"1"' },
        body: { data: { name: 'Versions 3' } },
      })
      assert.equal(answer.status, 412)
    })

    test('deletes a hierarchy with nodes only with recursive=true', async () => {
      const id = await createHierarchy(operator, 'Deleted with nodes')
      const site = await createNode(operator, id, 'Site')
      await createNode(operator, id, 'Line', { parentId: site.id })
      const refused = await operator.exchange(hierarchy, 'deleteHierarchy', { params: { id } })
      assert.equal(refused.status, 409)
      assert.match(problemIn(refused).detail, /nodes: 2, assigned assets: 0/)
      const { data } = await operator.hierarchy.deleteHierarchy({ params: { id }, query: { recursive: true } })
      assert.equal(data.deletedNodes, 2)
      assert.equal((await viewer.exchange(hierarchy, 'readNode', { params: { id: site.id } })).status, 404)
    })

    test('returns 403 when a viewer changes a hierarchy', async () => {
      const answer = await viewer.exchange(hierarchy, 'createHierarchy', { body: { data: { name: 'x' } } })
      assert.equal(answer.status, 403)
      assert.equal(problemIn(answer).detail, 'Permission denied: requires `glb_hierarchy_write`')
    })
  })

  describe('nodes', () => {
    test('lists the children of a node in order, with counts and positions', async () => {
      const id = await createHierarchy(operator, 'Order')
      const site = await createNode(operator, id, 'Site', { type: 'site' })
      await createNode(operator, id, 'B', { parentId: site.id })
      await createNode(operator, id, 'C', { parentId: site.id })
      await createNode(operator, id, 'A', { parentId: site.id, position: 0 })
      const { data } = await viewer.hierarchy.listNodes({ params: { id }, query: { parentId: site.id } })
      assert.deepEqual(
        data.map(({ name, position, level }) => [name, position, level]),
        [
          ['A', 0, 1],
          ['B', 1, 1],
          ['C', 2, 1],
        ],
      )
      const top = await viewer.hierarchy.readNode({ params: { id: site.id } })
      assert.equal(top.data.childCount, 3)
      assert.equal(top.data.parentId, null)
      assert.equal(top.data.type, 'site')
    })

    test('continues a page of any depth after its cursor', async () => {
      const id = await createHierarchy(operator, 'Pages')
      const nodes = Array.from({ length: 4 }, (_, one) => [
        { key: `${one}`, name: `n${one}` },
        ...Array.from({ length: 3 }, (_, two) => [
          { key: `${one}.${two}`, name: `n${one}.${two}`, parentKey: `${one}` },
          { key: `${one}.${two}.0`, name: `n${one}.${two}.0`, parentKey: `${one}.${two}` },
        ]).flat(),
      ]).flat()
      await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes } } })
      for (const depth of [1, 2, 3]) {
        const expected = nodes.map(({ name }) => name).filter((name) => name.split('.').length <= depth)
        for (const limit of [1, 2, 5, 100]) {
          const names: string[] = []
          for (let cursor: string | undefined, isMore = true; isMore; ) {
            const query = { depth, limit, ...(cursor === undefined ? {} : { cursor }) }
            const page = await viewer.hierarchy.listNodes({ params: { id }, query })
            assert.ok(page.data.length <= limit)
            names.push(...page.data.map(({ name }) => name))
            cursor = page.meta.nextCursor
            isMore = cursor !== undefined
          }
          assert.deepEqual(names, expected, `depth ${depth}, limit ${limit}`)
        }
      }
    })

    test('finds nodes by a part of their name, in any case, below a node', async () => {
      const id = await createHierarchy(operator, 'Search')
      const site = await createNode(operator, id, 'Site 1')
      const line = await createNode(operator, id, 'Packaging LINE 7', { parentId: site.id })
      await createNode(operator, id, 'line outside')
      const found = await viewer.hierarchy.listNodes({ params: { id }, query: { q: 'Line' } })
      assert.deepEqual(
        found.data.map(({ name }) => name),
        ['Packaging LINE 7', 'line outside'],
      )
      const below = await viewer.hierarchy.listNodes({ params: { id }, query: { q: 'line', parentId: site.id } })
      assert.deepEqual(
        below.data.map((node) => node.id),
        [line.id],
      )
    })

    test('finds the same nodes with compared names and with the index of tokens', async () => {
      const id = await createHierarchy(operator, 'Search strategies')
      const names = [
        'Line 1',
        'LINE 12',
        "o'line \\ 3",
        'lin',
        'ΟΔΟΣ',
        'Ödland',
        'x',
        '🏭 line',
        'in e',
        'linie',
        'l i n e',
      ]
      const nodes = names.map((name, key) => ({ key: `${key}`, name }))
      const { data } = await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes } } })
      const renamed = data[3]?.id ?? ''
      await operator.hierarchy.updateNode({ params: { id: renamed }, body: { data: { name: 'Renamed LIN' } } })
      const current = [...names.filter((name) => name !== 'lin'), 'Renamed LIN']
      const order = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))
      const scope = { groups: [], gateways: false }
      for (const text of [
        'line',
        'LIN',
        'in',
        'l',
        "'",
        '\\ 3',
        ' ',
        'δοσ',
        'ödl',
        '🏭',
        '🏭 l',
        'line 12',
        'none',
        'n e',
      ])
        for (const compared of [1, 3, 1_000]) {
          const found: string[] = []
          for (let after = { name: '', id: lowestId }; ; ) {
            const query = { hierarchyId: id, text, after, limit: 2, scope, belowId: undefined, compared }
            const rows = await hub.context.database.read(hub.tenant, (handle) => searchNodes(handle, query))
            found.push(...rows.map(({ name }) => name))
            const last = rows.length === 2 ? rows.at(-1) : undefined
            if (last === undefined) break
            after = last
          }
          const expected = current.filter((name) => name.toLowerCase().replace('ς', 'σ').includes(text.toLowerCase()))
          assert.deepEqual(found, expected.toSorted(order), `${text}, ${compared}`)
        }
    })

    test('creates a batch with parents in any order, or nothing', async () => {
      const id = await createHierarchy(operator, 'Batch')
      const nodes = [
        { key: 'cell', name: 'Cell', parentKey: 'line' },
        { key: 'line', name: 'Line', parentKey: 'site' },
        { key: 'site', name: 'Site' },
      ]
      const { data } = await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes } } })
      assert.deepEqual(
        data.map(({ key }) => key),
        ['cell', 'line', 'site'],
      )
      assert.deepEqual(await printTree(viewer, id), ['Site', '  Line', '    Cell'])
      for (const wrong of [
        [{ key: 'a', name: 'A', parentKey: 'b' }],
        [
          { key: 'a', name: 'A' },
          { key: 'a', name: 'B' },
        ],
        [
          { key: 'a', name: 'A', parentKey: 'b' },
          { key: 'b', name: 'B', parentKey: 'a' },
          { key: 'c', name: 'C', parentKey: 'b' },
        ],
      ]) {
        const answer = await operator.exchange(hierarchy, 'createNodes', {
          params: { id },
          body: { data: { nodes: [{ key: 'ok', name: 'OK' }, ...wrong] } },
        })
        assert.equal(answer.status, 400)
        const wrongNodes = problemIn(answer).errors?.map(({ pointer }) => pointer.split('/')[3])
        assert.deepEqual(wrongNodes, wrong.length === 3 ? ['1', '2', '3'] : ['1'])
      }
      assert.equal((await printTree(viewer, id)).length, 3)
    })

    test('moves a subtree, changes the order of siblings, and lists the moves', async () => {
      const id = await createHierarchy(operator, 'Moves')
      const one = await createNode(operator, id, 'One')
      const two = await createNode(operator, id, 'Two')
      const line = await createNode(operator, id, 'Line', { parentId: one.id })
      await createNode(operator, id, 'Cell', { parentId: line.id })
      const move = (node: string, data: { parentId?: string | null; position?: number }) =>
        operator.hierarchy.moveNode({ params: { id: node }, body: { data } })
      await move(line.id, { parentId: two.id })
      assert.deepEqual(await printTree(viewer, id), ['One', 'Two', '  Line', '    Cell'])
      await move(two.id, { position: 0 })
      assert.deepEqual(await printTree(viewer, id), ['Two', '  Line', '    Cell', 'One'])
      await move(line.id, { parentId: null, position: 1 })
      assert.deepEqual(await printTree(viewer, id), ['Two', 'Line', '  Cell', 'One'])
      const { data } = await viewer.hierarchy.listMoves({ params: { id: line.id } })
      assert.deepEqual(
        data.map(({ fromParentId, toParentId, toPosition }) => [fromParentId, toParentId, toPosition]),
        [
          [two.id, null, 1],
          [one.id, two.id, 0],
        ],
      )
      const path = await viewer.hierarchy.readPath({ params: { id: line.id } })
      assert.deepEqual(
        path.data.map(({ name }) => name),
        ['Line'],
      )
    })

    test('returns 409 node_below_itself when a node is moved below itself', async () => {
      const id = await createHierarchy(operator, 'Cycle')
      const site = await createNode(operator, id, 'Site')
      const line = await createNode(operator, id, 'Line', { parentId: site.id })
      for (const parentId of [site.id, line.id]) {
        const answer = await operator.exchange(hierarchy, 'moveNode', {
          params: { id: site.id },
          body: { data: { parentId } },
        })
        assert.equal(answer.status, 409)
        assert.equal(problemIn(answer).code, 'node_below_itself')
      }
    })

    test('returns 400 for a move without a parent and a position', async () => {
      const id = await createHierarchy(operator, 'Empty move')
      const node = await createNode(operator, id, 'Site')
      const answer = await operator.exchange(hierarchy, 'moveNode', { params: { id: node.id }, body: { data: {} } })
      assert.equal(answer.status, 400)
    })

    test('keeps the order of many moves to the same place', async () => {
      const id = await createHierarchy(operator, 'Ranks')
      const names = ['a', 'b']
      for (const name of names) await createNode(operator, id, name)
      const expected = ['a', 'b']
      for (let index = 0; index < 30; index++) {
        await createNode(operator, id, `n${index}`, { position: 1 })
        expected.splice(1, 0, `n${index}`)
      }
      assert.deepEqual(await printTree(viewer, id), expected)
    })

    test('copies a subtree with its types and properties', async () => {
      const id = await createHierarchy(operator, 'Copy')
      const site = await createNode(operator, id, 'Site')
      const line = await createNode(operator, id, 'Line', { parentId: site.id, type: 'line' })
      await createNode(operator, id, 'Cell', { parentId: line.id })
      const { data } = await operator.hierarchy.copyNode({
        params: { id: line.id },
        body: { data: { name: 'Line 2' } },
      })
      assert.equal(data.copiedNodes, 2)
      assert.equal(data.node.type, 'line')
      assert.deepEqual(await printTree(viewer, id), ['Site', '  Line', '    Cell', '  Line 2', '    Cell'])
      const below = await operator.hierarchy.copyNode({
        params: { id: site.id },
        body: { data: { parentId: line.id } },
      })
      assert.equal(below.data.copiedNodes, 5)
    })

    test('enforces the levels of a template', async () => {
      const id = await createHierarchy(operator, 'ISA-95', 'isa-95')
      const site = await createNode(operator, id, 'Site', { type: 'site' })
      const area = await createNode(operator, id, 'Area', { parentId: site.id })
      assert.equal(area.type, 'area')
      for (const type of ['enterprise', 'site', 'anything']) {
        const answer = await operator.exchange(hierarchy, 'createNode', {
          params: { id },
          body: { data: { name: 'x', type, parentId: site.id } },
        })
        assert.equal(answer.status, 400)
        assert.equal(problemIn(answer).code, 'invalid_node_type')
        assert.match(problemIn(answer).detail, /below a node of the type site\. Allowed types: area, work center/)
      }
      const moved = await operator.exchange(hierarchy, 'moveNode', {
        params: { id: site.id },
        body: { data: { parentId: area.id } },
      })
      assert.equal(moved.status, 409)
      const changed = await operator.exchange(hierarchy, 'updateNode', {
        params: { id: site.id },
        body: { data: { type: 'work unit' } },
      })
      assert.equal(changed.status, 400)
    })

    test(`refuses more than ${hierarchyLimits.levels} levels`, async () => {
      const id = await createHierarchy(operator, 'Deep')
      const nodes = Array.from({ length: hierarchyLimits.levels }, (_, level) => ({
        key: `${level}`,
        name: `Level ${level}`,
        ...(level === 0 ? {} : { parentKey: `${level - 1}` }),
      }))
      const { data } = await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes } } })
      const answer = await operator.exchange(hierarchy, 'createNode', {
        params: { id },
        body: { data: { name: 'Too deep', parentId: data.at(-1)?.id } },
      })
      assert.equal(answer.status, 409)
      assert.match(problemIn(answer).detail, /33 levels. The limit is 32/)
    })

    test('returns 422 node_not_found when the parent is in another hierarchy', async () => {
      const id = await createHierarchy(operator, 'Own')
      const other = await createNode(operator, await createHierarchy(operator, 'Other'), 'Elsewhere')
      for (const parentId of [other.id, v7()]) {
        const answer = await operator.exchange(hierarchy, 'createNode', {
          params: { id },
          body: { data: { name: 'x', parentId } },
        })
        assert.equal(answer.status, 422)
        assert.equal(problemIn(answer).code, 'node_not_found')
        assert.equal(problemIn(answer).errors?.[0]?.pointer, '/data/parentId')
      }
    })
  })

  describe('bad input', () => {
    test('returns 400 or an empty list, never 500, for the NUL character', async () => {
      const name = 'Null characters'
      const id = await createHierarchy(operator, name)
      const node = await createNode(operator, id, 'Site')
      const nul = 'a\0b'
      for (const [operation, input, status] of [
        ['createHierarchy', { body: { data: { name: 'x', description: nul } } }, 400],
        ['updateNode', { params: { id: node.id }, body: { data: { properties: { a: nul } } } }, 400],
        ['listNodes', { params: { id }, query: { q: nul } }, 200],
        ['listNodes', { params: { id }, query: { q: 'a', cursor: cursorOf(nul) } }, 400],
      ] as const) {
        const answer = await operator.exchange(hierarchy, operation, input)
        assert.equal(answer.status, status, operation)
      }
    })

    test('refuses property names with more than 64 characters', async () => {
      const id = await createHierarchy(operator, 'Long property')
      const properties = { ['x'.repeat(65)]: 'value' }
      const answer = await operator.exchange(hierarchy, 'createNode', {
        params: { id },
        body: { data: { name: 'Site', properties } },
      })
      assert.equal(answer.status, 400)
    })

    test('refuses to copy a node whose properties are larger than the limit', async () => {
      const id = await createHierarchy(operator, 'Large copy')
      const properties = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`p${index}`, 'x'.repeat(500)]))
      const batch = Array.from({ length: 150 }, (_, index) => ({
        key: `${index}`,
        name: `n${index}`,
        properties,
        ...(index === 0 ? {} : { parentKey: '0' }),
      }))
      const first = await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes: batch } } })
      const top = first.data[0]?.id ?? ''
      const more = batch.slice(1).map(({ parentKey: _, ...node }) => ({ ...node, parentId: top }))
      await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes: more } } })
      const answer = await operator.exchange(hierarchy, 'copyNode', { params: { id: top }, body: { data: {} } })
      assert.equal(answer.status, 409)
      assert.match(problemIn(answer).detail, /too large to copy \(nodes: 299/)
    })

    test('refuses a CSV header with thousands of columns at once', async () => {
      const id = await createHierarchy(operator, 'Wide CSV')
      const csv = `Path,${Array.from({ length: 15_000 }, (_, index) => `Property: ${index}`).join(',')}\nx\n`
      const answer = await operator.exchange(hierarchy, 'importNodes', {
        params: { id },
        body: { data: { csv, dryRun: true } },
      })
      assert.equal(answer.status, 400)
      assert.match(problemIn(answer).detail, /Line 1: the row has more than 258 cells/)
    })

    test('refuses an import that names a path twice', async () => {
      const id = await createHierarchy(operator, 'Twice in a file')
      const answer = await operator.exchange(hierarchy, 'importNodes', {
        params: { id },
        body: { data: { csv: 'Path,Type\nSite,site\nSite,plant\n' } },
      })
      assert.equal(answer.status, 400)
      assert.match(problemIn(answer).detail, /The path Site occurs twice/)
    })

    test('exports no inherited members of objects as properties', async () => {
      const id = await createHierarchy(operator, 'Constructor')
      const nodes = [{ path: ['a'], properties: { constructor: 'x' } }, { path: ['b'] }]
      await operator.hierarchy.importNodes({ params: { id }, body: { data: { nodes } } })
      const csv = await viewer.hierarchy.exportNodes({ params: { id }, query: { format: 'csv' } })
      assert.equal(csv, 'Path,Type,Property: constructor\r\na,,x\r\nb,,\r\n')
    })
  })

  describe('import and export', () => {
    const nodes = [
      { path: ['Site, 1'], type: 'site', properties: { owner: '=Miller', note: 'a "b"' } },
      { path: ['Site, 1', 'Line/A'] },
      { path: ['Site, 1', 'Line/A', 'Cell'], properties: { note: 'two\nlines' } },
      { path: ['Site 2'] },
    ]

    test('exports CSV and JSON that can be imported again without a change', async () => {
      const id = await createHierarchy(operator, 'Exchange')
      const first = await operator.hierarchy.importNodes({ params: { id }, body: { data: { nodes } } })
      assert.deepEqual(first.data, { created: 4, updated: 0, unchanged: 0, dryRun: false })
      const json = await viewer.hierarchy.exportNodes({ params: { id }, query: { format: 'json' } })
      assert.deepEqual(JSON.parse(json as string), { nodes })
      const csv = (await viewer.hierarchy.exportNodes({ params: { id }, query: { format: 'csv' } })) as string
      assert.match(csv, /'=Miller/)
      const copy = await createHierarchy(operator, 'Exchange copy')
      const second = await operator.hierarchy.importNodes({ params: { id: copy }, body: { data: { csv } } })
      assert.equal(second.data.created, 4)
      assert.deepEqual(JSON.parse((await viewer.hierarchy.exportNodes({ params: { id: copy } })) as string), { nodes })
      const again = await operator.hierarchy.importNodes({ params: { id: copy }, body: { data: { csv } } })
      assert.deepEqual(again.data, { created: 0, updated: 0, unchanged: 4, dryRun: false })
    })

    test('shows the changes of an import without making them', async () => {
      const id = await createHierarchy(operator, 'Dry run')
      await createNode(operator, id, 'Site')
      const csv = 'Path;Type\r\nSite;site\r\nSite/Line;\r\n'
      const { data } = await operator.hierarchy.importNodes({ params: { id }, body: { data: { csv, dryRun: true } } })
      assert.deepEqual(data, { created: 1, updated: 1, unchanged: 0, dryRun: true })
      assert.deepEqual(await printTree(viewer, id), ['Site'])
    })

    test('returns 400 with the line of an invalid CSV file, and imports nothing', async () => {
      const id = await createHierarchy(operator, 'Invalid CSV')
      for (const [csv, message] of [
        ['Name\r\nx\r\n', /column Path/],
        ['Path,Colour\r\nx,red\r\n', /Unknown column "Colour"/],
        ['Path\r\nSite\r\n/x\r\n', /Line 3/],
        ['Path\r\n"Site\r\n', /quotation mark is not closed/],
      ] as const) {
        const answer = await operator.exchange(hierarchy, 'importNodes', { params: { id }, body: { data: { csv } } })
        assert.equal(answer.status, 400)
        assert.match(problemIn(answer).detail, message)
      }
      assert.deepEqual(await printTree(viewer, id), [])
    })
  })
})

function cursorOf(name: string): string {
  return Buffer.from(JSON.stringify([name, v7()])).toString('base64url')
}
