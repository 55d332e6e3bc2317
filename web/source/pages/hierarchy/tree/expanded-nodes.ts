/**
 * The expanded nodes of a tree. They are stored for the browser tab, so that the tree looks the same after the page is
 * loaded again.
 */

/** The maximum number of stored nodes. The children of each node are loaded with a separate request. */
const maxStored = 200

type TabStorage = Pick<Storage, 'getItem' | 'setItem'>

function keyOf(hierarchyId: string): string {
  return `millwright.expanded.${hierarchyId}`
}

export function loadExpanded(storage: TabStorage, hierarchyId: string): ReadonlySet<string> {
  const ids = (storage.getItem(keyOf(hierarchyId)) ?? '').split(' ')
  return new Set(ids.filter((id) => id !== ''))
}

/** Returns whether the expanded nodes were stored before in this browser tab. */
export function hasStored(storage: TabStorage, hierarchyId: string): boolean {
  return storage.getItem(keyOf(hierarchyId)) !== null
}

/** Stores the nodes that were expanded last. */
export function saveExpanded(storage: TabStorage, hierarchyId: string, ids: ReadonlySet<string>): void {
  storage.setItem(keyOf(hierarchyId), [...ids].slice(-maxStored).join(' '))
}
