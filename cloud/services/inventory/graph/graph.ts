import type { Entity } from '@millwright/api/inventory/inventory.ts'
import type { RelationRow } from '../relations/relation.ts'

/**
 * Breadth-first traversal of the graph of relations, in memory. Each step reads all relations at the frontier from the
 * database and adds them. A traversal ends at its depth, at its bounds (`truncated`), or when it reaches no new node.
 */

export type Direction = 'out' | 'in' | 'both'

export type ReachedNode = Entity & { depth: number }

/** The part of the graph that a traversal has reached so far. */
export type Traversal = {
  readonly nodes: Map<string, ReachedNode>
  readonly edges: Map<string, RelationRow>
  /** The nodes that the last step reached. The next step starts at these nodes. */
  frontier: ReachedNode[]
  depth: number
  /** Whether nodes or relations were left out because of the bounds. */
  truncated: boolean
}

export type Bounds = { nodes: number; edges: number }

/** The bound of relations is this number times the bound of nodes. Further relations are left out. */
const edgesPerNode = 4

export function boundsFor(nodes: number): Bounds {
  return { nodes, edges: nodes * edgesPerNode }
}

export function startTraversal(...starts: readonly Entity[]): Traversal {
  const frontier = starts.map((start) => ({ ...start, depth: 0 }))
  const nodes = new Map(frontier.map((start) => [keyOf(start), start]))
  return { nodes, edges: new Map(), frontier, depth: 0, truncated: false }
}

/**
 * Adds the relations that were found at the frontier. Ends of these relations that were not reached before become the
 * next frontier. Each node is reached only once, so cycles end. Relations are added in the order of their ids, so that
 * the result does not depend on the order of the rows.
 */
export function extend(
  traversal: Traversal,
  { rows, cut }: { rows: readonly RelationRow[]; cut: boolean },
  bounds: Bounds,
): void {
  traversal.depth++
  traversal.frontier = []
  traversal.truncated ||= cut
  for (const row of rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    if (traversal.edges.has(row.id)) continue
    const fresh = endsOf(row).filter((end) => !traversal.nodes.has(keyOf(end)))
    if (traversal.nodes.size + fresh.length > bounds.nodes || traversal.edges.size >= bounds.edges) {
      traversal.truncated = true
      continue
    }
    traversal.edges.set(row.id, row)
    for (const end of fresh) {
      const reached = { ...end, depth: traversal.depth }
      traversal.nodes.set(keyOf(end), reached)
      traversal.frontier.push(reached)
    }
  }
}

export function isDone(traversal: Traversal, depth: number): boolean {
  return traversal.depth >= depth || traversal.frontier.length === 0 || traversal.truncated
}

export function reverse(direction: Direction): Direction {
  return direction === 'both' ? 'both' : direction === 'out' ? 'in' : 'out'
}

/**
 * Returns the shortest path between the start nodes of two traversals. Returns `undefined` while the traversals have no
 * common node.
 */
export function pathBetween(
  from: Traversal,
  to: Traversal,
  direction: Direction,
): { nodes: Entity[]; edges: RelationRow[] } | undefined {
  const meetings = [...from.nodes].flatMap(([key, near]) => {
    const far = to.nodes.get(key)
    return far === undefined ? [] : [{ entity: near, length: near.depth + far.depth }]
  })
  const [meeting] = meetings.toSorted((one, other) => one.length - other.length)
  if (meeting === undefined) return undefined
  const before = pathToStart(from, meeting.entity, direction)
  const after = pathToStart(to, meeting.entity, reverse(direction))
  return {
    nodes: [...before.nodes.toReversed(), { type: meeting.entity.type, id: meeting.entity.id }, ...after.nodes],
    edges: [...before.edges.toReversed(), ...after.edges],
  }
}

/** Returns the path from a reached node back to the start of the traversal. Each step goes back one level. */
function pathToStart(
  traversal: Traversal,
  end: Entity,
  direction: Direction,
): { nodes: Entity[]; edges: RelationRow[] } {
  const nodes: Entity[] = []
  const edges: RelationRow[] = []
  const incoming = Map.groupBy(
    [...traversal.edges.values()].flatMap((edge) => stepsOf(edge, direction)),
    ({ to }) => keyOf(to),
  )
  let current = traversal.nodes.get(keyOf(end))
  while (current !== undefined && current.depth > 0) {
    const { depth } = current
    const step = incoming.get(keyOf(current))?.find(({ from }) => traversal.nodes.get(keyOf(from))?.depth === depth - 1)
    if (step === undefined)
      throw new TypeError(`The traversal reached ${keyOf(current)} without a relation from the level before`)
    edges.push(step.edge)
    nodes.push({ type: step.from.type, id: step.from.id })
    current = traversal.nodes.get(keyOf(step.from))
  }
  return { nodes, edges }
}

function stepsOf(edge: RelationRow, direction: Direction): { from: Entity; to: Entity; edge: RelationRow }[] {
  const [subject, object] = endsOf(edge)
  const out = { from: subject, to: object, edge }
  const back = { from: object, to: subject, edge }
  return direction === 'both' ? [out, back] : direction === 'out' ? [out] : [back]
}

function endsOf(row: RelationRow): [Entity, Entity] {
  return [
    { type: row.subjectType, id: row.subjectId },
    { type: row.objectType, id: row.objectId },
  ]
}

export function keyOf({ type, id }: Entity): string {
  return `${type}/${id}`
}
