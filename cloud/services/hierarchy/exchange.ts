import type { ExportedNode as ExportedTreeNode } from '@millwright/api/export-columns.ts'
import { type hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import type { Database, Handle } from '../../platform/database/database.ts'
import { lowestId } from '../../platform/database/id.ts'
import { createYield } from '../../platform/event-loop.ts'
import { exportedPage } from '../../platform/export-page.ts'
import { attachment } from '../../platform/files/attachment.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { type ExportedNode, nodesInCsv, printHeader, printNode } from './csv-nodes.ts'
import { fileStream, printToFile } from './export-file.ts'
import { getHierarchy, lockedHierarchy, reportHierarchy } from './hierarchies.ts'
import { type ImportPlan, invalidImport, nodesInJson, planImport } from './import-plan.ts'
import * as store from './node-store.ts'
import { listHierarchies, type TreeRow } from './node-store.ts'
import * as writes from './node-write-store.ts'
import { bySiblingOrder } from './rank-store.ts'

/**
 * Import and export of the nodes of a hierarchy. A node is identified by the names on its path. Large trees are read and
 * written in parts, so that other requests do not wait.
 */

/** The number of nodes that one statement reads. */
const pageNodes = 5_000
/** The number of characters of one part of an export. */
const partCharacters = 64 * 1024
/** How often a tree is read again if it changes during the read, before it is locked. */
const readAttempts = 3

/** The number of exports of a tenant that may wait, and the number of its imports. */
const waiting = 16

/**
 * Each import, and each export until it is printed, has a whole tree in memory. So a tenant runs only a few of them at
 * once. Imports and exports do not wait for each other.
 */
function treeSemaphore(what: string, perKey: number): Semaphore {
  return new Semaphore({
    capacity: Number.POSITIVE_INFINITY,
    perKey,
    waitingPerKey: waiting,
    refusal: `${waiting} ${what} of this tenant are already waiting. Send fewer requests at the same time`,
  })
}

const runningExports = treeSemaphore('exports', hierarchyLimits.concurrentExports)
const runningImports = treeSemaphore('imports and dry runs', hierarchyLimits.concurrentImports)

export function exchangeHandlers({
  database,
  log,
}: Context): Pick<Handlers<typeof hierarchy>, 'exportNodes' | 'exportTree' | 'importNodes'> {
  return {
    async exportNodes({ params: { id }, headers: { accept }, query: { format = acceptedFormat(accept) } }, caller) {
      const { tenantId } = caller
      const { name, file } = await runningExports.run(tenantId, async () => {
        const { row, pages } = await readNodes(database, caller, id)
        const tree = { tenantId, hierarchyId: id, children: await childrenOf(tenantId, pages) }
        const lines = format === 'csv' ? csvLines(tree, await propertyNames(tree)) : jsonLines(tree)
        return { name: row.name, file: await printToFile(inParts(lines)) }
      })
      return answer(200, await fileStream(file, { caller, log, hierarchyId: id }), {
        'content-type': `${format === 'csv' ? 'text/csv' : 'application/json'}; charset=utf-8`,
        'content-length': String(file.bytes),
        'content-disposition': attachment(`${name}.${format}`),
        vary: 'accept',
      })
    },

    async exportTree({ body: { data } }, caller) {
      requirePermission(caller, 'glb_hierarchy_read')
      const { tenantId } = caller
      const number = Number(data.cursor ?? 0)
      const { rows, total } = await database.read(caller, async (handle) =>
        data.hierarchyId === undefined
          ? listHierarchies(handle, { limit: 1, offset: number })
          : { rows: [await getHierarchy(handle, data.hierarchyId)], total: 1 },
      )
      const next = number + 1 < total ? { nextCursor: String(number + 1) } : {}
      const [shown] = rows
      if (shown === undefined) return exportedPage({ elements: 0, ...next }, [])
      const lines = await runningExports.run(tenantId, async () => {
        const { pages } = await readNodes(database, caller, shown.id)
        const tree = { tenantId, hierarchyId: shown.id, children: await childrenOf(tenantId, pages) }
        return printedTree(shown.name, exportedNodes(tree))
      })
      return exportedPage({ elements: lines.length, ...next }, lines)
    },

    async importNodes({ params: { id }, body: { data } }, caller) {
      const { csv, nodes, dryRun = false } = data
      const { tenantId } = caller
      if ((csv === undefined) === (nodes === undefined)) throw invalidImport('/data', 'Send either csv or nodes')
      return runningImports.run(tenantId, async () => {
        const rows = csv === undefined ? nodesInJson(nodes ?? []) : await nodesInCsv(csv, tenantId)
        // A dry run holds no lock and no connection while it plans, so that other requests do not wait for it.
        if (dryRun) {
          const { row, pages } = await readNodes(database, caller, id)
          return { data: { ...countsOf(await planImport(tenantId, row, { rows, pages })), dryRun } }
        }
        return database.transaction(caller, async (tx) => {
          const row = await lockedHierarchy(tx, id)
          const plan = await planImport(tenantId, row, { rows, pages: await allPages(tx, id) })
          const now = new Date().toISOString()
          const added = await writes.insertNodes(tx, row, plan.created, now)
          await writes.updateNodes(tx, { id, propertyBytes: row.propertyBytes + added }, plan.updated, now)
          const detail = countsOf(plan)
          await reportHierarchy(tx, caller, { action: 'importNodes', event: 'imported', row, detail })
          return { data: { ...detail, dryRun } }
        })
      })
    },
  }
}

/** Returns the JSON text of each node. The text is in memory, so its size is limited. */
export async function printedTree(hierarchyName: string, nodes: AsyncIterable<ExportedNode>): Promise<string[][]> {
  const { exportTreeBytes } = hierarchyLimits
  const printed: string[][] = []
  let bytes = 0
  for await (const node of nodes) {
    const text = JSON.stringify({ hierarchy: hierarchyName, ...node } satisfies ExportedTreeNode)
    bytes += Buffer.byteLength(text)
    if (bytes > exportTreeBytes)
      throw new Problem(
        'conflict',
        `The nodes of hierarchy "${hierarchyName}" have more than ${exportTreeBytes} bytes as text, which is the limit. Use the export of this hierarchy (GET /hierarchy/v1/hierarchies/{id}/export)`,
      )
    printed.push([text])
  }
  return printed
}

function countsOf({ created, updated, unchanged, defaultTypes }: ImportPlan) {
  return { created: created.length, updated: updated.length, unchanged, defaultTypes }
}

/** Returns the format with the higher quality in the `Accept` header (RFC 9110), otherwise the one that is named first. */
function acceptedFormat(accept = ''): 'csv' | 'json' {
  const ranges = accept.split(',').map((range) => {
    const [name = '', ...parameters] = range.toLowerCase().split(';')
    const quality = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1]).find(Boolean)
    return { name: name.trim(), quality: Number(quality ?? 1) }
  })
  const qualityOf = (name: string) => {
    const names = [name, name.replace(/\/.*/, '/*'), '*/*']
    return names.map((one) => ranges.find((range) => range.name === one)).find(Boolean)?.quality ?? 0
  }
  const difference = qualityOf('text/csv') - qualityOf('application/json')
  if (difference !== 0) return difference > 0 ? 'csv' : 'json'
  const first = ranges.find(({ name }) => name === 'text/csv' || name === 'application/json')
  return first?.name === 'text/csv' && first.quality > 0 ? 'csv' : 'json'
}

