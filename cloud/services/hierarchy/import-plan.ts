import { isDeepStrictEqual } from 'node:util'
import { hierarchyLimits, type PathRow } from '@millwright/api/hierarchy.ts'
import { joinPath } from '@millwright/api/hierarchy-path.ts'
import { Problem } from '@millwright/api/problem.ts'
import { newId } from '../../platform/database/id.ts'
import { createYield } from '../../platform/event-loop.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import type { HierarchyRow, NodeRow, TreeRow } from './node-store.ts'
import type { ChangedNode, NewNode } from './node-write-store.ts'
import { bySiblingOrder, rankGap } from './rank-store.ts'
import { RowErrors } from './row-errors.ts'
import { requireLevels, requireNodes, typeBelow } from './tree.ts'

/**
 * The changes of an import. A node is identified by the names on its path and, if siblings have the same name, by its
 * number among them. Nodes that do not exist are created in the order in which the file names them.
 */

/** A node of an import file. */
export type ImportedNode = {
  path: readonly string[]
  /** For each name of the path, the number of the node among the siblings with this name, from 1. */
  occurrences: readonly number[] | undefined
  /** Null removes the type: with a template, the node gets the next level below its parent. Undefined leaves it. */
  type: string | null | undefined
  /** Returns the properties that the node has after the import. */
  propertiesAfter(before: NodeRow['properties']): NodeRow['properties']
  pointerTo(field: 'path' | 'occurrences' | 'type'): string
  /** The line in a CSV file. */
  line: number | undefined
  /** The line in a CSV file, or the index in JSON. */
  order: number
}

export function invalidImport(pointer: string, detail: string): Problem {
  return fieldProblem('invalid_body', pointer, detail)
}

export function nodesInJson(rows: readonly PathRow[]): ImportedNode[] {
  const errors = new RowErrors()
  const nodes = rows.map(({ path, occurrences, type, properties }, order): ImportedNode => {
    const pointerTo = (field: string) => `/data/nodes/${order}/${field}`
    if (occurrences !== undefined && occurrences.length !== path.length && !errors.isFull)
      errors.add(
        order,
        invalidImport(pointerTo('occurrences'), 'occurrences must have one number for each name of the path'),
      )
    const propertiesAfter = (before: NodeRow['properties']) => properties ?? before
    return { path, occurrences, type, propertiesAfter, pointerTo, line: undefined, order }
  })
  errors.throwFirst()
  return nodes
}

export type ImportPlan = {
  created: NewNode[]
  updated: ChangedNode[]
  unchanged: number
  /** The number of nodes whose type the file removes, and that have a type of the template instead. */
  defaultTypes: number
}

type PlannedNode = TreeRow & { isNew: boolean }

type TemplatedTree = Pick<HierarchyRow, 'id' | 'template' | 'nodes'>

/**
 * Compares the nodes of a file with the tree. To change the tree, lock the hierarchy first. Throws with the errors of the
 * first invalid rows.
 */
export async function planImport(
  tenantId: string,
  tree: TemplatedTree,
  { rows, pages }: { rows: readonly ImportedNode[]; pages: readonly TreeRow[][] },
): Promise<ImportPlan> {
  const yieldTurn = createYield(tenantId)
  const errors = new RowErrors()
  const draft = new TreeDraft(tree, { yieldTurn, errors })
  for (const page of pages) {
    for (const row of page) draft.add({ ...row, isNew: false })
    await yieldTurn()
  }
  await draft.sortSiblings()
  const byPath = new Map<string, ImportedNode>()
  for (const row of rows) {
    const key = pathKey(row.path, row.occurrences)
    if (!byPath.has(key)) byPath.set(key, row)
    await yieldTurn()
  }
  const updated: ImportPlan['updated'] = []
  const retyped = new Map<string, { row: ImportedNode; type: string | null }>()
  let unchanged = 0
  let defaultTypes = 0
  for (const row of rows) {
    await yieldTurn()
    if (errors.isFull) break
    if (byPath.get(pathKey(row.path, row.occurrences)) !== row) {
      errors.add(row.order, refused(row, 'path', `The path ${joinPath(row.path)} occurs twice`))
      continue
    }
    const resolved = await draft.resolve(row, byPath)
    if (resolved === undefined || resolved.node.isNew) continue
    const { node, parentType } = resolved
    const requested = row.type === undefined ? node.type : row.type
    const type = requested === node.type ? node.type : draft.typeOf(row, requested, parentType)
    if (row.type === null && type !== null) defaultTypes += 1
    const properties = errors.check(row.order, () => row.propertiesAfter(node.properties), node.properties)
    if (type === node.type && isDeepStrictEqual(properties, node.properties)) {
      unchanged += 1
      continue
    }
    if (type !== node.type) retyped.set(node.id, { row, type })
    node.type = type
    updated.push({ id: node.id, type, properties })
  }
  if (tree.template !== null && retyped.size > 0)
    for (const { parentId, type } of draft.all()) {
      const parent = retyped.get(parentId)
      if (parent !== undefined && type !== null && !errors.has(parent.row.order))
        draft.typeOf(parent.row, type, parent.type)
      await yieldTurn()
    }
  errors.throwFirst()
  return { created: draft.created, updated, unchanged, defaultTypes }
}

