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
  /** Which columns are shown, and how wide each is. */
  #layout: readonly { index: number; width: number }[] | undefined

  constructor(columns: Columns, screen: Screen = {}) {
    this.#columns = columns
    this.#screen = screen
  }

  /** The next lines, with the headings above the first. */
  lines(rows: readonly Row[]): string[] {
    const cells = rows.map((row) => Object.values(this.#columns).map((column) => shown(cellOf(row, column))))
    if (this.#layout !== undefined) return cells.map((line) => this.#line(line))
    const headings = Object.keys(this.#columns).map((name) => name.toUpperCase())
    this.#layout = layoutOf(headings, cells, this.#screen.columns)
    const head = this.#line(headings)
    return [
      this.#screen.hasColour ? styleText('bold', head, { validateStream: false }) : head,
      ...cells.map((line) => this.#line(line)),
    ]
  }

  #line(cells: readonly string[]): string {
    return (this.#layout ?? [])
      .map(({ index, width }) => padded(cut(cells[index] ?? '', width), width))
      .join(' '.repeat(gap))
      .trimEnd()
  }
}

type Wanted = { index: number; width: number; isWhole: boolean; isEmpty: boolean }

function layoutOf(headings: readonly string[], cells: readonly string[][], screen: number | undefined) {
  const all = headings.map((heading, index): Wanted => {
    const own = cells.map((line) => line[index] ?? '')
    return {
      index,
      width: Math.max(widthOf(heading), ...own.map(widthOf)),
      isWhole: own.every((cell) => isIdOrNothing.test(cell)) && own.some((cell) => cell !== ''),
      isEmpty: own.every((cell) => cell === ''),
    }
  })
  return screen === undefined ? all : fitted(withRoom(all, screen), screen)
}

/** Where not even the least of each fits, columns without anything in them go first, then those at the end. */
function withRoom(all: readonly Wanted[], screen: number): Wanted[] {
  const kept = [...all]
  const needed = () =>
    sum(kept.map(({ width, isWhole }) => (isWhole ? width : Math.min(width, least)))) + gap * (kept.length - 1)
  while (needed() > screen && kept.length > 2) {
    const empty = kept.findLastIndex(({ isEmpty }) => isEmpty)
    kept.splice(empty > 0 ? empty : kept.length - 1, 1)
  }
  return kept
}

const isIdOrNothing = /^([0-9a-f]{8}-[0-9a-f-]{27})?$/

/** The widest column gives first; ids are worth nothing when they are cut, so they stay. */
function fitted(columns: readonly Wanted[], screen: number): Wanted[] {
  const fit = columns.map((column) => ({ ...column }))
  const room = screen - gap * (fit.length - 1)
  for (let over = sum(fit.map(({ width }) => width)) - room; over > 0; over--) {
    const widest = fit.filter(({ isWhole }) => !isWhole).toSorted((a, b) => b.width - a.width)[0]
    if (widest === undefined || widest.width <= least) break
    widest.width -= 1
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
