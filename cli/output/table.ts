import { styleText } from 'node:util'
import { displayText, displayWidth, pad, truncate } from './text.ts'

/** `Columns` maps each heading to the path of a field, or to a function that returns the value for a row. */
export type Columns = Readonly<Record<string, string | ((row: Row) => unknown)>>

export type Row = Readonly<Record<string, unknown>>

type Screen = { columns?: number | undefined; hasColour?: boolean }

const gap = 2
/** The minimum width of a column. If the minimum widths do not fit, the table is wider than the terminal. */
const minWidth = 12

/**
 * `Table` formats rows as text. The first rows determine the widths of the columns. The columns fit into the width of
 * the terminal if possible.
 */
export class Table {
  readonly #columns: Columns
  readonly #screen: Screen
  /** The visible columns with their widths. */
  #layout: readonly { index: number; width: number }[] | undefined

  constructor(columns: Columns, screen: Screen = {}) {
    this.#columns = columns
    this.#screen = screen
  }

  /** Formats rows. The first call also returns the headings. */
  lines(rows: readonly Row[]): string[] {
    const cells = rows.map((row) => Object.values(this.#columns).map((column) => displayText(cellOf(row, column))))
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
      .map(({ index, width }) => pad(this.#fit(cells[index] ?? '', width), width))
      .join(' '.repeat(gap))
      .trimEnd()
  }

  /** Truncates a cell for a terminal. In a file or a pipe, cells are complete. */
  #fit(cell: string, width: number): string {
    return this.#screen.columns === undefined ? cell : truncate(cell, width)
  }
}

type ColumnLayout = { index: number; width: number; isAtomic: boolean; isEmpty: boolean }

function layoutOf(headings: readonly string[], cells: readonly string[][], screen: number | undefined) {
  const all = headings.map((heading, index): ColumnLayout => {
    const own = cells.map((line) => line[index] ?? '')
    return {
      index,
      width: Math.max(displayWidth(heading), ...own.map(displayWidth)),
      isAtomic: own.every((cell) => atomicOrEmpty.test(cell)) && own.some((cell) => cell !== ''),
      isEmpty: own.every((cell) => cell === ''),
    }
  })
  return screen === undefined ? all : fitWidths(dropColumns(all, screen), screen)
}

/** Removes columns until the table fits at minimum widths: empty columns first, then the last column. */
function dropColumns(all: readonly ColumnLayout[], screen: number): ColumnLayout[] {
  const visible = [...all]
  const needed = () =>
    sum(visible.map(({ width, isAtomic }) => (isAtomic ? width : Math.min(width, minWidth)))) +
    gap * (visible.length - 1)
  while (needed() > screen && visible.length > 2) {
    const empty = visible.findLastIndex(({ isEmpty }) => isEmpty)
    visible.splice(empty > 0 ? empty : visible.length - 1, 1)
  }
  return visible
}

/** Matches an id, an IPv4 address, a MAC address, or no text. */
const atomicOrEmpty = /^([0-9a-f]{8}-[0-9a-f-]{27}|\d{1,3}(\.\d{1,3}){3}|[0-9A-F]{2}(:[0-9A-F]{2}){5})?$/

/**
 * Reduces the width of the widest column until the table fits. Ids and addresses are never truncated, because a part of
 * them is useless.
 */
function fitWidths(columns: readonly ColumnLayout[], screen: number): ColumnLayout[] {
  const fit = columns.map((column) => ({ ...column }))
  const available = screen - gap * (fit.length - 1)
  for (let over = sum(fit.map(({ width }) => width)) - available; over > 0; over--) {
    const widest = fit.filter(({ isAtomic }) => !isAtomic).toSorted((a, b) => b.width - a.width)[0]
    if (widest === undefined || widest.width <= minWidth) break
    widest.width -= 1
  }
  return fit
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

export function cellOf(row: Row, column: Columns[string]): unknown {
  return typeof column === 'function' ? column(row) : valueAt(row, column)
}

/** Returns the value at the path `a.b.c` of a document. A field whose own name is the whole path has priority. */
export function valueAt(row: unknown, path: string): unknown {
  if (typeof row !== 'object' || row === null) return undefined
  if (path in row) return (row as Row)[path]
  const [first = '', ...rest] = path.split(/[./]/)
  if (rest.length === 0) return undefined
  const inner = (row as Row)[first]
  if (Array.isArray(inner))
    return inner.map((entry) => valueAt(entry, rest.join('.'))).filter((value) => value !== undefined)
  return valueAt(inner, rest.join('.'))
}

/** Formats rows as a table with one column per field. */
export function table(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {}).map((name) => [heading(name), name])
  return new Table(Object.fromEntries(columns)).lines(rows).join('\n')
}

/** Splits a camel-case name: `createdTimestamp` becomes `created Timestamp`. */
function heading(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1 $2')
}
