import type { Impact } from '@millwright/api/inventory/impact.ts'

/** Returns the path of each node of an impact without the name of the hierarchy, by the id of the node. */
export function placeNames({ byNode }: Pick<Impact, 'byNode'>): Map<string | undefined, string> {
  return new Map(byNode.map(({ nodeId, names }) => [nodeId, names.slice(1).join(' › ')]))
}

/** Returns the place of the assets of an impact, if there are several assets and all of them are at this place only. */
export function commonPlace(impact: Pick<Impact, 'byNode' | 'assets'>): string | undefined {
  const [first, ...others] = impact.assets
  const [place, ...further] = first?.nodeIds ?? []
  if (others.length === 0 || place === undefined || further.length > 0) return undefined
  const isCommon = others.every(({ nodeIds }) => nodeIds.length === 1 && nodeIds[0] === place)
  return isCommon ? placeNames(impact).get(place) : undefined
}
