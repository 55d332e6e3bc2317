import { andFilters, quoted } from '../filter/filter-conditions.ts'

/**
 * `View` is the state of the asset table in the URL. With a shared link, another user sees the same view, limited by
 * that user's permissions.
 */
export type View = {
  /** The search text of the full-text search. */
  q: string
  /** With the value `inside`, the search also finds text inside words. Otherwise it finds the beginnings of words. */
  match: string | undefined
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
    match: text('match'),
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

const product = 'product_instance_information/manufacturer_product'

/** The properties in which a search inside words looks. They are columns of the database, so that the search is fast. */
const searchedInside = [
  'name',
  'product_instance_information/serial_number',
  `${product}/product_name`,
  `${product}/product_id`,
  `${product}/manufacturer/name`,
  'description',
]

/** The maximum number of words in a search inside words. The filter language limits the number of conditions. */
const maxWords = 6

export type AssetQuery = { filter: string; q: string; caseInsensitive?: boolean }

/**
 * Returns the query for the assets of a view. The full-text index finds the beginnings of words, so a search inside words
 * is a filter: each word of the search must occur in one of the properties.
 */
export function queryOf(view: Pick<View, 'q' | 'match' | 'filter' | 'by' | 'in'>): AssetQuery {
  const filter = effectiveFilter(view)
  const words = view.q.split(/\s+/u).filter(Boolean).slice(0, maxWords)
  if (view.match !== 'inside' || words.length === 0) return { filter, q: view.q }
  const inside = words.map(
    (word) => `(${searchedInside.map((path) => `contains(${path}, ${quoted(word)})`).join(' or ')})`,
  )
  return { filter: andFilters(filter, inside.join(' and ')), q: '', caseInsensitive: true }
}
