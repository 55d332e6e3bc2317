import type { TopologyEdge } from '@millwright/api/inventory/topology-groups.ts'

/**
 * Arranges the items of a group in the cells of a grid. Each item has its own cell, so items and their labels never overlap.
 * The layouts differ in the order of the cells:
 * - `hierarchy`: the order of the items, row by row.
 * - `network`: the item with the most connections is at the top, and the items that are connected to it are in the rows below.
 * - `force`: connected items attract each other and others repel each other; then each item moves to the nearest free cell.
 * An arrangement depends only on the items of one group, so it does not change when a group is opened.
 */

export const layouts = ['hierarchy', 'network', 'force'] as const
export type Layout = (typeof layouts)[number]

/** The place of an item in the grid. */
export type Cell = { column: number; row: number }

export type Grid = { columns: number; rows: number; cells: readonly Cell[] }

export type ArrangementInput = {
  keys: readonly string[]
  edges: readonly Pick<TopologyEdge, 'from' | 'to' | 'count'>[]
  /** The width of the area divided by its height, and the same of one cell. */
  aspect: number
  cellAspect: number
}

export function arrange(layout: Layout, input: ArrangementInput): Grid {
  if (layout === 'network') return networkGrid(input)
  return layout === 'force' ? forceLayout(input) : plainGrid(input)
}

/** Returns the number of columns with which cells of the given aspect fill the area best. */
function columnsFor(count: number, { aspect, cellAspect }: Pick<ArrangementInput, 'aspect' | 'cellAspect'>): number {
  return Math.max(1, Math.min(count, Math.round(Math.sqrt((count * aspect) / cellAspect))))
}

function plainGrid(input: ArrangementInput): Grid {
  const count = input.keys.length
  const rows = Math.max(1, Math.ceil(count / columnsFor(count, input)))
  // The smallest number of columns for these rows leaves the fewest cells empty.
  const columns = Math.max(1, Math.ceil(count / rows))
  return {
    columns,
    rows,
    cells: input.keys.map((_, index) => ({ column: index % columns, row: Math.floor(index / columns) })),
  }
}

type Links = { indexOf: Map<string, number>; linked: number[][] }

function linksOf({ keys, edges }: ArrangementInput): Links {
  const indexOf = new Map(keys.map((key, index) => [key, index]))
  const linked = keys.map((): number[] => [])
  for (const { from, to } of edges) {
    const [one, other] = [indexOf.get(from), indexOf.get(to)]
    if (one === undefined || other === undefined || one === other) continue
    if (!linked[one]?.includes(other)) linked[one]?.push(other)
    if (!linked[other]?.includes(one)) linked[other]?.push(one)
  }
  return { indexOf, linked }
}

/** Places the items in levels by their distance from the item with the most connections. A long level has several rows. */
function networkGrid(input: ArrangementInput): Grid {
  const { linked } = linksOf(input)
  const count = input.keys.length
  if (linked.every((others) => others.length === 0)) return plainGrid(input)
  const byDegree = input.keys
    .map((_, index) => index)
    .toSorted((one, other) => (linked[other]?.length ?? 0) - (linked[one]?.length ?? 0) || one - other)
  const levels: number[][] = []
  const reached = new Set<number>()
  for (const start of byDegree) {
    if (reached.has(start)) continue
    reached.add(start)
    for (let level = [start], depth = 0; level.length > 0; depth++) {
      levels[depth] = [...(levels[depth] ?? []), ...level]
      const next: number[] = []
      for (const index of level)
        for (const other of linked[index] ?? [])
          if (!reached.has(other)) {
            reached.add(other)
            next.push(other)
          }
      level = next
    }
  }
  // Items without connections are below all others.
  const single = (index: number) => linked[index]?.length === 0
  const connected = levels.map((level) => level.filter((index) => !single(index))).filter((level) => level.length > 0)
  const rest = byDegree.filter(single).toSorted((one, other) => one - other)
  const all = rest.length > 0 ? [...connected, rest] : connected
  const widest = Math.max(...all.map((level) => level.length))
  const columns = Math.max(1, Math.min(widest, columnsFor(count, input) + 2))
  const cells: Cell[] = input.keys.map(() => ({ column: 0, row: 0 }))
  let row = 0
  for (const level of all) {
    for (let start = 0; start < level.length; start += columns, row++) {
      const part = level.slice(start, start + columns)
      // Whole cells, so that the space between the columns is free in all rows.
      const shift = Math.floor((columns - part.length) / 2)
      for (const [place, index] of part.entries()) cells[index] = { column: shift + place, row }
    }
  }
  return { columns, rows: Math.max(1, row), cells }
}

