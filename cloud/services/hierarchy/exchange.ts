import { type hierarchy, hierarchyLimits, type PathRow } from '@millwright/api/hierarchy.ts'
import { joinPath, splitPath } from '@millwright/api/hierarchy-path.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { parseCsv, printCsvRow } from './csv.ts'
import { getHierarchy, lockedHierarchy, reportHierarchy } from './hierarchies.ts'
import type { NodeRow } from './node-store.ts'
import * as store from './node-store.ts'
import { requireLevels, requireNodes, typeBelow } from './tree.ts'

/** Import and export of the nodes of a hierarchy. A node is identified by the names on its path. */

const propertyPrefix = 'Property: '

export function exchangeHandlers({
  database,
}: Context): Pick<Handlers<typeof hierarchy>, 'exportNodes' | 'importNodes'> {
  return {
    async exportNodes({ params: { id }, query: { format = 'json' } }, caller) {
      const rows = await database.read(caller, async (handle) => {
        await getHierarchy(handle, id)
        return pathRows(await store.listAllRows(handle, id), id)
      })
      return format === 'csv' ? csvOf(rows) : `${JSON.stringify({ nodes: rows }, null, 2)}\n`
    },

    async importNodes({ params: { id }, body: { data } }, caller) {
      const { csv, nodes, dryRun = false } = data
      if ((csv === undefined) === (nodes === undefined)) throw invalid('/data', 'Send either csv or nodes')
      const rows = csv === undefined ? (nodes ?? []) : rowsOf(csv)
      if (rows.length > hierarchyLimits.nodesImported)
        throw invalid('/data/csv', `The file has ${rows.length} nodes. The limit is ${hierarchyLimits.nodesImported}`)
      return database.transaction(caller, async (tx) => {
        const tree = await lockedHierarchy(tx, id)
        const plan = await planOf(tx, tree, rows)
        const counts = { created: plan.created.length, updated: plan.updated.length, unchanged: plan.unchanged }
        if (!dryRun) {
          const now = new Date().toISOString()
          await store.insertNodes(tx, id, plan.created, now)
          for (const node of plan.updated) await store.updateNode(tx, node, now)
          await reportHierarchy(tx, caller, { action: 'importNodes', event: 'imported', row: tree, detail: counts })
        }
        return { data: { ...counts, dryRun } }
      })
    },
  }
}

function invalid(pointer: string, detail: string): Problem {
  return new Problem('invalid_body', detail, { errors: [{ pointer, code: 'invalid_body', detail }] })
}

/** Returns the nodes with their paths, in the order of a printed tree. */
function pathRows(rows: readonly NodeRow[], hierarchyId: string): PathRow[] {
  const children = Map.groupBy(rows, ({ parentId }) => parentId)
  const result: PathRow[] = []
  const visit = (parentId: string, above: readonly string[]) => {
    for (const { id, name, type, properties } of children.get(parentId) ?? []) {
      const path = [...above, name]
      const hasProperties = Object.keys(properties).length > 0
      result.push({ path, ...(type === null ? {} : { type }), ...(hasProperties ? { properties } : {}) })
      visit(id, path)
    }
  }
  visit(hierarchyId, [])
  return result
}

function csvOf(rows: readonly PathRow[]): string {
  const names = [...new Set(rows.flatMap(({ properties = {} }) => Object.keys(properties)))].toSorted()
  const header = ['Path', 'Type', ...names.map((name) => propertyPrefix + name)]
  const lines = rows.map(({ path, type = '', properties = {} }) => [
    joinPath(path),
    type,
    ...names.map((name) => properties[name] ?? ''),
  ])
  return [header, ...lines].map(printCsvRow).join('')
}

/** Reads the rows of a CSV file. Throws with the line of the first invalid row. */
function rowsOf(text: string): PathRow[] {
  const [header = [], ...lines] = parseCsv(text, (line, detail) => invalid('/data/csv', `Line ${line}: ${detail}`))
  const columns = header.map((name) => name.trim())
  const pathColumn = columns.indexOf('Path')
  if (pathColumn < 0) throw invalid('/data/csv', 'The first line must contain the column Path')
  const unknown = columns.find((name) => name !== 'Path' && name !== 'Type' && !name.startsWith(propertyPrefix))
  if (unknown !== undefined)
    throw invalid('/data/csv', `Unknown column "${unknown}". Columns are Path, Type and "${propertyPrefix}<name>"`)
  return lines.map((cells, index) => {
    const place = `Line ${index + 2}`
    const path = splitPath(cells[pathColumn] ?? '')
    const wrong = path.find((name) => name !== name.trim() || name === '' || name.length > 128)
    if (wrong !== undefined)
      throw invalid(
        '/data/csv',
        `${place}: a name of the path is empty, has spaces around it or more than 128 characters`,
      )
    if (path.length > hierarchyLimits.levels)
      throw invalid('/data/csv', `${place}: the path has ${path.length} levels. The limit is ${hierarchyLimits.levels}`)
    const type = cells[columns.indexOf('Type')]?.trim() ?? ''
    if (type.length > 64) throw invalid('/data/csv', `${place}: the type has more than 64 characters`)
    const properties = Object.fromEntries(
      columns.flatMap((name, column) => {
        const value = cells[column] ?? ''
        if (!name.startsWith(propertyPrefix) || value === '') return []
        if (value.length > 512) throw invalid('/data/csv', `${place}: the property has more than 512 characters`)
        return [[name.slice(propertyPrefix.length), value]]
      }),
    )
    return { path, ...(type === '' ? {} : { type }), ...(Object.keys(properties).length === 0 ? {} : { properties }) }
  })
}

type Plan = {
  created: store.NewNode[]
  updated: Pick<NodeRow, 'id' | 'name' | 'type' | 'properties'>[]
  unchanged: number
}
type PlannedNode = Pick<NodeRow, 'id' | 'name' | 'type' | 'properties'> & { isNew: boolean }

/** Compares the rows with the tree. The hierarchy must be locked. */
async function planOf(tx: Transaction, tree: store.HierarchyRow, rows: readonly PathRow[]): Promise<Plan> {
  const existing = await store.listAllRows(tx, tree.id)
  const ranks = new Map<string, number>()
  const nodes = new Map<string, PlannedNode[]>()
  for (const node of existing) {
    ranks.set(node.parentId, Math.max(ranks.get(node.parentId) ?? 0, node.rank))
    const key = keyOf(node.parentId, node.name)
    nodes.set(key, [...(nodes.get(key) ?? []), { ...node, isNew: false }])
  }
  const plan: Plan = { created: [], updated: [], unchanged: 0 }
  const changed = new Map<string, Plan['updated'][number]>()
  const unchanged = new Set<string>()
  for (const [index, { path, type, properties }] of rows.entries()) {
    let parent: { id: string; type: string | null | undefined } = { id: tree.id, type: undefined }
    requireLevels(path.length, `/data/nodes/${index}/path`)
    for (const [level, name] of path.entries()) {
      const isLast = level === path.length - 1
      const [known, ...others] = nodes.get(keyOf(parent.id, name)) ?? []
      if (others.length > 0)
        throw invalid(
          `/data/nodes/${index}/path`,
          `Two nodes have the path ${path.slice(0, level + 1).join(' / ')}. Rename one of them first`,
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
  plan.updated = [...changed.values()]
  plan.unchanged = [...unchanged].filter((id) => !changed.has(id)).length
  return plan
}

function keyOf(parentId: string, name: string): string {
  return `${parentId} ${name}`
}
