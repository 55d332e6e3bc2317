import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { lowestId } from '../../platform/database/id.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { positionsAt } from './node-paging-store.ts'
import { searchNodes } from './search-store.ts'
import { createHierarchy, createNode, exportedNodes, printTree } from './testing.ts'

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
      assert.deepEqual(deleted.data, { deletedNodes: 0, deletedRules: 0, assignedAssets: 0, remainingRelations: 0 })
      const answer = await viewer.exchange(hierarchy, 'readHierarchy', { params: { id } })
      assert.equal(answer.status, 404)
    })

    test('returns 409 already_exists when two hierarchies have the same name', async () => {
      await createHierarchy(operator, 'Twice')
      const answer = await operator.exchange(hierarchy, 'createHierarchy', { body: { data: { name: 'Twice' } } })
      assert.equal(answer.status, 409)
      assert.equal(problemIn(answer).code, 'already_exists')
      assert.equal(problemIn(answer).errors?.[0]?.pointer, '/data/name')
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

    test('continues a page after its last node and the parent of this node were deleted or moved', async () => {
      const id = await createHierarchy(operator, 'Changed pages')
      for (const name of ['a', 'b', 'c', 'd']) {
        const { id: parentId } = await createNode(operator, id, name)
        for (const child of ['1', '2', '3']) await createNode(operator, id, `${name}${child}`, { parentId })
      }
      const list = async (query: object) => {
        const { data, meta } = await viewer.hierarchy.listNodes({ params: { id }, query: { depth: 2, ...query } })
        return { data, cursor: meta.nextCursor ?? '', names: data.map(({ name }) => name) }
      }
      const first = await list({ limit: 3 })
      assert.deepEqual(first.names, ['a', 'a1', 'a2'])
      await operator.hierarchy.deleteNode({ params: { id: first.data.at(-1)?.id ?? '' } })
      const second = await list({ limit: 3, cursor: first.cursor })
      assert.deepEqual(second.names, ['a3', 'b', 'b1'])
      await operator.hierarchy.deleteNode({ params: { id: second.data[1]?.id ?? '' }, query: { recursive: true } })
      const third = await list({ limit: 2, cursor: second.cursor })
      assert.deepEqual(third.names, ['c', 'c1'])
      await operator.hierarchy.moveNode({ params: { id: third.data[1]?.id ?? '' }, body: { data: { position: 2 } } })
      const fourth = await list({ limit: 2, cursor: third.cursor })
      assert.deepEqual(
        fourth.data.map(({ name, position, level }) => [name, position, level]),
        [
          ['c2', 0, 1],
          ['c3', 1, 1],
        ],
      )
      const other = await viewer.exchange(hierarchy, 'listNodes', {
        params: { id },
        query: { parentId: first.data[0]?.id, cursor: first.cursor },
      })
      assert.equal(problemIn(other).code, 'invalid_cursor')
    })

    test('lists nodes with a total and an offset, and omits an expensive total unless it is requested', async () => {
      const id = await createHierarchy(operator, 'Totals')
      for (const name of ['n0', 'n1', 'n2', 'n3']) {
        const { id: parentId } = await createNode(operator, id, name)
        await createNode(operator, id, `${name}.0`, { parentId })
      }
      const list = async (query: object) => {
        const { data, meta } = await viewer.hierarchy.listNodes({ params: { id }, query: { limit: 2, ...query } })
        const { nextCursor, ...numbers } = meta
        return [data.map(({ name, position }) => `${name}@${position}`).join(' '), numbers, nextCursor !== undefined]
      }
      const numbers = (offset: number, totalElements?: number) => ({
        ...(totalElements === undefined ? {} : { totalElements }),
        elements: 2,
        offset,
      })
      assert.deepEqual(await list({}), ['n0@0 n1@1', numbers(0, 4), true])
      assert.deepEqual(await list({ offset: 1 }), ['n1@1 n2@2', numbers(1, 4), true])
      assert.deepEqual(await list({ offset: 2, count: false }), ['n2@2 n3@3', numbers(2), false])
      assert.deepEqual(await list({ offset: 4 }), ['', { totalElements: 4, elements: 0, offset: 4 }, false])
      assert.deepEqual(await list({ depth: 2 }), ['n0@0 n0.0@0', numbers(0), true])
      assert.deepEqual(await list({ depth: 2, count: true }), ['n0@0 n0.0@0', numbers(0, 8), true])
      assert.deepEqual(await list({ depth: 32, count: true }), ['n0@0 n0.0@0', numbers(0, 8), true])
      assert.deepEqual(await list({ q: '0' }), ['n0@0 n0.0@0', numbers(0), true])
      assert.deepEqual(await list({ q: '0', count: true }), ['n0@0 n0.0@0', numbers(0, 5), true])
      assert.deepEqual(await list({ q: '0', offset: 3 }), ['n2.0@0 n3.0@0', numbers(3, 5), false])
      const refused = await viewer.exchange(hierarchy, 'listNodes', { params: { id }, query: { depth: 2, offset: 1 } })
      assert.equal(refused.status, 400)
      assert.equal(problemIn(refused).errors?.[0]?.pointer, '/offset')
    })

    test('refuses a cursor of another search, and a cursor together with an offset', async () => {
      const id = await createHierarchy(operator, 'Cursors')
      for (const name of ['ab 1', 'ab 2', 'ab 3']) await createNode(operator, id, name)
      const cursorOfList = async (query: object) =>
        (await viewer.hierarchy.listNodes({ params: { id }, query: { limit: 1, ...query } })).meta.nextCursor ?? ''
      const [search, list] = [await cursorOfList({ q: 'a' }), await cursorOfList({})]
      const refuse = async (query: Record<string, unknown>) => {
        const answer = await viewer.exchange(hierarchy, 'listNodes', { params: { id }, query })
        return [problemIn(answer).code, problemIn(answer).errors?.[0]?.pointer]
      }
      assert.deepEqual(await refuse({ q: 'b', cursor: search }), ['invalid_cursor', undefined])
      assert.deepEqual(await refuse({ cursor: search }), ['invalid_cursor', undefined])
      for (const query of [{ cursor: list }, { q: 'a', cursor: search }])
        assert.deepEqual(await refuse({ ...query, offset: 1 }), ['invalid_query', '/offset'])
      const { data } = await viewer.hierarchy.listNodes({ params: { id }, query: { q: 'a', cursor: search } })
      assert.deepEqual(
        data.map(({ name }) => name),
        ['ab 2', 'ab 3'],
      )
    })

    test('continues a list after nodes were moved to the same place many times', async () => {
      const id = await createHierarchy(operator, 'Many moves')
      const nodes = Array.from({ length: 6 }, (_, index) => ({ key: `${index}`, name: `n${index}` }))
      const { data: created } = await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes } } })
      const { data: first, meta } = await viewer.hierarchy.listNodes({ params: { id }, query: { limit: 2 } })
      for (let move = 0; move < 45; move++)
        await operator.hierarchy.moveNode({
          params: { id: created[move % 2 === 0 ? 5 : 4]?.id ?? '' },
          body: { data: { position: 4 } },
        })
      const query = { limit: 100, cursor: meta.nextCursor ?? '' }
      const { data: rest } = await viewer.hierarchy.listNodes({ params: { id }, query })
      assert.deepEqual(
        [...first, ...rest].map(({ name, position }) => `${name}@${position}`),
        ['n0@0', 'n1@1', 'n2@2', 'n3@3', 'n5@4', 'n4@5'],
      )
    })

    test('gives siblings new ranks when a place is full, keeps their order, and refuses older cursors', async () => {
      const id = await createHierarchy(operator, 'Full place')
      const ids: string[] = []
      for (const name of ['a', 'b', 'c']) ids.push((await createNode(operator, id, name)).id)
      const { meta } = await viewer.hierarchy.listNodes({ params: { id }, query: { limit: 1 } })
      // Between these two tails, only a longer tail than the limit is free.
      for (const [index, end] of ['0', '00'].entries())
        await hub.asOwner((owner) =>
          owner.query(`update hierarchy_nodes set rank = 1, rank_tail = repeat('-', 63) || $2 where id = $1`, [
            ids[index],
            end,
          ]),
        )
      await createNode(operator, id, 'new', { position: 1 })
      assert.deepEqual(await printTree(viewer, id), ['a', 'new', 'b', 'c'])
      const query = { cursor: meta.nextCursor }
      const answer = await viewer.exchange(hierarchy, 'listNodes', { params: { id }, query })
      assert.equal(problemIn(answer).code, 'invalid_cursor')
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

    test('returns the same nodes in a list as in single reads', async () => {
      const id = await createHierarchy(operator, 'Reads and lists', 'plant')
      const site = await createNode(operator, id, 'Quote " \\ and 🏭')
      const line = await createNode(operator, id, 'Line\u2028 1', { parentId: site.id, type: 'line' })
      const properties = { 'a "key"': 'value\n', ü: '\\' }
      await operator.hierarchy.updateNode({ params: { id: line.id }, body: { data: { properties } } })
      const { data } = await viewer.hierarchy.listNodes({ params: { id }, query: { depth: 32 } })
      const found = await viewer.hierarchy.listNodes({ params: { id }, query: { q: 'i' } })
      const read = async (node: string) => (await viewer.hierarchy.readNode({ params: { id: node } })).data
      assert.deepEqual(data, [await read(site.id), await read(line.id)])
      assert.deepEqual(found.data, [await read(line.id)])
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
        'İnnenhof',
        `${'no.'.repeat(20)} tower 7`,
        `${'no '.repeat(16)}tower`,
      ]
      // The last nodes are below the node with the key 4, on two levels.
      const parentOf = (key: number) => (key < 5 ? {} : { parentKey: key < 8 ? '4' : '5' })
      const nodes = names.map((name, key) => ({ key: `${key}`, name, ...parentOf(key) }))
      const { data } = await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes } } })
      const renamed = data[3]?.id ?? ''
      await operator.hierarchy.updateNode({ params: { id: renamed }, body: { data: { name: 'Renamed LIN' } } })
      const current = [...names.filter((name) => name !== 'lin'), 'Renamed LIN']
      const order = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))
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
        'İnn',
        'Tower',
        'tower 7',
        'no tow',
        'r 7',
        '7',
      ])
        for (const [compared, belowId] of [1, 3, 1_000].flatMap(
          (names) =>
            [
              [names, undefined],
              [names, data[4]?.id],
            ] as const,
        )) {
          const found: string[] = []
          for (let after = { name: '', id: lowestId }; ; ) {
            const query = { hierarchyId: id, text, after, limit: 2, belowId, compared }
            const rows = await hub.context.database.read(hub.tenant, (handle) => searchNodes(handle, query))
            found.push(...rows.map(({ name }) => name))
            const last = rows.length === 2 ? rows.at(-1) : undefined
            if (last === undefined) break
            after = last
          }
          const searched = belowId === undefined ? current : names.slice(5)
          const expected = searched.filter((name) => name.toLowerCase().replace('ς', 'σ').includes(text.toLowerCase()))
          assert.deepEqual(found, expected.toSorted(order), `${text}, ${compared}, ${belowId}`)
        }
    })

    test('finds nodes of several parents with their positions', async () => {
      const id = await createHierarchy(operator, 'Positions')
      const nodes = ['North', 'South'].flatMap((site) => [
        { key: site, name: site },
        ...['Pump', 'Valve', 'Pump'].map((name, index) => ({ key: `${site} ${index}`, name, parentKey: site })),
      ])
      await operator.hierarchy.createNodes({ params: { id }, body: { data: { nodes } } })
      const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)
      const listed = await viewer.hierarchy.listNodes({ params: { id }, query: { depth: 2 } })
      const pumps = listed.data.filter(({ name }) => name === 'Pump')
      assert.deepEqual(
        pumps.map(({ position }) => position),
        [0, 2, 0, 2],
      )
      const found = await viewer.hierarchy.listNodes({ params: { id }, query: { q: 'pump' } })
      assert.deepEqual(found.data.toSorted(byId), pumps.toSorted(byId))
    })

    test('counts the siblings of a cursor only along an existing path', async () => {
      const id = await createHierarchy(operator, 'Cursor with repeated places')
      const { id: node } = await createNode(operator, id, 'Site')
      const place = (parentId: string) => ({ parentId, rank: 0, tail: '', id: node })
      const places = [place(id), ...Array.from({ length: 30 }, () => place(node))]
      const positions = await hub.context.database.read(hub.tenant, (handle) => positionsAt(handle, places))
      assert.deepEqual(
        positions.map(({ isCurrent }) => isCurrent),
        [true, false],
      )
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
      for (const [pointers, ...wrong] of [
        [['/data/nodes/1/parentKey'], { key: 'a', name: 'A', parentKey: 'b' }],
        [['/data/nodes/2/key'], { key: 'a', name: 'A' }, { key: 'a', name: 'B' }],
        [
          [1, 2, 3].map((index) => `/data/nodes/${index}/parentKey`),
          { key: 'a', name: 'A', parentKey: 'b' },
          { key: 'b', name: 'B', parentKey: 'a' },
          { key: 'c', name: 'C', parentKey: 'b' },
        ],
      ] as const) {
        const answer = await operator.exchange(hierarchy, 'createNodes', {
          params: { id },
          body: { data: { nodes: [{ key: 'ok', name: 'OK' }, ...wrong] } },
        })
        assert.equal(answer.status, 400)
        assert.deepEqual(
          problemIn(answer).errors?.map((error) => error.pointer),
          pointers,
        )
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
        assert.equal(problemIn(answer).errors?.[0]?.pointer, '/data/parentId')
      }
    })

    test('returns 400 for a move without a parent and a position', async () => {
      const id = await createHierarchy(operator, 'Empty move')
      const node = await createNode(operator, id, 'Site')
      const answer = await operator.exchange(hierarchy, 'moveNode', { params: { id: node.id }, body: { data: {} } })
      assert.equal(answer.status, 400)
    })

    test('changes nothing when a node is moved to its place or updated with its values', async () => {
      const id = await createHierarchy(operator, 'Unchanged')
      const site = await createNode(operator, id, 'Site')
      const [one, two] = [
        await createNode(operator, id, 'One', { parentId: site.id }),
        await createNode(operator, id, 'Two', { parentId: site.id, type: 'line' }),
      ]
      const before = await viewer.hierarchy.readHierarchy({ params: { id } })
      for (const data of [{ position: 0 }, { parentId: site.id }, { parentId: site.id, position: 0 }]) {
        const moved = await operator.hierarchy.moveNode({ params: { id: one.id }, body: { data } })
        assert.deepEqual(moved.data, one)
      }
      for (const position of [1, 9])
        assert.deepEqual(
          (await operator.hierarchy.moveNode({ params: { id: two.id }, body: { data: { position } } })).data,
          two,
        )
      for (const data of [{}, { name: 'Two', type: 'line', properties: {} }])
        assert.deepEqual((await operator.hierarchy.updateNode({ params: { id: two.id }, body: { data } })).data, two)
      const same = await operator.hierarchy.updateHierarchy({ params: { id }, body: { data: {} } })
      assert.deepEqual(same.data, before.data)
      for (const node of [one, two])
        assert.deepEqual((await viewer.hierarchy.listMoves({ params: { id: node.id } })).data, [])
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
        ['listNodes', { params: { id }, query: { q: 'a', cursor: cursorOf('a', id, nul) } }, 400],
      ] as const) {
        const answer = await operator.exchange(hierarchy, operation, input)
        assert.equal(answer.status, status, operation)
      }
    })

    test('returns 400 with the reason for names, keys and bodies that are not allowed', async () => {
      const id = await createHierarchy(operator, 'Small errors')
      const { id: nodeId } = await createNode(operator, id, 'Site')
      const node = (content: object) => ['createNode', { params: { id }, body: { data: content } }] as const
      const batch = (key: string) =>
        ['createNodes', { params: { id }, body: { data: { nodes: [{ key, name: 'x' }] } } }] as const
      const rule = (namePattern: string) =>
        ['replaceRules', { params: { id }, body: { data: { rules: [{ nodeId, namePattern }] } } }] as const
      for (const [[operation, input], pointer, detail] of [
        [node({ name: 'a\u0085b' }), '/data/name', /^must not start or end with a space, and must not contain/],
        [node({ name: ' a' }), '/data/name', /^must not start or end with a space/],
        [node({ name: 'a', type: 'a\tb' }), '/data/type', /^must not contain line breaks or other control characters$/],
        [['createNode', { params: { id }, body: [] }], '', /^must be an object$/],
        [
          node({ name: 'x', properties: { [`${'p'.repeat(65)}`]: 'x' } }),
          `/data/properties/${'p'.repeat(65)}`,
          /^is not a valid property name: use 1 to 64 characters without control characters$/,
        ],
        [node({ name: 'x', properties: { '': 'x' } }), '/data/properties/', /^is not a valid property name/],
        [batch('a\0'), '/data/nodes/0/key', /without NUL/],
        [batch('a\ud800'), '/data/nodes/0/key', /without NUL/],
        [rule('a\0*'), '/data/rules/0/namePattern', /without NUL/],
        [rule('a\ud800*'), '/data/rules/0/namePattern', /without NUL/],
        [
          ['rebuildCounts', { params: { id }, body: { dryRun: true } }],
          '/dryRun',
          /^is unknown; this object has no members$/,
        ],
        [['cleanupNode', { params: { id }, body: { all: true } }], '/all', /is unknown/],
      ] as const) {
        const answer = await operator.exchange(hierarchy, operation, input)
        assert.equal(answer.status, 400, operation)
        assert.equal(problemIn(answer).errors?.[0]?.pointer, pointer)
        assert.match(problemIn(answer).errors?.[0]?.detail ?? '', detail)
      }
      await operator.hierarchy.rebuildCounts({ params: { id } })
    })

    test('returns 400 for texts and property names that cannot be stored or exported', async () => {
      const id = await createHierarchy(operator, 'Invalid texts')
      const { id: nodeId } = await createNode(operator, id, 'Site')
      const surrogate = 'a\ud800'
      const requests = (content: object) =>
        [
          ['createNode', { params: { id }, body: { data: { name: 'x', ...content } } }],
          ['updateNode', { params: { id: nodeId }, body: { data: content } }],
          ['createNodes', { params: { id }, body: { data: { nodes: [{ key: 'k', name: 'x', ...content }] } } }],
        ] as const
      const importOf = (data: object) => ['importNodes', { params: { id }, body: { data } }] as const
      const csvOf = (name: string, value: string) => importOf({ csv: `Path,"Property: ${name}"\nx,"${value}"\n` })
      const invalid = [
        ['', 'x'],
        ['x'.repeat(65), 'x'],
        ['a\0', 'x'],
        ['a\n', 'x'],
        [surrogate, 'x'],
        ['a', 'a\0'],
        ['a', surrogate],
      ] as const
      for (const [operation, input] of [
        ...invalid.flatMap(([name, value]) => requests({ properties: { [name]: value } })),
        ...invalid.map(([name, value]) => importOf({ nodes: [{ path: ['x'], properties: { [name]: value } }] })),
        ...invalid.map(([name, value]) => csvOf(name, value)),
        ...requests({ properties: { a: '' } }),
        ...requests({ type: surrogate }),
        ...requests({ name: surrogate }),
        importOf({ nodes: [{ path: [surrogate] }] }),
        importOf({ csv: `Path\n${surrogate}\n` }),
        importOf({ csv: `Path,Type\nx,${surrogate}\n` }),
      ] as const) {
        const answer = await operator.exchange(hierarchy, operation, input)
        assert.equal(answer.status, 400, JSON.stringify([operation, input]))
      }
      assert.deepEqual(await printTree(viewer, id), ['Site'])
      const name = '😀 Süd'
      const emoji = await operator.hierarchy.createNode({
        params: { id },
        body: { data: { name, properties: { [name]: name } } },
      })
      assert.deepEqual([emoji.data.name, emoji.data.properties], [name, { [name]: name }])
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
      assert.match(problemIn(answer).detail, /Line 1: the row has more than 259 cells/)
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
      assert.deepEqual(first.data, { created: 4, updated: 0, unchanged: 0, defaultTypes: 0, dryRun: false })
      assert.deepEqual(await exportedNodes(viewer, id), nodes)
      const csv = (await viewer.hierarchy.exportNodes({ params: { id }, query: { format: 'csv' } })) as string
      assert.match(csv, /'=Miller/)
      const copy = await createHierarchy(operator, 'Exchange copy')
      const second = await operator.hierarchy.importNodes({ params: { id: copy }, body: { data: { csv } } })
      assert.equal(second.data.created, 4)
      assert.deepEqual(await exportedNodes(viewer, copy), nodes)
      const again = await operator.hierarchy.importNodes({ params: { id: copy }, body: { data: { csv } } })
      assert.deepEqual(again.data, { created: 0, updated: 0, unchanged: 4, defaultTypes: 0, dryRun: false })
    })

    test('exports siblings with the same name so that an import restores them', async () => {
      const id = await createHierarchy(operator, 'Same names')
      const [first, second] = [await createNode(operator, id, 'D'), await createNode(operator, id, 'D')]
      await createNode(operator, id, 'c1', { parentId: first.id, type: 'cell' })
      await createNode(operator, id, 'c2', { parentId: second.id })
      await createNode(operator, id, 'E')
      await operator.hierarchy.updateNode({ params: { id: second.id }, body: { data: { properties: { k: '2' } } } })
      const exported = await exportedNodes(viewer, id)
      assert.deepEqual(exported, [
        { path: ['D'], occurrences: [1] },
        { path: ['D', 'c1'], occurrences: [1, 1], type: 'cell' },
        { path: ['D'], occurrences: [2], properties: { k: '2' } },
        { path: ['D', 'c2'], occurrences: [2, 1] },
        { path: ['E'] },
      ])
      const csv = String(await viewer.hierarchy.exportNodes({ params: { id }, query: { format: 'csv' } }))
      const [header, ...rows] = csv.trimEnd().split('\r\n')
      assert.equal(header, 'Path,Occurrences,Type,Property: k')
      for (const [name, body] of [
        ['JSON', { data: { nodes: exported } }],
        ['CSV', { data: { csv } }],
        ['sorted CSV', { data: { csv: [header, ...rows.toSorted()].join('\n') } }],
      ] as const) {
        const copy = await createHierarchy(operator, `Same names from ${name}`)
        await operator.hierarchy.importNodes({ params: { id: copy }, body })
        assert.deepEqual(await exportedNodes(viewer, copy), exported, name)
        const again = await operator.hierarchy.importNodes({ params: { id: copy }, body })
        assert.deepEqual(again.data, { created: 0, updated: 0, unchanged: 5, defaultTypes: 0, dryRun: false })
      }
      for (const [row, pointer] of [
        [{ path: ['D', 'x'] }, '/data/nodes/0/path'],
        [{ path: ['D'], occurrences: [4] }, '/data/nodes/0/occurrences'],
        [{ path: ['D', 'x'], occurrences: [1] }, '/data/nodes/0/occurrences'],
      ] as const) {
        const body = { data: { nodes: [row] } }
        const answer = await operator.exchange(hierarchy, 'importNodes', { params: { id }, body })
        assert.equal(answer.status, 400)
        assert.equal(problemIn(answer).errors?.[0]?.pointer, pointer)
      }
    })

    test('keeps a type and properties that have no column in the file, and removes those with an empty cell', async () => {
      const id = await createHierarchy(operator, 'Columns of an import')
      const original = { path: ['A'], type: 'area', properties: { k: '1', m: '2' } }
      await operator.hierarchy.importNodes({ params: { id }, body: { data: { nodes: [original] } } })
      const after = async (data: { csv: string } | { nodes: object[] }) => {
        await operator.hierarchy.importNodes({ params: { id }, body: { data } as never })
        return (await exportedNodes(viewer, id))[0]
      }
      assert.deepEqual(await after({ csv: 'Path\nA\n' }), original)
      assert.deepEqual(await after({ csv: 'Path,Property: k\nA,9\n' }), { ...original, properties: { k: '9', m: '2' } })
      assert.deepEqual(await after({ csv: 'Path,Property: m\nA,\n' }), { ...original, properties: { k: '9' } })
      assert.deepEqual(await after({ csv: 'Path,Property: k\nA,\n' }), { path: ['A'], type: 'area' })
      assert.deepEqual(await after({ csv: 'Path,Type\nA,\n' }), { path: ['A'] })
      assert.deepEqual(await after({ nodes: [original] }), original)
      assert.deepEqual(await after({ nodes: [{ path: ['A'], type: null, properties: {} }] }), { path: ['A'] })
    })

    test('gives a node of a template the next level when its type is removed', async () => {
      const id = await createHierarchy(operator, 'Default types', 'plant')
      const site = await createNode(operator, id, 'A', { type: 'building' })
      const removed = await operator.hierarchy.updateNode({ params: { id: site.id }, body: { data: { type: null } } })
      assert.equal(removed.data.type, 'site')
      const line = await createNode(operator, id, 'B', { parentId: site.id, type: 'line' })
      for (const data of [{ csv: 'Path,Type\nA/B,\n' }, { nodes: [{ path: ['A', 'B'], type: null }] }]) {
        const imported = await operator.hierarchy.importNodes({ params: { id }, body: { data } })
        assert.equal(imported.data.defaultTypes, 1)
        assert.equal((await viewer.hierarchy.readNode({ params: { id: line.id } })).data.type, 'building')
      }
    })

    test('imports the contents of a node that follows the nodes below it', async () => {
      const id = await createHierarchy(operator, 'Children first')
      const csv = 'Path,Type\nA/B,line\nA,site\n'
      const { data } = await operator.hierarchy.importNodes({ params: { id }, body: { data: { csv } } })
      assert.equal(data.created, 2)
      const { data: top } = await viewer.hierarchy.listNodes({ params: { id } })
      assert.equal(top[0]?.type, 'site')
    })

    test('sends a file with the media type and the name, in the format of the query or of the Accept header', async () => {
      const id = await createHierarchy(operator, 'Halle "Süd"')
      await createNode(operator, id, 'A')
      for (const [query, accept, type] of [
        ['', '*/*', 'application/json'],
        ['', 'text/csv, application/json', 'text/csv'],
        ['', 'text/csv;q=0.1, application/json', 'application/json'],
        ['', 'application/json;q=0.5, text/*;q=0.8', 'text/csv'],
        ['', 'application/json, text/csv;q=0', 'application/json'],
        ['?format=csv', 'application/json', 'text/csv'],
      ] as const) {
        const path = `/hierarchy/v1/hierarchies/${id}/export${query}`
        const headers = { accept, authorization: `Bearer ${viewer.token}` }
        const answer = await hub.request({ method: 'GET', path, headers })
        assert.equal(answer.headers.get('content-type'), `${type}; charset=utf-8`)
        const extension = type === 'text/csv' ? 'csv' : 'json'
        assert.equal(
          answer.headers.get('content-disposition'),
          `attachment; filename="Halle _S_d_.${extension}"; filename*=UTF-8''Halle%20%22S%C3%BCd%22.${extension}`,
        )
      }
    })

    test('shows the changes of an import without making them', async () => {
      const id = await createHierarchy(operator, 'Dry run')
      await createNode(operator, id, 'Site')
      const csv = 'Path;Type\r\nSite;site\r\nSite/Line;\r\n'
      const { data } = await operator.hierarchy.importNodes({ params: { id }, body: { data: { csv, dryRun: true } } })
      assert.deepEqual(data, { created: 1, updated: 1, unchanged: 0, defaultTypes: 0, dryRun: true })
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

function cursorOf(text: string, topId: string, name: string): string {
  return Buffer.from(JSON.stringify([text, topId, name, v7()])).toString('base64url')
}
