/** The keys of the items and groups of the map. */

/** The key of the whole map. */
export const rootKey = ''

export function groupKey(key: string): string {
  return `group/${key}`
}

export function assetItemKey(id: string): string {
  return `asset/${id}`
}
