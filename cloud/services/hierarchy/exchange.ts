import { namePattern } from '@millwright/api/envelope.ts'
import { type hierarchy, hierarchyLimits, nodeTypePattern, type PathRow } from '@millwright/api/hierarchy.ts'
import { joinPath, splitPath } from '@millwright/api/hierarchy-path.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Database, Handle } from '../../platform/database/database.ts'
import { lowestId, newId } from '../../platform/database/id.ts'
import { createYield } from '../../platform/event-loop.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { type CsvRow, parseCsv, printCsvRow } from './csv.ts'
import { getHierarchy, lockedHierarchy, reportHierarchy } from './hierarchies.ts'
import type { NodeRow, TreeRow } from './node-store.ts'
import * as store from './node-store.ts'
import { requireLevels, requireNodes, typeBelow } from './tree.ts'

/**
 * Import and export of the nodes of a hierarchy. A node is identified by the names on its path. Large trees are read and
 * written in parts, so that other requests do not wait.
 */

const propertyPrefix = 'Property: '
/** The number of nodes that one statement reads. */
const pageNodes = 5_000
/** The number of characters of one part of an export. */
const partCharacters = 64 * 1024
/** The maximum number of characters of a cell. A path with the maximum number of names has at most half of them. */
const cellCharacters = 16_384
/** How often a tree is read again if it changes during the read, before it is locked. */
const readAttempts = 3

export function exchangeHandlers({
  database,
}: Context): Pick<Handlers<typeof hierarchy>, 'exportNodes' | 'importNodes'> {
  return {
    async exportNodes({ params: { id }, query: { format = 'json' } }, caller) {
      const tree = await readTree(database, caller, id)
      return inParts(format === 'csv' ? csvLines(tree, await propertyNames(tree)) : jsonLines(tree))
    },

    async importNodes({ params: { id }, body: { data } }, caller) {
      const { csv, nodes, dryRun = false } = data
      if ((csv === undefined) === (nodes === undefined)) throw invalid('/data', 'Send either csv or nodes')
      const rows = csv === undefined ? (nodes ?? []) : await rowsOf(csv, caller.tenantId)
      if (rows.length > hierarchyLimits.nodesImported)
        throw invalid('/data/csv', `The file has ${rows.length} nodes. The limit is ${hierarchyLimits.nodesImported}`)
      // A dry run takes no lock, so that changes and counts of the hierarchy do not wait for it.
      if (dryRun) {
        const plan = await database.read(caller, async (handle) => planOf(handle, await getHierarchy(handle, id), rows))
        return { data: { ...countsOf(plan), dryRun } }
      }
      return database.transaction(caller, async (tx) => {
        const tree = await lockedHierarchy(tx, id)
        const plan = await planOf(tx, tree, rows)
        const now = new Date().toISOString()
        await store.insertNodes(tx, id, plan.created, now)
        await store.updateNodes(tx, id, plan.updated, now)
        const detail = countsOf(plan)
        await reportHierarchy(tx, caller, { action: 'importNodes', event: 'imported', row: tree, detail })
        return { data: { ...detail, dryRun } }
      })
    },
  }
}

function invalid(pointer: string, detail: string): Problem {
  return new Problem('invalid_body', detail, { errors: [{ pointer, code: 'invalid_body', detail }] })
}

/** The nodes of a hierarchy by their parent. Siblings are in order. */
type Tree = { tenantId: string; hierarchyId: string; children: ReadonlyMap<string, readonly TreeRow[]> }

/** Reads all nodes of a hierarchy in pages. If the tree changes meanwhile, it is read again, and at last with a lock. */
async function readTree(database: Database, caller: Caller, hierarchyId: string): Promise<Tree> {
  const { tenantId } = caller
  for (let attempt = 1; attempt < readAttempts; attempt++) {
    const { structure } = await database.read(caller, (handle) => getHierarchy(handle, hierarchyId))
    // Each page has its own read, so that no connection is held during the whole export.
    const pages = await readPages((after) =>
      database.read(caller, (handle) => store.listTreeRows(handle, hierarchyId, { after, limit: pageNodes })),
    )
    const after = await database.read(caller, (handle) => getHierarchy(handle, hierarchyId))
    if (after.structure === structure) return { tenantId, hierarchyId, children: await childrenOf(tenantId, pages) }
  }
  return database.transaction(caller, async (tx) => {
    await lockedHierarchy(tx, hierarchyId)
    return { tenantId, hierarchyId, children: await childrenOf(tenantId, await allPages(tx, hierarchyId)) }
  })
}

async function readPages(read: (after: { name: string; id: string }) => Promise<TreeRow[]>): Promise<TreeRow[][]> {
  const pages: TreeRow[][] = []
  for (let page: TreeRow[] | undefined; page === undefined || page.length === pageNodes; pages.push(page))
    page = await read(page?.at(-1) ?? { name: '', id: lowestId })
  return pages
}

