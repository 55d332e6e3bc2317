/** A table for people: columns as wide as they need to be. */
export function table(rows: readonly Record<string, unknown>[]): string {
  const columns = Object.keys(rows[0] ?? {})
  const cells = [columns.map(heading), ...rows.map((row) => columns.map((name) => String(row[name] ?? '')))]
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)))
  return cells
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** `createdTimestamp` as people read it. */
function heading(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1 $2').toUpperCase()
}
