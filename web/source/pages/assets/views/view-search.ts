import { andFilters, quoted } from '../filter/filter-conditions.ts'

/**
 * `View` is the state of the asset table in the URL. With a shared link, another user sees the same view, limited by
 * that user's permissions.
 */
export type View = {
  /** The search text of the full-text search. */
  q: string
  /** The filter, in the filter language. */
  filter: string
  /** The sort order, for example `name` or `-last_modified_timestamp`. */
  sort: string
  /** The path of the property by which assets are grouped. */
  by: string
  /** The value of the selected group. The text `null` selects the assets without a value. */
  in: string | undefined
  /** The paths of the columns, separated by commas. If undefined, the columns of the user are shown. */
  columns: string | undefined
}

export type ViewSearch = Partial<Record<keyof View, string>>

export function viewOf(search: Readonly<Record<string, unknown>>): View {
  const text = (name: keyof View) => {
    const value = search[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  return {
    q: text('q') ?? '',
    filter: text('filter') ?? '',
    sort: text('sort') ?? '',
    by: text('by') ?? '',
    in: text('in'),
    columns: text('columns'),
  }
}

/** Returns the search parameters of a view. Empty values are left out. */
export function searchOf(view: Partial<View>): ViewSearch {
  const entries = Object.entries(view).filter(([, value]) => value !== undefined && value !== '')
  return Object.fromEntries(entries) as ViewSearch
}

/** Returns the filter of a view, combined with the condition for the selected group. */
export function effectiveFilter({ filter, by, in: group }: Pick<View, 'filter' | 'by' | 'in'>): string {
  if (by === '' || group === undefined) return filter.trim()
  return andFilters(filter, group === 'null' ? `${by} eq null` : `${by} eq ${quoted(group)}`)
}

export type SavedView = { id: string; name: string; search: ViewSearch }

/**
 * Returns the valid views of a stored preference, because an older version of the console may have stored another
 * format.
 */
export function savedViewsOf(stored: unknown): SavedView[] {
  if (!Array.isArray(stored)) return []
  return stored.filter(
    (each): each is SavedView =>
      typeof each === 'object' && each !== null && typeof each.id === 'string' && typeof each.name === 'string',
  )
}