/** The nodes of a hierarchy by their parent. Siblings are in order. */
type Tree = { tenantId: string; hierarchyId: string; children: ReadonlyMap<string, readonly TreeRow[]> }

type NodePages = { row: store.HierarchyRow; pages: TreeRow[][] }

/** Reads all nodes of a hierarchy in pages. If the tree changes meanwhile, it is read again, and at last with a lock. */
async function readNodes(database: Database, caller: Caller, hierarchyId: string): Promise<NodePages> {
  for (let attempt = 1; attempt < readAttempts; attempt++) {
    const row = await database.read(caller, (handle) => getHierarchy(handle, hierarchyId))
    // Each page has its own read, so that no connection is held while a large tree is read.
    const pages = await readPages((after) =>
      database.read(caller, (handle) => store.listTreeRows(handle, hierarchyId, { after, limit: pageNodes })),
    )
    const after = await database.read(caller, (handle) => getHierarchy(handle, hierarchyId))
    if (after.structure === row.structure) return { row, pages }
  }
  return database.transaction(caller, async (tx) => ({
    row: await lockedHierarchy(tx, hierarchyId),
    pages: await allPages(tx, hierarchyId),
  }))
}

async function readPages(read: (after: { name: string; id: string }) => Promise<TreeRow[]>): Promise<TreeRow[][]> {
  const pages: TreeRow[][] = []
  for (let page: TreeRow[] | undefined; page === undefined || page.length === pageNodes; pages.push(page))
    page = await read(page?.at(-1) ?? { name: '', id: lowestId })
  return pages
}

