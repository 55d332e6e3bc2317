import type { GridColumn } from './grid-column.ts'

/** A column that is wider than this does not get more width for its content. */
const maxContentWidth = 420

type SizedColumn = Pick<GridColumn<never>, 'width' | 'minWidth' | 'isGrowing' | 'isFixed'>

/**
 * Returns the widths of columns in a table. `contents` are the widths that the contents of the columns need. If the table is wide
 * enough, each column has its own width, or more if its content needs more. In a narrower table, columns first lose the width
 * that their content does not need. Then columns with a minimum width shrink to it, and then the others to their own width. If
 * that is not enough, the table scrolls, and all contents are complete. A column that the user has resized keeps its width.
 */
export function columnWidths(
  columns: readonly SizedColumn[],
  contents: readonly number[],
  available: number,
): number[] {
  const levels = columns.map((column, place) => levelsOf(column, contents[place] ?? column.width))
  const least = levels.map(([first]) => first)
  // A table that scrolls anyway does not cut contents.
  if (sumOf(least) > available) return levels.map(([, , needed]) => needed)
  let [lower, widths] = [least, least]
  for (const level of [0, 1, 2, 3] as const) {
    const upper = levels.map((each) => each[level])
    const [from, to] = [sumOf(lower), sumOf(upper)]
    const share = to <= from ? 1 : Math.min(1, Math.max(0, (available - from) / (to - from)))
    widths = lower.map((width, place) => Math.floor(width + ((upper[place] ?? width) - width) * share))
    if (share < 1) return widths
    lower = upper
  }
  return withFreeWidth(columns, widths, available - sumOf(widths))
}

/**
 * Returns the minimum width of a column, the width at which the columns with a minimum width have shrunk, the width for its content,
 * and its full width.
 */
function levelsOf({ width, minWidth, isFixed }: SizedColumn, content: number): [number, number, number, number] {
  if (isFixed) return [width, width, width, width]
  const needed = Math.min(content, Math.max(width, maxContentWidth))
  const full = Math.max(width, needed)
  const least = Math.min(minWidth ?? width, needed)
  return [least, minWidth === undefined ? needed : least, needed, full]
}

function withFreeWidth(columns: readonly SizedColumn[], widths: readonly number[], free: number): number[] {
  const growing = columns.filter(({ isGrowing }) => isGrowing).length
  if (growing === 0 || free <= 0) return [...widths]
  return widths.map((width, place) => (columns[place]?.isGrowing ? width + Math.floor(free / growing) : width))
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/**
 * Returns the widths that the contents of the rendered columns need. Rows that are still loading are left out. The table shows the
 * contents in their full width only during this measurement, so nothing moves on the screen.
 */
export function measureContents(content: HTMLElement, count: number): { widths: number[]; rows: number } {
  content.dataset.measuring = 'true'
  const widths = Array.from({ length: count }, () => 0)
  let rows = 0
  for (const row of content.querySelectorAll<HTMLElement>('.grid-row')) {
    if (row.querySelector('.grid-coming') !== null) continue
    const cells = [...row.querySelectorAll<HTMLElement>('.grid-cell:not(.grid-check)')]
    if (cells.length !== count) continue
    if (row.dataset.index !== undefined) rows += 1
    for (const [place, cell] of cells.entries())
      widths[place] = Math.max(widths[place] ?? 0, Math.ceil(cell.getBoundingClientRect().width))
  }
  delete content.dataset.measuring
  return { widths, rows }
}
