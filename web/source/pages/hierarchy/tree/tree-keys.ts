/** `TreeRow` is a visible row of a tree, with the information that the keyboard navigation needs. */
export type TreeRow = { level: number; name: string; isExpandable: boolean; isExpanded: boolean }

/** `TreeStep` is the effect of a key: the focus moves to another row, or the current row is expanded or collapsed. */
export type TreeStep = { focus: number } | { expand: boolean }

/**
 * Returns the effect of a key in a tree, according to the tree view pattern of WAI-ARIA. `rows` contains all visible
 * rows in display order. Returns undefined if the key has no effect.
 */
export function treeStep(key: string, rows: readonly TreeRow[], at: number): TreeStep | undefined {
  const row = rows[at]
  if (row === undefined) return undefined
  if (key === 'ArrowRight' && row.isExpandable) {
    if (!row.isExpanded) return { expand: true }
    return (rows[at + 1]?.level ?? 0) > row.level ? { focus: at + 1 } : undefined
  }
  if (key === 'ArrowLeft' && row.isExpanded) return { expand: false }
  const to = targetOf(key, rows, at)
  return to === undefined || to < 0 || to >= rows.length ? undefined : { focus: to }
}

function targetOf(key: string, rows: readonly TreeRow[], at: number): number | undefined {
  if (key === 'ArrowDown') return at + 1
  if (key === 'ArrowUp') return at - 1
  if (key === 'Home') return 0
  if (key === 'End') return rows.length - 1
  if (key === 'ArrowLeft') return rows.findLastIndex(({ level }, index) => index < at && level < (rows[at]?.level ?? 0))
  return key.length === 1 && key !== ' ' ? startingWith(key, rows, at) : undefined
}

/**
 * Returns the index of the next row whose name starts with a letter. After the last row, the search continues at the
 * first row.
 */
function startingWith(letter: string, rows: readonly TreeRow[], at: number): number | undefined {
  const order = rows.map((_, index) => (at + 1 + index) % rows.length)
  return order.find((index) => rows[index]?.name.toLowerCase().startsWith(letter.toLowerCase()))
}
