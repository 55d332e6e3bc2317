/** `SavedView` is a view of the asset table that the user has saved, with the search parameters of its URL. */
export type SavedView = { id: string; name: string; search: Readonly<Record<string, string>> }

/**
 * Returns the valid views of a stored preference, because an older version of the console may have stored another
 * format.
 */
export function savedViewsOf(stored: unknown): SavedView[] {
  if (!Array.isArray(stored)) return []
  return stored.filter(
    (each): each is SavedView =>
      typeof each === 'object' &&
      each !== null &&
      typeof each.id === 'string' &&
      typeof each.name === 'string' &&
      typeof each.search === 'object' &&
      each.search !== null,
  )
}
