import { styleText } from 'node:util'
import { cut, padded, shown, widthOf } from './text.ts'

/** What stands in a column: the heading, and where in a row its value is found. */
export type Columns = Readonly<Record<string, string | ((row: Row) => unknown)>>

export type Row = Readonly<Record<string, unknown>>

type Screen = { columns?: number | undefined; hasColour?: boolean }

const gap = 2
/** A column is never cut to less than this; a table that still does not fit goes over the edge. */
const least = 8

/** A table whose columns are as wide as the first rows need, and together not wider than the screen. */
export class Table {
  readonly #columns: Columns
  readonly #screen: Screen
  #widths: readonly number[] | undefined

  constructor(columns: Columns, screen: Screen = {}) {
    this.#columns = columns
    this.#screen = screen
  }

  /** The next lines, with the headings above the first. */
  lines(rows: readonly Row[]): string[] {
    const cells = rows.map((row) => Object.values(this.#columns).map((column) => shown(cellOf(row, column))))
    if (this.#widths !== undefined) return cells.map((line) => this.#line(line))
    const headings = Object.keys(this.#columns).map((name) => name.toUpperCase())
    const isWhole = headings.map((_, index) => cells.every((line) => isIdOrNothing.test(line[index] ?? '')))
    this.#widths = fitted(widest([headings, ...cells]), isWhole, this.#screen.columns)
    const head = this.#line(headings)
    return [
      this.#screen.hasColour ? styleText('bold', head, { validateStream: false }) : head,
      ...cells.map((line) => this.#line(line)),
    ]
  }

  #line(cells: readonly string[]): string {
    const widths = this.#widths ?? []
    return cells
      .map((cell, index) => padded(cut(cell, widths[index] ?? 0), widths[index] ?? 0))
      .join(' '.repeat(gap))
      .trimEnd()
  }
}

function widest(lines: readonly (readonly string[])[]): number[] {
  const first = lines[0] ?? []
  return first.map((_, index) => Math.max(...lines.map((line) => widthOf(line[index] ?? ''))))
}

const isIdOrNothing = /^([0-9a-f]{8}-[0-9a-f-]{27})?$/

/** The widest column gives first; ids are worth nothing when they are cut, so they stay. */
function fitted(widths: readonly number[], isWhole: readonly boolean[], screen: number | undefined): number[] {
  const fit = [...widths]
  if (screen === undefined) return fit
  const room = screen - gap * (fit.length - 1)
  for (let over = sum(fit) - room; over > 0; over--) {
    const given = fit.map((width, index) => (isWhole[index] ? 0 : width))
    const largest = Math.max(...given)
    if (largest <= least) break
    fit[given.indexOf(largest)] = largest - 1
  }
  return fit
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

export function cellOf(row: Row, column: Columns[string]): unknown {
  return typeof column === 'function' ? column(row) : at(row, column)
}

/** `a.b.c` inside a document; a name with dots in it is looked for first. */
export function at(row: unknown, path: string): unknown {
  if (typeof row !== 'object' || row === null) return undefined
  if (path in row) return (row as Row)[path]
  const [first = '', ...rest] = path.split(/[./]/)
  if (rest.length === 0) return undefined
  const inner = (row as Row)[first]
  if (Array.isArray(inner))
    return inner.map((entry) => at(entry, rest.join('.'))).filter((value) => value !== undefined)
  return at(inner, rest.join('.'))
}

/** Rows as they are, every field a column. */
export function table(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {}).map((name) => [heading(name), name])
  return new Table(Object.fromEntries(columns)).lines(rows).join('\n')
}

/** `createdTimestamp` as people read it. */
function heading(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1 $2')
}
