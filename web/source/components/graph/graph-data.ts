import type { Entity, GraphEdge, GraphNode } from '@millwright/api/inventory.ts'

/** A part of the plant as it is drawn and listed: things by key, relations by id. */
export type GraphData = {
  readonly nodes: ReadonlyMap<string, GraphNode>
  readonly edges: ReadonlyMap<string, GraphEdge>
}

/** What became of a thing or a relation between two times. */
export type Fate = 'added' | 'removed' | 'changed'

export const emptyGraph: GraphData = { nodes: new Map(), edges: new Map() }

export function keyOf({ type, id }: Entity): string {
  return `${type}/${id}`
}

export function assetKey(id: string): string {
  return keyOf({ type: 'asset', id })
}

type Part = { nodes: readonly GraphNode[]; edges: readonly GraphEdge[] }

export function graphOf({ nodes, edges }: Part): GraphData {
  return {
    nodes: new Map(nodes.map((node) => [keyOf(node), node])),
    edges: new Map(edges.map((edge) => [edge.id, edge])),
  }
}

/** Both together. What both have is as the first has it; when that is all, it is the first: nothing is drawn anew. */
export function joined(one: GraphData, other: GraphData): GraphData {
  const hasAll = (all: ReadonlyMap<string, unknown>, some: ReadonlyMap<string, unknown>) =>
    [...some.keys()].every((key) => all.has(key))
  if (hasAll(one.nodes, other.nodes) && hasAll(one.edges, other.edges)) return one
  return { nodes: new Map([...other.nodes, ...one.nodes]), edges: new Map([...other.edges, ...one.edges]) }
}

export type Neighbour = { edge: GraphEdge; way: 'out' | 'in'; key: string }

/** What a thing is related to, as it is told: by predicate, then by name. */
export function neighboursOf(data: GraphData, key: string): Neighbour[] {
  const found: Neighbour[] = []
  for (const edge of data.edges.values()) {
    const [subject, object] = [keyOf(edge.subject), keyOf(edge.object)]
    if (subject === key) found.push({ edge, way: 'out', key: object })
    else if (object === key) found.push({ edge, way: 'in', key: subject })
  }
  const order = ({ edge, way, key: other }: Neighbour) => `${edge.predicate} ${way} ${labelOf(data.nodes.get(other))}`
  return found.toSorted((a, b) => order(a).localeCompare(order(b)))
}

/** Beginnings of ids are enough to tell nodes apart: they are pointers to things of others, without names. */
const idCharacters = 8

export function labelOf(thing: Pick<GraphNode, 'type' | 'id' | 'name'> | undefined): string {
  if (thing === undefined) return '?'
  return thing.name || `${thing.type} ${thing.id.slice(0, idCharacters)}`
}

export function thingsNamed(data: GraphData, words: string): GraphNode[] {
  const wanted = words.trim().toLowerCase()
  const all = [...data.nodes.values()].map((thing) => ({ thing, label: labelOf(thing) }))
  return all
    .filter(({ thing, label }) => wanted === '' || label.toLowerCase().includes(wanted) || thing.id === wanted)
    .toSorted((a, b) => (a.label < b.label ? -1 : 1))
    .map(({ thing }) => thing)
}

/** Both times in one picture, and what became of what differs. */
export function compared(before: GraphData, after: GraphData): { data: GraphData; fates: ReadonlyMap<string, Fate> } {
  const fates = new Map<string, Fate>()
  const judge = <Value>(was: ReadonlyMap<string, Value>, is: ReadonlyMap<string, Value>, isOther: Differs<Value>) => {
    for (const [key, value] of is) {
      const earlier = was.get(key)
      if (earlier === undefined) fates.set(key, 'added')
      else if (isOther(earlier, value)) fates.set(key, 'changed')
    }
    for (const key of was.keys()) if (!is.has(key)) fates.set(key, 'removed')
  }
  judge(before.nodes, after.nodes, isAnother)
  judge(before.edges, after.edges, () => false)
  return { data: joined(after, before), fates }
}

type Differs<Value> = (one: Value, other: Value) => boolean

const told = ['name', 'functional_object_type', 'manufacturer', 'management_state', 'reachability_state'] as const

function isAnother(one: GraphNode, other: GraphNode): boolean {
  return told.some((field) => one[field] !== other[field])
}
