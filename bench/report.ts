/** `Report` is the result of a benchmark: the rows of a table, and the goals with their results. */
export type Report = { title: string; rows: Row[]; goals: Goal[] }

export type Row = Record<string, string | number>

export type Goal = { goal: string; found: string; reached: boolean }

export function print({ title, rows, goals }: Report): string {
  const verdicts = goals.map(({ goal, found, reached }) => `${reached ? 'reached' : 'MISSED '}  ${goal}: ${found}`)
  return [title, '', table(rows), '', ...verdicts, ''].join('\n')
}

/** Formats rows as a table. Text is aligned left and numbers are aligned right, with their significant digits. */
function table(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const isNumber = (name: string) => rows.every((row) => typeof row[name] !== 'string')
  const lines = [columns, ...rows.map((row) => columns.map((name) => shown(row[name])))]
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)))
  const aligned = lines.map((line) =>
    line
      .map((cell, index) =>
        isNumber(columns[index] ?? '') ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0),
      )
      .join('   ')
      .trimEnd(),
  )
  return aligned.map((line) => `  ${line}`).join('\n')
}

function shown(value: string | number | undefined): string {
  if (typeof value !== 'number') return value ?? ''
  return rounded(value).toLocaleString('en', { maximumFractionDigits: 3 })
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
