type PathsOfAssets = { data: readonly { assetId: string; paths: readonly { path: readonly { name: string }[] }[] }[] }

/**
 * Returns the names on the path from the top of a hierarchy to the node of each asset. If an asset has nodes in several hierarchies,
 * the first one is its place. An asset without a node has no names. Assets that are not loaded, or that the user cannot read, are
 * left out.
 */
export function placeNames(answers: readonly (PathsOfAssets | undefined)[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    answers
      .flatMap((answer) => answer?.data ?? [])
      .map(({ assetId, paths }) => [assetId, (paths[0]?.path ?? []).map(({ name }) => name)]),
  )
}

/** Returns whether at least half of the assets have a place. A list of assets with fewer places shows no column for them. */
export function mostHavePlaces(assets: readonly { id: string }[], placeOf: (id: string) => readonly string[]): boolean {
  const count = assets.filter(({ id }) => placeOf(id).length > 0).length
  return count > 0 && count * 2 >= assets.length
}
