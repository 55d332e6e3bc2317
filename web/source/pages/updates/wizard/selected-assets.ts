/**
 * This file stores the assets that the user selected in a table in memory, so that the wizard can use them as targets.
 * After a reload of the page they are not available.
 */

let selected: readonly string[] = []

export function setSelectedAssets(ids: Iterable<string>): void {
  selected = [...ids]
}

export function selectedAssets(): readonly string[] {
  return selected
}
