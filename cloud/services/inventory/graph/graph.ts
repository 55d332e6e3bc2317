import type { Entity } from '@millwright/api/inventory.ts'
import type { RelationRow } from '../relations/relation.ts'

export type Direction = 'out' | 'in' | 'both'

export type Reached = Entity & { depth: number }

/** A part of the graph while it is walked through, level by level. */
export type Walk = {
  readonly nodes: Map<string, Reached>
  readonly edges: Map<string, RelationRow>
  /** What was reached last, to go on from. */
  frontier: Reached[]
  depth: number
  /** There is more than is shown. */
  truncated: boolean
}

export type Bounds = { nodes: number; edges: number }

/** A graph has a few relations per thing; more than this are not drawn. */
const edgesPerNode = 4

export function boundsFor(nodes: number): Bounds {
  return { nodes, edges: nodes * edgesPerNode }
}

export function startWalk(...starts: readonly Entity[]): Walk {
  const frontier = starts.map((start) => ({ ...start, depth: 0 }))
  const nodes = new Map(frontier.map((start) => [keyOf(start), start]))
  return { nodes, edges: new Map(), frontier, depth: 0, truncated: false }
}

/**
 * Takes in the relations that were found from the frontier. Each has an end in it, so whatever end is new is reached by
 * it; an end that was reached before is not gone to again, which is what makes it end in a cycle. In the order of their
 * ids: the same graph is the same answer, however the database came by its rows.
 */
export function extend(
  walk: Walk,
  { rows, cut }: { rows: readonly RelationRow[]; cut: boolean },
  bounds: Bounds,
): void {
  walk.depth++
  walk.frontier = []
  walk.truncated ||= cut
  for (const row of rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    if (walk.edges.has(row.id)) continue
    const fresh = endsOf(row).filter((end) => !walk.nodes.has(keyOf(end)))
    if (walk.nodes.size + fresh.length > bounds.nodes || walk.edges.size >= bounds.edges) {
      walk.truncated = true
      continue
    }
    walk.edges.set(row.id, row)
    for (const end of fresh) {
      const reached = { ...end, depth: walk.depth }
      walk.nodes.set(keyOf(end), reached)
      walk.frontier.push(reached)
    }
  }
}

export function isDone(walk: Walk, depth: number): boolean {
  return walk.depth >= depth || walk.frontier.length === 0 || walk.truncated
}

export function reverse(direction: Direction): Direction {
  return direction === 'both' ? 'both' : direction === 'out' ? 'in' : 'out'
}

/** Two walks towards each other have met: the shortest way from the start of one to the start of the other. */
export function wayBetween(
  from: Walk,
  to: Walk,
  direction: Direction,
): { nodes: Entity[]; edges: RelationRow[] } | undefined {
  const meetings = [...from.nodes].flatMap(([key, near]) => {
    const far = to.nodes.get(key)
    return far === undefined ? [] : [{ entity: near, length: near.depth + far.depth }]
  })
  const [meeting] = meetings.toSorted((one, other) => one.length - other.length)
  if (meeting === undefined) return undefined
  const before = wayBack(from, meeting.entity, direction)
  const after = wayBack(to, meeting.entity, reverse(direction))
  return {
    nodes: [...before.nodes.toReversed(), { type: meeting.entity.type, id: meeting.entity.id }, ...after.nodes],
    edges: [...before.edges.toReversed(), ...after.edges],
  }
}

/** From something reached back to the start of the walk, one level at each step. */
function wayBack(walk: Walk, end: Entity, direction: Direction): { nodes: Entity[]; edges: RelationRow[] } {
  const nodes: Entity[] = []
  const edges: RelationRow[] = []
  const incoming = Map.groupBy(
    [...walk.edges.values()].flatMap((edge) => stepsOf(edge, direction)),
    ({ to }) => keyOf(to),
  )
  let at = walk.nodes.get(keyOf(end))
  while (at !== undefined && at.depth > 0) {
    const { depth } = at
    const step = incoming.get(keyOf(at))?.find(({ from }) => walk.nodes.get(keyOf(from))?.depth === depth - 1)
    if (step === undefined) throw new TypeError('A walk has a way back from everything it reached')
    edges.push(step.edge)
    nodes.push({ type: step.from.type, id: step.from.id })
    at = walk.nodes.get(keyOf(step.from))
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
