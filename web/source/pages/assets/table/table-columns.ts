import { type AssetProperty, assetProperties, defaultPaths } from '../model/asset-property.ts'

/** `TableColumn` is a column of the asset table: the path of its property, its width, and whether it is pinned. */
export type TableColumn = { path: string; width: number; isPinned: boolean }

const maxColumns = 30

export function defaultColumns(paths: readonly string[] = defaultPaths): TableColumn[] {
  return paths.map((path) => ({
    path,
    width: assetProperties.find((each) => each.path === path)?.width ?? 160,
    isPinned: path === 'name',
  }))
}

/**
 * Returns the valid columns of a stored preference, or the columns of `paths`. Columns of properties that no longer
 * exist are left out.
 */
export function tableColumnsOf(
  stored: unknown,
  properties: readonly AssetProperty[],
  paths: readonly string[] = defaultPaths,
): TableColumn[] {
  if (!Array.isArray(stored)) return defaultColumns(paths)
  const columns = stored.flatMap((each): TableColumn[] => {
    const property = properties.find(({ path }) => path === each?.path)
    if (property === undefined) return []
    const width = typeof each.width === 'number' && each.width >= 60 ? each.width : property.width
    return [{ path: property.path, width, isPinned: each.isPinned === true }]
  })
  return columns.length === 0 ? defaultColumns(paths) : pinnedFirst(columns.slice(0, maxColumns))
}

/** Returns the columns that the URL names. A column that the user has stored keeps its width. */
export function namedColumns(
  names: string,
  own: readonly TableColumn[],
  properties: readonly AssetProperty[],
): TableColumn[] {
  const columns = names.split(',').flatMap((path): TableColumn[] => {
    const property = properties.find((each) => each.path === path)
    if (property === undefined) return []
    return [own.find((each) => each.path === path) ?? { path, width: property.width, isPinned: false }]
  })
  return columns.length === 0 ? [...own] : pinnedFirst(columns)
}

export function pinnedFirst(columns: readonly TableColumn[]): TableColumn[] {
  return columns.toSorted((one, other) => Number(other.isPinned) - Number(one.isPinned))
}

/** Moves a column to another position. Pinned columns always stay on the left. */
export function movedColumn(columns: readonly TableColumn[], path: string, to: number): TableColumn[] {
  return pinnedFirst(
    moved(
      columns,
      columns.findIndex((each) => each.path === path),
      to,
    ),
  )
}

export function pinToggled(columns: readonly TableColumn[], path: string): TableColumn[] {
  return pinnedFirst(columns.map((each) => (each.path === path ? { ...each, isPinned: !each.isPinned } : each)))
}

function moved<Item>(items: readonly Item[], from: number, to: number): Item[] {
  const rest = items.toSpliced(from, 1)
  const item = items[from]
  return item === undefined || to < 0 || to >= items.length ? [...items] : rest.toSpliced(to, 0, item)
}
