import type { TopologyEdge, TopologyGroup, TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import type { Box, Gap, Point } from './geometry.ts'
import type { Frame, SceneItem } from './scene.ts'

/** The lines between the items of a group: which items they connect, and the way between the boxes that they take. */

const linesOfEdges = new WeakMap<readonly TopologyEdge[], Map<readonly [string, string], TopologyEdge[]>>()

/** Returns the edges by their two ends, without regard to their direction, so that each line is drawn once. */
export function linesOf(edges: readonly TopologyEdge[]): Map<readonly [string, string], TopologyEdge[]> {
  const known = linesOfEdges.get(edges)
  if (known !== undefined) return known
  const ends = new Map<string, readonly [string, string]>()
  const lines = new Map<readonly [string, string], TopologyEdge[]>()
  for (const edge of edges) {
    const pair = [edge.from, edge.to].toSorted() as [string, string]
    const line = ends.get(pair.join(' ')) ?? pair
    ends.set(pair.join(' '), line)
    lines.set(line, [...(lines.get(line) ?? []), edge])
  }
  linesOfEdges.set(edges, lines)
  return lines
}

export function countOf(edges: readonly Pick<TopologyEdge, 'count'>[]): number {
  return edges.reduce((sum, { count }) => sum + count, 0)
}

const connectionsOfGroups = new WeakMap<Frame, Map<string, GroupConnection[]>>()

/** A group, and the number of its connections to another group. */
export type GroupConnection = { group: TopologyGroup; count: number }

/** Returns the groups that have connections to a group, most frequent first, and then in the order of their keys. */
export function connectionsTo(
  key: string,
  { groups, edges }: Pick<TopologyGroups, 'groups' | 'edges'>,
): GroupConnection[] {
  const counts = new Map<string, number>()
  for (const { from, to, count } of edges) {
    const other = from === key ? to : to === key ? from : undefined
    if (other !== undefined) counts.set(other, (counts.get(other) ?? 0) + count)
  }
  return groups
    .flatMap((group) => {
      const count = counts.get(group.key)
      return count === undefined ? [] : [{ group, count }]
    })
    .toSorted(
      (one, other) => other.count - one.count || one.group.key.localeCompare(other.group.key, 'en', { numeric: true }),
    )
}

/** Returns the groups that have connections to an item of the map, most frequent first. */
export function connectionsOfItem({ group, parent }: Pick<SceneItem, 'group' | 'parent'>): GroupConnection[] {
  if (group === undefined) return []
  const groups = parent.items.flatMap(({ group: other }) => other ?? [])
  const known = connectionsOfGroups.get(parent) ?? new Map<string, GroupConnection[]>()
  const found = known.get(group.key) ?? connectionsTo(group.key, { groups, edges: [...parent.edges] })
  connectionsOfGroups.set(parent, known.set(group.key, found))
  return found
}

/** The number of lines that can be side by side between two boxes. */
const lanes = 5

/** Returns the position of a line between two boxes, from 0.2 to 0.8, so that lines side by side do not cover each other. */
export function laneOf(index: number): number {
  return 0.5 + (((index * 2) % lanes) - (lanes - 1) / 2) * 0.15
}

/**
 * Returns the corners of the line from one box to another. The line takes the free space between the boxes of the grid, so
 * that no box covers it and it covers no name.
 */
export function routeOf(from: Box, to: Box, { gap, lane }: { gap: Gap; lane: number }): Point[] {
  const [one, other] = from.y <= to.y ? [from, to] : [to, from]
  const [left, right] = from.x <= to.x ? [from, to] : [to, from]
  const along = (start: number, length: number) => start + length * lane
  const isSameRow = other.y < one.y + one.height / 2
  if (isSameRow) {
    const distance = right.x - left.x - left.width
    if (distance < gap.x * 1.5) {
      const y = along(Math.max(left.y, right.y), Math.min(left.height, right.height))
      return [
        { x: left.x + left.width, y },
        { x: right.x, y },
      ]
    }
    const bottom = Math.max(left.y + left.height, right.y + right.height)
    const [start, end] = [along(left.x, left.width), along(right.x, right.width)]
    const y = bottom + gap.y * lane
    return [
      { x: start, y: left.y + left.height },
      { x: start, y },
      { x: end, y },
      { x: end, y: right.y + right.height },
    ]
  }
  const shared = { x: Math.max(one.x, other.x), end: Math.min(one.x + one.width, other.x + other.width) }
  const isNext = other.y - one.y - one.height < gap.y * 1.5
  // A line to the next row is straight if the boxes are above each other.
  const isStraight = isNext && shared.end - shared.x > Math.min(one.width, other.width) / 2
  const middle = along(shared.x, shared.end - shared.x)
  const [start, end] = isStraight ? [middle, middle] : [along(one.x, one.width), along(other.x, other.width)]
  const below = one.y + one.height
  const first = { x: start, y: below }
  const turn = below + gap.y * lane
  const last = { x: end, y: other.y }
  if (isStraight) return [first, last]
  if (isNext) return [first, { x: start, y: turn }, { x: end, y: turn }, last]
  const beside = one.x <= other.x ? other.x - gap.x * lane : other.x + other.width + gap.x * lane
  const above = other.y - gap.y * lane
  return [first, { x: start, y: turn }, { x: beside, y: turn }, { x: beside, y: above }, { x: end, y: above }, last]
}

/** Returns the longest part of a line. Its label is there. */
export function longestPart(route: readonly Point[]): { from: Point; to: Point; length: number } {
  let longest = { from: { x: 0, y: 0 }, to: { x: 0, y: 0 }, length: -1 }
  for (const [index, to] of route.entries()) {
    const from = route[index - 1]
    if (from === undefined) continue
    const length = Math.hypot(to.x - from.x, to.y - from.y)
    if (length > longest.length) longest = { from, to, length }
  }
  return longest
}