/** The nodes of a hierarchy by parent and name, with the nodes that the import creates. */
class TreeDraft {
  readonly created: PlannedNode[] = []
  readonly #tree: TemplatedTree
  readonly #nodes = new Map<string, PlannedNode[]>()
  readonly #lastRanks = new Map<string, number>()
  readonly #yieldTurn: () => Promise<void> | undefined
  readonly #errors: RowErrors

  constructor(
    tree: TemplatedTree,
    { yieldTurn, errors }: { yieldTurn: () => Promise<void> | undefined; errors: RowErrors },
  ) {
    this.#tree = tree
    this.#yieldTurn = yieldTurn
    this.#errors = errors
  }

  add(node: PlannedNode): void {
    this.#lastRanks.set(node.parentId, Math.max(this.#lastRanks.get(node.parentId) ?? 0, node.rank))
    const key = nameKey(node.parentId, node.name)
    const same = this.#nodes.get(key)
    if (same === undefined) this.#nodes.set(key, [node])
    else same.push(node)
  }

  /** Sorts siblings with the same name. */
  async sortSiblings(): Promise<void> {
    for (const same of this.#nodes.values()) {
      if (same.length > 1) same.sort(bySiblingOrder)
      await this.#yieldTurn()
    }
  }

  *all(): Generator<PlannedNode> {
    for (const same of this.#nodes.values()) yield* same
  }

  /**
   * Returns the node of a row. Creates the missing nodes on its path, with the contents that the file has for them. The
   * result is undefined if the row has an error.
   */
  async resolve(row: ImportedNode, byPath: ReadonlyMap<string, ImportedNode>) {
    const { path, occurrences } = row
    const refuse = (field: Field, detail: string) => this.#errors.add(row.order, refused(row, field, detail))
    requireLevels(path.length, row.pointerTo('path'))
    let parent: { id: string; type: string | null | undefined } = { id: this.#tree.id, type: undefined }
    let found: { node: PlannedNode; parentType: string | null | undefined } | undefined
    for (const [level, name] of path.entries()) {
      const same = () => this.#nodes.get(nameKey(parent.id, name)) ?? []
      const number = occurrences?.[level] ?? 1
      if (occurrences === undefined && same().length > 1) {
        const shared = joinPath(path.slice(0, level + 1))
        refuse('path', `Several nodes have the path ${shared}. Add occurrences, or rename these nodes first`)
        return undefined
      }
      while (same().length < number) {
        const next = same().length + 1
        const own = byPath.get(pathKey(path.slice(0, level + 1), [...(occurrences ?? []).slice(0, level), next]))
        if (own === undefined && next < number) {
          const shared = joinPath(path.slice(0, level + 1))
          const detail = `The path ${shared} has the occurrence ${number}, but only ${next - 1} of these nodes exist`
          refuse('occurrences', detail)
          return undefined
        }
        this.#create(own, { row, name, parent })
        await this.#yieldTurn()
      }
      const node = same()[number - 1]
      if (node === undefined) throw new TypeError(`The draft has no node ${name}`)
      found = { node, parentType: parent.type }
      parent = node
    }
    if (found === undefined) throw new TypeError('A path has at least one name')
    return found
  }

  /** Returns the type that a node gets below its parent. If the type is not allowed, the error of the row is added. */
  typeOf(row: ImportedNode, type: string | null, parentType: string | null | undefined): string | null {
    const check = () => located(row, 'type', (pointer) => typeBelow(this.#tree.template, { type, parentType, pointer }))
    return this.#errors.check(row.order, check, type)
  }

  #create(
    own: ImportedNode | undefined,
    { row, name, parent }: { row: ImportedNode; name: string; parent: { id: string; type: string | null | undefined } },
  ): void {
    const node = {
      id: newId(),
      parentId: parent.id,
      name,
      type: this.typeOf(own ?? row, own?.type ?? null, parent.type),
      properties: own === undefined ? {} : this.#errors.check(own.order, () => own.propertiesAfter({}), {}),
      rank: (this.#lastRanks.get(parent.id) ?? 0) + rankGap,
      tail: '',
      isNew: true,
    }
    this.add(node)
    this.created.push(node)
    // The limits are checked for each node, so that a file with too many nodes is refused early.
    requireNodes(this.#tree.nodes + this.created.length)
    if (this.created.length > hierarchyLimits.nodesImported)
      throw invalidImport(
        '/data',
        `The paths name more than ${hierarchyLimits.nodesImported} new nodes, which is the limit of one import. Import the file in parts`,
      )
  }
}

type Field = Parameters<ImportedNode['pointerTo']>[0]

function refused(row: ImportedNode, field: Field, detail: string): Problem {
  return invalidImport(row.pointerTo(field), row.line === undefined ? detail : `Line ${row.line}: ${detail}`)
}

/** Runs a check of a field. Adds the line to its problem. */
function located<Result>(row: ImportedNode, field: Field, check: (pointer: string) => Result): Result {
  const pointer = row.pointerTo(field)
  try {
    return check(pointer)
  } catch (error) {
    if (row.line === undefined || !(error instanceof Problem)) throw error
    const detail = `Line ${row.line}: ${error.message}`
    throw new Problem(error.code, detail, { errors: [{ pointer, code: error.code, detail }], cause: error })
  }
}

/** Returns a text that identifies a path. A name contains no line break. */
function pathKey(path: readonly string[], occurrences: readonly number[] | undefined): string {
  return path.map((name, level) => `${occurrences?.[level] ?? 1} ${name}`).join('\n')
}

function nameKey(parentId: string, name: string): string {
  return `${parentId} ${name}`
}