/** Returns all nodes of a hierarchy. Without a lock, changes during the read may be visible in part. */
function allPages(handle: Handle, hierarchyId: string): Promise<TreeRow[][]> {
  return readPages((after) => store.listTreeRows(handle, hierarchyId, { after, limit: pageNodes }))
}

async function childrenOf(tenantId: string, pages: readonly TreeRow[][]): Promise<Map<string, TreeRow[]>> {
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
    siblings.sort((one, other) => one.rank - other.rank || (one.id < other.id ? -1 : 1))
    await yieldTurn()
  }
  return children
}

/** Returns the nodes with their paths, in the order of a printed tree. */
async function* pathRows({ tenantId, hierarchyId, children }: Tree): AsyncGenerator<PathRow> {
  const yieldTurn = createYield(tenantId)
  const open = [{ path: [] as string[], rows: children.get(hierarchyId) ?? [], next: 0 }]
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const row = level.rows[level.next++]
    if (row === undefined) {
      open.pop()
      continue
    }
    const { id, name, type, properties } = row
    const path = [...level.path, name]
    const hasProperties = Object.keys(properties).length > 0
    yield { path, ...(type === null ? {} : { type }), ...(hasProperties ? { properties } : {}) }
    open.push({ path, rows: children.get(id) ?? [], next: 0 })
    await yieldTurn()
  }
}

async function* jsonLines(tree: Tree): AsyncGenerator<string> {
  yield '{\n  "nodes": ['
  let isFirst = true
  for await (const row of pathRows(tree)) {
    yield `${isFirst ? '' : ','}\n    ${JSON.stringify(row)}`
    isFirst = false
  }
  yield `${isFirst ? '' : '\n  '}]\n}\n`
}

/** Returns the names of all properties in order. Each name is a column of the CSV file. */
async function propertyNames({ tenantId, children }: Tree): Promise<string[]> {
  const yieldTurn = createYield(tenantId)
  const names = new Set<string>()
  for (const siblings of children.values()) {
    for (const { properties } of siblings) for (const name of Object.keys(properties)) names.add(name)
    if (names.size > hierarchyLimits.csvProperties)
      throw new Problem(
        'conflict',
        `The nodes have more than ${hierarchyLimits.csvProperties} different properties, which is the limit of a CSV file. Export the hierarchy as JSON`,
      )
    await yieldTurn()
  }
  return [...names].toSorted()
}

async function* csvLines(tree: Tree, names: readonly string[]): AsyncGenerator<string> {
  yield printCsvRow(['Path', 'Type', ...names.map((name) => propertyPrefix + name)])
  for await (const { path, type = '', properties = {} } of pathRows(tree))
    yield printCsvRow([
      joinPath(path),
      type,
      ...names.map((name) => (Object.hasOwn(properties, name) ? (properties[name] ?? '') : '')),
    ])
}

/** Joins short texts, so that each part of a response is worth its write. */
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

/** Reads the rows of a CSV file. Throws with the line of the first invalid row. */
async function rowsOf(text: string, tenantId: string): Promise<PathRow[]> {
  const yieldTurn = createYield(tenantId)
  const [header, ...lines] = await parseCsv(text, {
    invalid: (line, detail) => invalid('/data/csv', `Line ${line}: ${detail}`),
    yieldTurn,
    limits: {
      rows: hierarchyLimits.nodesImported + 1,
      cells: hierarchyLimits.csvProperties + 2,
      characters: cellCharacters,
    },
  })
  const columns = columnsIn(header?.cells ?? [])
  const rows: PathRow[] = []
  for (const line of lines) {
    rows.push(rowOf(line, columns))
    await yieldTurn()
  }
  return rows
}

type CsvColumn = 'Path' | 'Type' | { property: string }

function columnsIn(header: readonly string[]): CsvColumn[] {
  if (!header.some((cell) => cell.trim() === 'Path'))
    throw invalid('/data/csv', 'The first line must contain the column Path')
  const columns = header.map((cell): CsvColumn => {
    const name = cell.trim()
    if (name === 'Path' || name === 'Type') return name
    const property = cell.startsWith(propertyPrefix) ? cell.slice(propertyPrefix.length) : ''
    if (property !== '' && property !== '__proto__' && charactersOf(property) <= 64) return { property }
    throw invalid(
      '/data/csv',
      `Unknown column "${cell}". Use the columns Path, Type and "${propertyPrefix}<name>". The name of a property has up to 64 characters`,
    )
  })
  const keys = columns.map((column) => (typeof column === 'string' ? column : propertyPrefix + column.property))
  const first = new Set<string>()
  const twice = keys.find((key) => first.size === first.add(key).size)
  if (twice !== undefined) throw invalid('/data/csv', `The column ${twice} occurs twice`)
  return columns
}

const validName = new RegExp(namePattern)
const validType = new RegExp(nodeTypePattern)

function charactersOf(text: string): number {
  return [...text].length
}

