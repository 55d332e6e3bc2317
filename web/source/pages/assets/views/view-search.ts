import { andFilters, quoted } from '../filter/filter-conditions.ts'

/** What is looked at, as it stands in the address: a link to it shows the same to everybody who may see it. */
export type View = {
  /** Free text. */
  q: string
  /** In the filter language. */
  filter: string
  /** As the platform reads it: `name`, `-last_modified_timestamp`. */
  sort: string
  /** The property that assets are grouped by. */
  by: string
  /** The group that is open; `null` as text is the group without a value. */
  in: string | undefined
  /** The columns, where the link names some. */
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

/** Without what is empty, so that addresses stay short. */
export function searchOf(view: Partial<View>): ViewSearch {
  const entries = Object.entries(view).filter(([, value]) => value !== undefined && value !== '')
  return Object.fromEntries(entries) as ViewSearch
}

/** What the platform is asked for. */
export function effectiveFilter({ filter, by, in: group }: Pick<View, 'filter' | 'by' | 'in'>): string {
  if (by === '' || group === undefined) return filter.trim()
  return andFilters(filter, group === 'null' ? `${by} eq null` : `${by} eq ${quoted(group)}`)
}

export type SavedView = { id: string; name: string; search: ViewSearch }

/** What was kept may be of any shape. */
export function savedViewsOf(stored: unknown): SavedView[] {
  if (!Array.isArray(stored)) return []
  return stored.filter(
    (each): each is SavedView =>
      typeof each === 'object' && each !== null && typeof each.id === 'string' && typeof each.name === 'string',
  )
}
