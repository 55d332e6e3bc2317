import type { Impact, ImpactedAsset } from '@millwright/api/inventory/impact.ts'

/** Returns a function that returns the paths of the nodes of an asset, without the name of the hierarchy. */
export function placesIn({ byNode }: Pick<Impact, 'byNode'>): (asset: Pick<ImpactedAsset, 'nodeIds'>) => string {
  const paths = new Map(byNode.map(({ nodeId, names }) => [nodeId, names.slice(1).join(' › ')]))
  return ({ nodeIds }) => nodeIds.flatMap((id) => paths.get(id) || []).join(', ')
}

/** Returns the place of the assets of an impact, if there are several assets and all of them are at the same place. */
export function commonPlace(impact: Pick<Impact, 'byNode' | 'assets'>): string | undefined {
  const [place, ...others] = impact.assets.map(placesIn(impact))
  return others.length > 0 && others.every((other) => other === place) ? place || undefined : undefined
}
