import type { Workflow } from '@millwright/api/workflows.ts'
import { initialState, nextStates } from './workflow.ts'

/**
 * Computes the positions in the picture of a workflow. States are placed in columns from left to right. The column of a
 * state is the length of the longest path from the initial state.
 */

export type Point = { x: number; y: number }
export type Box = Point & { state: string; width: number; height: number }
export type Line = { from: string; to: string; points: Point[] }
export type Layout = { boxes: Box[]; lines: Line[]; width: number; height: number }

/** A place in a column: a state, or a point through which a line to a later column passes. */
type Place = { key: string; column: number; state: string | undefined; width: number; height: number }
type Hop = { from: string; to: string }

const box = { height: 48, least: 96, perCharacter: 8.4, padding: 28 } as const
const gaps = { column: 72, row: 22, passing: 10, edge: 28 } as const
const passingHeight = 14
/** The number of sweeps that order the places within the columns. */
const sweeps = 8
/** The maximum number of transitions for which lines are routed. With more transitions, lines may cross boxes. */
const mostRouted = 100
/** The distance between lines at a box. */
const portGap = 12

export function layoutOf(workflow: Workflow, labelOf: (state: string) => string): Layout {
  const columns = columnsOf(workflow)
  const places = statePlaces(workflow, columns, labelOf)
  const { hops, routes } = route(workflow, columns, places)
  const ports = portsOf(routes)
  const ordered = inOrder(places, hops)
  const centres = centresOf(ordered)
  const boxes = places.flatMap(({ key, state, width, height }) => {
    const centre = centres.get(key)
    if (state === undefined || centre === undefined) return []
    return [{ state, width, height, x: centre.x - width / 2, y: centre.y - height / 2 }]
  })
  const boxOf = new Map(boxes.map((box) => [box.state, box]))
  const lines = routes.map((route) => ({
    from: route.from,
    to: route.to,
    points: pointsOf(route, { boxOf, centres, ports }),
  }))
  const width = Math.max(...boxes.map(({ x, width }) => x + width)) + gaps.edge
  const lowest = [...centres.values()].map(({ y }) => y + box.height / 2)
  return { boxes, lines, width, height: Math.max(...lowest) + gaps.edge }
}

/**
 * Returns the column of each state: the length of the longest path from the initial state. Every line therefore points to
 * the right.
 */
function columnsOf(workflow: Workflow): Map<string, number> {
  const next = new Map(workflow.states.map(({ name }) => [name, nextStates(workflow, name)]))
  const entering = new Map<string, number>()
  for (const state of [...next.values()].flat()) entering.set(state, (entering.get(state) ?? 0) + 1)
  const columns = new Map([[initialState(workflow), 0]])
  // The loop continues from a state only when all paths to it are known, because its column is final only then.
  for (const [state, column] of columns) {
    if ((entering.get(state) ?? 0) > 0) continue
    for (const after of next.get(state) ?? []) {
      entering.set(after, (entering.get(after) ?? 0) - 1)
      const longest = Math.max(columns.get(after) ?? 0, column + 1)
      // Deleting and adding the state moves it to the end of the map, so that the loop processes it again.
      columns.delete(after)
      columns.set(after, longest)
    }
  }
  return columns
}

function statePlaces(
  workflow: Workflow,
  columns: ReadonlyMap<string, number>,
  labelOf: (state: string) => string,
): Place[] {
  return workflow.states.map(({ name }) => ({
    key: name,
    state: name,
    column: columns.get(name) ?? 0,
    width: Math.max(box.least, Math.round(labelOf(name).length * box.perCharacter) + box.padding),
    height: box.height,
  }))
}

type Route = { from: string; to: string; through: string[] }

/**
 * Routes every line through its own place in each column that it passes. If there are too many transitions, lines are
 * straight.
 */
function route(workflow: Workflow, columns: ReadonlyMap<string, number>, places: Place[]) {
  const hops: Hop[] = []
  const routes: Route[] = []
  const isLarge = workflow.transitions.length > mostRouted
  for (const { name: from } of workflow.states) {
    for (const to of nextStates(workflow, from)) {
      const through: string[] = []
      for (let column = (columns.get(from) ?? 0) + 1; !isLarge && column < (columns.get(to) ?? 0); column++) {
        const key = JSON.stringify([from, to, column])
        places.push({ key, column, state: undefined, width: 0, height: passingHeight })
        through.push(key)
      }
      const stops = [from, ...through, to]
      for (let index = 1; index < stops.length; index++)
        hops.push({ from: stops[index - 1] ?? '', to: stops[index] ?? '' })
      routes.push({ from, to, through })
    }
  }
  return { hops, routes }
}

