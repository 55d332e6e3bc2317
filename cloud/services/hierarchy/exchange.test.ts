import assert from 'node:assert/strict'
import { finished } from 'node:stream/promises'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import type { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { systemCaller } from '../../platform/access/system.ts'
import { createLog } from '../../platform/log.ts'
import { type ExportedNode, nodesInCsv } from './csv-nodes.ts'
import { childrenOf, csvLines, exportedNodes, printedTree, propertyNames } from './exchange.ts'
import { fileStream, printToFile } from './export-file.ts'
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

test('names the first ten rows with a wrong type or a repeated path, in the order of the lines', async () => {
  const plant = { ...hierarchy, template: 'plant' as const }
  const rows = ['Site,site', 'Site/a,desk', 'Site/a/b,cell', 'Site,site', ...Array(12).fill('Site/a,desk')]
  const csv = `Path,Type\n${rows.map((row, index) => (index < 4 ? row : `${row.replace('a', `${index}`)}`)).join('\n')}\n`
  const importCsv = async () => planImport(tenantId, plant, { rows: await nodesInCsv(csv, tenantId), pages: [] })
  await assert.rejects(importCsv, (error: Problem) => {
    const lines = error.errors?.map(({ code, detail }) => [/^Line (\d+):/.exec(detail)?.[1], code])
    const types = [6, 7, 8, 9, 10, 11, 12, 13].map((line) => [`${line}`, 'invalid_node_type'])
    assert.deepEqual(lines, [['3', 'invalid_node_type'], ['5', 'invalid_body'], ...types])
    assert.deepEqual([error.code, error.message], ['invalid_node_type', error.errors?.[0]?.detail])
    return true
  })
  const json = nodesInJson([
    { path: ['a'], type: 'desk' },
    { path: ['b'] },
    { path: ['b'] },
    { path: ['c'], type: 'x' },
  ])
  await assert.rejects(planImport(tenantId, plant, { rows: json, pages: [] }), (error: Problem) => {
    const pointers = error.errors?.map(({ pointer }) => pointer)
    assert.deepEqual(pointers, ['/data/nodes/0/type', '/data/nodes/2/path', '/data/nodes/3/type'])
    return true
  })
})

test('names all nodes of JSON with a wrong number of occurrences', () => {
  const wrong = { path: ['a'], occurrences: [1, 1] }
  assert.throws(
    () => nodesInJson([wrong, { path: ['b'] }, wrong]),
    (error: Problem) => {
      const pointers = error.errors?.map(({ pointer }) => pointer)
      assert.deepEqual(pointers, ['/data/nodes/0/occurrences', '/data/nodes/2/occurrences'])
      return true
    },
  )
})

test('stores no empty cells of a CSV file with many columns', async () => {
  const columns = Array.from({ length: hierarchyLimits.csvProperties }, (_, index) => `Property: ${index}`)
  const rows = Array.from({ length: 2_000 }, (_, index) => `node ${index}${','.repeat(columns.length)}`)
  const csv = [`Path,${columns.join(',')}`, ...rows].join('\n')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const usedBytes = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = usedBytes()
  const nodes = await nodesInCsv(csv, tenantId)
  const mebibytes = (usedBytes() - before) / 2 ** 20
  assert.ok(mebibytes < 4, `${mebibytes} MiB`)
  assert.deepEqual(nodes[0]?.propertiesAfter({ 0: 'removed', other: 'unchanged' }), { other: 'unchanged' })
})

async function* textOf(text: string): AsyncGenerator<string> {
  yield text
}

const lines: string[] = []
const sending = {
  caller: systemCaller({ tenantId, tenantName: '' }),
  log: createLog({ level: 'warn', to: { write: (line) => lines.push(line) } }),
  hierarchyId: hierarchy.id,
  sendMs: 60_000,
}

test('refuses an export that is larger than the limit', async () => {
  const file = await printToFile(textOf('äb'), { maxBytes: 3 })
  assert.equal(file.bytes, 3)
  assert.equal((await Array.fromAsync(await fileStream(file, sending))).join(''), 'äb')
  await assert.rejects(printToFile(textOf('äb'), { maxBytes: 2 }), { code: 'conflict' })
})

test('refuses a tree for the export service whose text would need too much memory', async () => {
  let read = 0
  async function* nodes(): AsyncGenerator<ExportedNode> {
    for (;;) {
      read += 1
      yield { path: ['x'.repeat(1024 * 1024)] }
    }
  }
  await assert.rejects(printedTree('Plant', nodes()), (problem: Problem) => {
    assert.equal(problem.code, 'conflict')
    assert.match(problem.message, /"Plant" have more than 67108864 bytes.*hierarchies\/\{id\}\/export/)
    return true
  })
  assert.equal(read, hierarchyLimits.exportTreeBytes / (1024 * 1024))
})

test('names the folder for temporary files when it has no space for an export', async () => {
  async function* full(): AsyncGenerator<string> {
    yield 'a'
    throw Object.assign(new Error('write failed'), { code: 'ENOSPC' })
  }
  await assert.rejects(printToFile(full()), {
    code: 'unavailable',
    message: /^The folder for temporary files has no space/,
  })
})

test('ends an export that its client has not read in time, and logs it', async () => {
  const stream = await fileStream(await printToFile(textOf('a')), { ...sending, sendMs: 1 })
  await assert.rejects(finished(stream), /has not read the export within/)
  assert.match(lines.join(''), new RegExp(`${hierarchy.id}.*An export was ended before its client has read it`))
})

test('limits the size of the exports that a user has not read completely', async () => {
  const { caller } = sending
  const large = async (id = caller.principal.id) => {
    const file = { ...(await printToFile(textOf('a'))), bytes: hierarchyLimits.unreadExportBytes / 2 }
    return fileStream(file, { ...sending, caller: { ...caller, principal: { ...caller.principal, id } } })
  }
  const [first, second] = [await large(), await large()]
  await assert.rejects(large(), { code: 'overloaded' })
  const ofOther = await large(v7())
  first.destroy()
  await finished(first, { error: false }).catch(() => undefined)
  const third = await large()
  for (const stream of [second, third, ofOther]) stream.destroy()
})
