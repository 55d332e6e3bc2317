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