/**
 * Orders the places of each column by the positions of the connected places, in forward and backward sweeps. This reduces
 * crossings.
 */
function inOrder(places: readonly Place[], hops: readonly Hop[]): Place[][] {
  const columns = [...Map.groupBy(places, ({ column }) => column)]
    .toSorted(([a], [b]) => a - b)
    .map(([, column]) => column)
  const ranks = new Map<string, number>()
  const rank = (column: readonly Place[]) => {
    for (const [index, { key }] of column.entries()) ranks.set(key, (index + 0.5) / column.length)
  }
  for (const column of columns) rank(column)
  const before = Map.groupBy(hops, ({ to }) => to)
  const behind = Map.groupBy(hops, ({ from }) => from)
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const back = sweep % 2 === 1
    const weight = ({ key }: Place) => {
      const joined = back ? behind.get(key)?.map(({ to }) => to) : before.get(key)?.map(({ from }) => from)
      return meanOf((joined ?? [key]).map((other) => ranks.get(other) ?? 0))
    }
    for (const column of back ? columns.toReversed() : columns) {
      column.sort((a, b) => weight(a) - weight(b))
      rank(column)
    }
  }
  return columns
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function centresOf(columns: readonly Place[][]): Map<string, Point> {
  const heights = columns.map((column) => heightOf(column))
  const tallest = Math.max(...heights)
  const centres = new Map<string, Point>()
  // The arrow of the initial state is drawn before the first column.
  let left: number = gaps.edge + 24
  for (const [index, column] of columns.entries()) {
    const width = Math.max(...column.map((place) => place.width))
    let top = gaps.edge + (tallest - (heights[index] ?? 0)) / 2
    for (const place of column) {
      centres.set(place.key, { x: left + width / 2, y: top + place.height / 2 })
      top += place.height + gapAfter(place)
    }
    left += width + gaps.column
  }
  return centres
}

function heightOf(column: readonly Place[]): number {
  return column.reduce((sum, place) => sum + place.height + gapAfter(place), 0)
}

function gapAfter({ state }: Place): number {
  return state === undefined ? gaps.passing : gaps.row
}

type Ports = { leaving: Map<string, Route[]>; reaching: Map<string, Route[]> }

function portsOf(routes: readonly Route[]): Ports {
  return { leaving: Map.groupBy(routes, ({ from }) => from), reaching: Map.groupBy(routes, ({ to }) => to) }
}

type Drawing = { boxOf: ReadonlyMap<string, Box>; centres: ReadonlyMap<string, Point>; ports: Ports }

/**
 * Returns the points of a line from the right side of a box to the left side of another box. Lines at the same side of
 * a box have a gap between them, and are sorted by the heights of their other ends.
 */
function pointsOf(route: Route, { boxOf, centres, ports }: Drawing): Point[] {
  const [from, to] = [boxOf.get(route.from), boxOf.get(route.to)]
  if (from === undefined || to === undefined) return []
  const heightAt = (key: string) => centres.get(key)?.y ?? 0
  const offset = (among: readonly Route[], end: (route: Route) => string) => {
    const own = heightAt(end(route))
    const before = among.filter((other, index) => {
      const height = heightAt(end(other))
      return height < own || (height === own && index < among.indexOf(route))
    })
    const gap = Math.min(portGap, (box.height - 8) / among.length)
    return (before.length - (among.length - 1) / 2) * gap
  }
  const leaving = offset(ports.leaving.get(route.from) ?? [], ({ through, to }) => through[0] ?? to)
  const reaching = offset(ports.reaching.get(route.to) ?? [], ({ through, from }) => through.at(-1) ?? from)
  return [
    { x: from.x + from.width, y: from.y + from.height / 2 + leaving },
    ...route.through.flatMap((key) => centres.get(key) ?? []),
    { x: to.x, y: to.y + to.height / 2 + reaching },
  ]
}