function rowOf({ line, cells }: CsvRow, columns: readonly CsvColumn[]): PathRow {
  const refuse = (detail: string) => invalid('/data/csv', `Line ${line}: ${detail}`)
  const path = splitPath(cells[columns.indexOf('Path')] ?? '')
  if (path.some((name) => !validName.test(name) || charactersOf(name) > 128))
    throw refuse(
      'a name in the path is empty, starts or ends with a space, contains a control character, or has more than 128 characters',
    )
  if (path.length > hierarchyLimits.levels)
    throw refuse(`the path has ${path.length} levels. The limit is ${hierarchyLimits.levels}`)
  const type = cells[columns.indexOf('Type')] ?? ''
  if (charactersOf(type) > 64 || !validType.test(type))
    throw refuse('the type contains a control character or has more than 64 characters')
  const properties = Object.fromEntries(
    columns.flatMap((column, index) => {
      const value = cells[index] ?? ''
      if (typeof column === 'string' || value === '') return []
      if (charactersOf(value) > 512) throw refuse(`the property ${column.property} has more than 512 characters`)
      return [[column.property, value]]
    }),
  )
  const count = Object.keys(properties).length
  if (count > hierarchyLimits.properties)
    throw refuse(`the node has ${count} properties. The limit is ${hierarchyLimits.properties}`)
  return { path, ...(type === '' ? {} : { type }), ...(count === 0 ? {} : { properties }) }
}

type Plan = {
  created: store.NewNode[]
  updated: Pick<NodeRow, 'id' | 'name' | 'type' | 'properties'>[]
  unchanged: number
}
type PlannedNode = Pick<NodeRow, 'id' | 'name' | 'type' | 'properties'> & { isNew: boolean }

function countsOf({ created, updated, unchanged }: Plan) {
  return { created: created.length, updated: updated.length, unchanged }
}

/** Compares the rows with the tree. To change the tree, lock the hierarchy first. */
async function planOf(handle: Handle, tree: store.HierarchyRow, rows: readonly PathRow[]): Promise<Plan> {
  const yieldTurn = createYield(handle.tenantId)
  const ranks = new Map<string, number>()
  const nodes = new Map<string, PlannedNode[]>()
  for (const page of await allPages(handle, tree.id)) {
    for (const node of page) {
      ranks.set(node.parentId, Math.max(ranks.get(node.parentId) ?? 0, node.rank))
      const key = keyOf(node.parentId, node.name)
      const same = nodes.get(key)
      if (same === undefined) nodes.set(key, [{ ...node, isNew: false }])
      else same.push({ ...node, isNew: false })
    }
    await yieldTurn()
  }
  const plan: Plan = { created: [], updated: [], unchanged: 0 }
  const changed = new Map<string, Plan['updated'][number]>()
  const unchanged = new Set<string>()
  const paths = new Set<string>()
  for (const [index, { path, type, properties }] of rows.entries()) {
    await yieldTurn()
    const text = joinPath(path)
    if (paths.has(text)) throw invalid(`/data/nodes/${index}/path`, `The path ${text} occurs twice`)
    paths.add(text)
    let parent: { id: string; type: string | null | undefined } = { id: tree.id, type: undefined }
    requireLevels(path.length, `/data/nodes/${index}/path`)
    for (const [level, name] of path.entries()) {
      const isLast = level === path.length - 1
      const [known, ...others] = nodes.get(keyOf(parent.id, name)) ?? []
      if (others.length > 0)
        throw invalid(
          `/data/nodes/${index}/path`,
          `Two nodes have the path ${path.slice(0, level + 1).join(' / ')}. Rename one of these nodes first`,
        )
      const pointer = `/data/nodes/${index}/type`
      if (known === undefined) {
        const own = typeBelow(tree.template, { type: isLast ? (type ?? null) : null, parentType: parent.type, pointer })
        const rank: number = (ranks.get(parent.id) ?? 0) + store.rankGap
        ranks.set(parent.id, rank)
        const node = { id: newId(), name, type: own, properties: isLast ? (properties ?? {}) : {} }
        plan.created.push({ ...node, parentId: parent.id, rank })
        nodes.set(keyOf(parent.id, name), [{ ...node, isNew: true }])
        parent = node
        continue
      }
      if (isLast && !known.isNew) {
        const after = { ...known, type: type ?? known.type, properties: properties ?? known.properties }
        if (after.type !== known.type)
          after.type = typeBelow(tree.template, { type: after.type, parentType: parent.type, pointer })
        const isSame =
          after.type === known.type && JSON.stringify(after.properties) === JSON.stringify(known.properties)
        if (isSame) unchanged.add(known.id)
        else changed.set(known.id, after)
      }
      parent = known
    }
  }
  requireNodes(tree.nodes + plan.created.length)
  if (plan.created.length > hierarchyLimits.nodesImported)
    throw invalid(
      '/data',
      `The paths name ${plan.created.length} new nodes. One import creates at most ${hierarchyLimits.nodesImported}. Import the file in parts`,
    )
  plan.updated = [...changed.values()]
  plan.unchanged = [...unchanged].filter((id) => !changed.has(id)).length
  return plan
}

function keyOf(parentId: string, name: string): string {
  return `${parentId} ${name}`
}