const iterations = { few: 120, many: 50 } as const
const manyItems = 400
/** The number of cells per item, so that connected items can be close together and others apart. */
const cellsPerItem = 1.7

export function forceLayout(input: ArrangementInput): Grid {
  const count = input.keys.length
  if (count < 3) return plainGrid(input)
  const { linked } = linksOf(input)
  const columns = columnsFor(Math.ceil(count * cellsPerItem), input)
  const rows = Math.max(1, Math.ceil((count * cellsPerItem) / columns))
  const { x, y } = relaxed(linked)
  return { columns, rows, cells: snapped(fitted(x, columns), fitted(y, rows), { columns, rows, linked }) }
}

/** Moves connected items together and all items apart. Starts with a spiral, so the result is always the same. */
function relaxed(linked: readonly (readonly number[])[]): { x: Float64Array; y: Float64Array } {
  const count = linked.length
  const x = Float64Array.from({ length: count }, (_, index) => Math.sqrt(index + 1) * Math.cos(index * goldenAngle))
  const y = Float64Array.from({ length: count }, (_, index) => Math.sqrt(index + 1) * Math.sin(index * goldenAngle))
  const rounds = count > manyItems ? iterations.many : iterations.few
  const [forceX, forceY] = [new Float64Array(count), new Float64Array(count)]
  for (let round = 0; round < rounds; round++) {
    forceX.fill(0)
    forceY.fill(0)
    for (let one = 0; one < count; one++) {
      for (let other = one + 1; other < count; other++) {
        const [dx, dy] = [(x[one] ?? 0) - (x[other] ?? 0), (y[one] ?? 0) - (y[other] ?? 0)]
        const force = 1 / (dx * dx + dy * dy + 0.01)
        add(forceX, one, dx * force)
        add(forceY, one, dy * force)
        add(forceX, other, -dx * force)
        add(forceY, other, -dy * force)
      }
      for (const other of linked[one] ?? []) {
        add(forceX, one, ((x[other] ?? 0) - (x[one] ?? 0)) * attraction)
        add(forceY, one, ((y[other] ?? 0) - (y[one] ?? 0)) * attraction)
      }
      add(forceX, one, -(x[one] ?? 0) * gravity)
      add(forceY, one, -(y[one] ?? 0) * gravity)
    }
    const step = 1 - round / rounds
    for (let index = 0; index < count; index++) {
      const length = Math.hypot(forceX[index] ?? 0, forceY[index] ?? 0) || 1
      const move = (Math.min(length, 2) / length) * step
      add(x, index, (forceX[index] ?? 0) * move)
      add(y, index, (forceY[index] ?? 0) * move)
    }
  }
  return { x, y }
}

const goldenAngle = 2.399963229728653
const attraction = 0.35
const gravity = 0.03

function add(values: Float64Array, index: number, difference: number): void {
  values[index] = (values[index] ?? 0) + difference
}

/** Scales the values to the range of the cells. */
function fitted(values: Float64Array, cells: number): number[] {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const range = high - low || 1
  return [...values].map((value) => ((value - low) / range) * (cells - 1))
}

type SnapOptions = { columns: number; rows: number; linked: readonly (readonly number[])[] }

/** Moves each item to the nearest free cell. Items with many connections choose first. */
function snapped(x: readonly number[], y: readonly number[], { columns, rows, linked }: SnapOptions): Cell[] {
  const free = new Set(Array.from({ length: columns * rows }, (_, cell) => cell))
  const cells: Cell[] = x.map(() => ({ column: 0, row: 0 }))
  const order = x
    .map((_, index) => index)
    .toSorted((one, other) => (linked[other]?.length ?? 0) - (linked[one]?.length ?? 0) || one - other)
  for (const index of order) {
    const [toX, toY] = [x[index] ?? 0, y[index] ?? 0]
    let best = -1
    let distance = Number.POSITIVE_INFINITY
    const wanted = Math.round(toY) * columns + Math.round(toX)
    if (free.has(wanted)) best = wanted
    else
      for (const cell of free) {
        const away = (Math.floor(cell / columns) - toY) ** 2 + ((cell % columns) - toX) ** 2
        if (away < distance) [best, distance] = [cell, away]
      }
    free.delete(best)
    cells[index] = { column: best % columns, row: Math.floor(best / columns) }
  }
  return cells
}
