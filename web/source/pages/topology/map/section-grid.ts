import type { Cell, Grid } from './arrangement.ts'

/**
 * Arranges items in sections, for example subnets by area. A large section starts a new row, so that its items are side by side. Small
 * sections share rows.
 */

type SectionInput = {
  /** The section of each item. Items of the same section are together. */
  sections: readonly string[]
  /** The width of the area divided by its height, and the same of one cell. */
  aspect: number
  cellAspect: number
}

/** The limits of the number of columns, and the weight of empty cells in the choice of this number. */
const columnLimits = { lowest: 2, highest: 16 } as const
const emptyWeight = 0.6

/** Returns the grid, or undefined if there is only one section. */
export function sectionGrid({ sections, aspect, cellAspect }: SectionInput): Grid | undefined {
  const members = [...Map.groupBy(sections.keys(), (index) => sections[index] ?? '').values()]
  if (members.length < 2) return undefined
  const bySize = members.toSorted((one, other) => other.length - one.length)
  let best: { grid: Grid; cost: number } | undefined
  for (let columns = columnLimits.lowest; columns <= columnLimits.highest; columns++) {
    const { rows, cells } = packed(bySize, columns, sections.length)
    const shape = Math.abs(Math.log((columns * cellAspect) / (rows * aspect)))
    const cost = shape + emptyWeight * (1 - sections.length / (columns * rows))
    if (best === undefined || cost < best.cost) best = { grid: { columns, rows, cells }, cost }
  }
  return best?.grid
}

/** Places the sections row by row. A section that does not fit into the rest of the row starts the next one. */
function packed(
  sections: readonly (readonly number[])[],
  columns: number,
  count: number,
): { rows: number; cells: Cell[] } {
  const cells: Cell[] = Array.from({ length: count }, () => ({ column: 0, row: 0 }))
  let next = 0
  for (const section of sections) {
    const free = columns - (next % columns)
    if (next % columns > 0 && section.length > free) next += free
    for (const index of section) {
      cells[index] = { column: next % columns, row: Math.floor(next / columns) }
      next++
    }
  }
  return { rows: Math.max(1, Math.ceil(next / columns)), cells }
}
