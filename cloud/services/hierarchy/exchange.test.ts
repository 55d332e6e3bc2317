import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import type { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { type ExportedNode, nodesInCsv } from './csv-nodes.ts'
import { childrenOf, csvLines, exportedNodes, propertyNames } from './exchange.ts'
import { type ImportedNode, nodesInJson, planImport } from './import-plan.ts'
import type { TreeRow } from './node-store.ts'
import { rankGap } from './rank-store.ts'

const tenantId = v7()
const hierarchy = { id: v7(), template: null, nodes: 0 }

/** Names with the characters that paths and CSV treat specially. Few different names, so that siblings share them. */
const name = fc.constantFrom('a', 'b', 'a/b', '\\', "'a", '=a', 'a;"b"', '[1]', '1|2', '😀')
const value = fc.string({ unit: fc.constantFrom('x', ' ', '"', ',', '\n', '\r', "'", '-', '😀'), minLength: 1 })
const node = fc.record({
  parent: fc.nat(),
  name,
  type: fc.option(fc.constantFrom('site', ' line', '+')),
  properties: fc.dictionary(fc.constantFrom('k', 'Path', ' k', 'a;b'), value, { maxKeys: 3, noNullPrototype: true }),
})

/** Returns the rows of a random tree. The parent of a node is the hierarchy or one of the nodes before it. */
function rowsOf(
  nodes: readonly (Omit<TreeRow, 'id' | 'parentId' | 'rank' | 'tail'> & { parent: number })[],
): TreeRow[] {
  const ids = [hierarchy.id]
  return nodes.map(({ parent, ...content }, index) => {
    const id = v7()
    const parentId = ids[parent % ids.length] ?? hierarchy.id
    // The paths of an import are limited to 32 levels, so only the first nodes have children.
    if (ids.length < 20) ids.push(id)
    return { id, parentId, rank: (index + 1) * rankGap, tail: '', ...content }
  })
}

async function treeOf(rows: TreeRow[]) {
  return { tenantId, hierarchyId: hierarchy.id, children: await childrenOf(tenantId, [rows]) }
}

async function exported(rows: TreeRow[]): Promise<ExportedNode[]> {
  return Array.fromAsync(exportedNodes(await treeOf(rows)))
}

async function csvOf(rows: TreeRow[]): Promise<string> {
  const tree = await treeOf(rows)
  return (await Array.fromAsync(csvLines(tree, await propertyNames(tree)))).join('')
}

const formats: [string, (rows: TreeRow[]) => Promise<ImportedNode[]>][] = [
  ['JSON', async (rows) => nodesInJson(await exported(rows))],
  ['CSV', async (rows) => nodesInCsv(await csvOf(rows), tenantId)],
]

for (const [format, readBack] of formats)
  test(`restores a random tree from its export as ${format}, and changes nothing in the original tree`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(node, { maxLength: 30 }), async (nodes) => {
        const original = rowsOf(nodes)
        const rows = await readBack(original)
        const restored = await planImport(tenantId, hierarchy, { rows, pages: [] })
        assert.deepEqual(await exported(restored.created), await exported(original))
        const again = await planImport(tenantId, hierarchy, { rows, pages: [original] })
        assert.deepEqual([again.created, again.updated, again.unchanged], [[], [], original.length])
      }),
      { numRuns: 200 },
    )
  })

test('restores siblings with the same name from rows in any order', async () => {
  const rows = nodesInJson([
    { path: ['a', 'x'], occurrences: [3, 1] },
    { path: ['a'], occurrences: [3], type: 'third' },
    { path: ['a'], occurrences: [1], type: 'first' },
    { path: ['a'], occurrences: [2], type: 'second' },
  ])
  const { created } = await planImport(tenantId, hierarchy, { rows, pages: [] })
  assert.deepEqual(
    (await exported(created)).map(({ path, type }) => [path.length, type]),
    [
      [1, 'first'],
      [1, 'second'],
      [1, 'third'],
      [2, undefined],
    ],
  )
})

test('refuses a file with too many nodes while it reads the paths', async () => {
  const levels = Array.from({ length: hierarchyLimits.levels - 1 }, (_, level) => `level ${level}`)
  const rows = nodesInJson(Array.from({ length: 700 }, (_, index) => ({ path: [`node ${index}`, ...levels] })))
  await assert.rejects(planImport(tenantId, hierarchy, { rows, pages: [] }), { code: 'invalid_body' })
  const { nodesPerHierarchy } = hierarchyLimits
  const full = { ...hierarchy, nodes: nodesPerHierarchy - 10 }
  await assert.rejects(planImport(tenantId, full, { rows, pages: [] }), {
    code: 'conflict',
    message: `The hierarchy would have ${nodesPerHierarchy + 1} nodes. The limit is ${nodesPerHierarchy}`,
  })
})

test('names the first ten invalid rows of a CSV file', async () => {
  const csv = `Path\nSite\n${'/x\n'.repeat(12)}`
  await assert.rejects(nodesInCsv(csv, tenantId), (error: Problem) => {
    assert.equal(error.errors?.length, 10)
    assert.deepEqual([error.errors?.[0]?.detail, error.message], [error.message, error.errors?.[0]?.detail])
    assert.match(error.errors?.at(-1)?.detail ?? '', /^Line 12: a name in the path/)
    return true
  })
})