/** Returns all nodes of a locked hierarchy. */
function allPages(handle: Handle, hierarchyId: string): Promise<TreeRow[][]> {
  return readPages((after) => store.listTreeRows(handle, hierarchyId, { after, limit: pageNodes }))
}

export async function childrenOf(tenantId: string, pages: readonly TreeRow[][]): Promise<Map<string, TreeRow[]>> {
  const yieldTurn = createYield(tenantId)
  const children = new Map<string, TreeRow[]>()
  for (const page of pages) {
    for (const row of page) {
      const siblings = children.get(row.parentId)
      if (siblings === undefined) children.set(row.parentId, [row])
      else siblings.push(row)
    }
    await yieldTurn()
  }
  for (const siblings of children.values()) {
    siblings.sort(bySiblingOrder)
    await yieldTurn()
  }
  return children
}

/** Returns the nodes with their paths, in the order of a printed tree. */
export async function* exportedNodes({ tenantId, hierarchyId, children }: Tree): AsyncGenerator<ExportedNode> {
  const yieldTurn = createYield(tenantId)
  const levelOf = (parentId: string, path: string[], occurrences: number[], isUnique: boolean) => {
    const rows = children.get(parentId) ?? []
    return { path, occurrences, isUnique, rows, next: 0, numbers: occurrencesIn(rows) }
  }
  const open = [levelOf(hierarchyId, [], [], true)]
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const row = level.rows[level.next++]
    if (row === undefined) {
      open.pop()
      continue
    }
    const { id, name, type } = row
    const path = [...level.path, name]
    const occurrences = [...level.occurrences, level.numbers.get(id) ?? 1]
    const isUnique = level.isUnique && !level.numbers.has(id)
    const properties = Object.entries(row.properties).filter(([, value]) => value !== '')
    yield {
      path,
      ...(isUnique ? {} : { occurrences }),
      ...(type === null ? {} : { type }),
      ...(properties.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
    }
    open.push(levelOf(id, path, occurrences, isUnique))
    await yieldTurn()
  }
}

/** Returns the numbers of the siblings that share their name with another one, by id. */
function occurrencesIn(siblings: readonly TreeRow[]): Map<string, number> {
  const numbers = new Map<string, number>()
  const groups = Map.groupBy(siblings, ({ name }) => name)
  if (groups.size === siblings.length) return numbers
  for (const same of groups.values())
    if (same.length > 1) for (const [index, { id }] of same.entries()) numbers.set(id, index + 1)
  return numbers
}

async function* jsonLines(tree: Tree): AsyncGenerator<string> {
  yield '{\n  "data": {\n  "nodes": ['
  let isFirst = true
  for await (const node of exportedNodes(tree)) {
    yield `${isFirst ? '' : ','}\n    ${JSON.stringify(node)}`
    isFirst = false
  }
  yield `${isFirst ? '' : '\n  '}]\n  }\n}\n`
}

/** Returns the names of all properties in order. Each name is a column of the CSV file. */
export async function propertyNames({ tenantId, children }: Tree): Promise<string[]> {
  const yieldTurn = createYield(tenantId)
  const names = new Set<string>()
  for (const siblings of children.values()) {
    for (const { properties } of siblings)
      for (const [name, value] of Object.entries(properties)) if (value !== '') names.add(name)
    if (names.size > hierarchyLimits.csvProperties)
      throw new Problem(
        'conflict',
        `The nodes have more than ${hierarchyLimits.csvProperties} different properties, which is the limit of a CSV file. Export the hierarchy as JSON`,
      )
    await yieldTurn()
  }
  return [...names].toSorted()
}

export async function* csvLines(tree: Tree, properties: readonly string[]): AsyncGenerator<string> {
  const header = { hasOccurrences: await hasEqualNames(tree), properties }
  yield printHeader(header)
  for await (const node of exportedNodes(tree)) yield printNode(node, header)
}

async function hasEqualNames({ tenantId, children }: Tree): Promise<boolean> {
  const yieldTurn = createYield(tenantId)
  for (const siblings of children.values()) {
    if (new Set(siblings.map(({ name }) => name)).size < siblings.length) return true
    await yieldTurn()
  }
  return false
}

/** Joins short texts, so that each part is worth its write. */
async function* inParts(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let part: string[] = []
  let characters = 0
  for await (const text of texts) {
    part.push(text)
    characters += text.length
    if (characters < partCharacters) continue
    yield part.join('')
    part = []
    characters = 0
  }
  if (part.length > 0) yield part.join('')
}
