/** `HierarchySearch` is the name of a search parameter of the hierarchy page. */
export type HierarchySearch = 'hierarchy' | 'node' | 'view' | 'below' | 'q' | 'filter' | 'sort' | 'add'

/** `Place` is the part of a hierarchy whose assets the page shows. */
export type Place = { kind: 'all' } | { kind: 'unassigned' } | { kind: 'node'; id: string }

export function placeOf(node: string | undefined): Place {
  if (node === undefined || node === 'all') return { kind: 'all' }
  return node === 'unassigned' ? { kind: 'unassigned' } : { kind: 'node', id: node }
}

/**
 * Returns the value of the search parameter `node` for a place. The place `all` is the default and has no value.
 */
export function searchOfPlace(place: Place): string | undefined {
  if (place.kind === 'node') return place.id
  return place.kind === 'unassigned' ? 'unassigned' : undefined
}
