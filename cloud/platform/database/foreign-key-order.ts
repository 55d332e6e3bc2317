/** Orders tables so that each table comes after the tables that its foreign keys reference. */
export function inForeignKeyOrder<T extends { name: string; needs: readonly string[] }>(tables: readonly T[]): T[] {
  const ordered = new Set<T>()
  const visit = (table: T, path: Set<T>) => {
    if (ordered.has(table) || path.has(table)) return
    path.add(table)
    for (const need of table.needs) {
      const needed = tables.find((other) => other.name === need)
      if (needed !== undefined) visit(needed, path)
    }
    ordered.add(table)
  }
  for (const table of tables) visit(table, new Set())
  return [...ordered]
}
