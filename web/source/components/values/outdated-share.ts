/** A share of outdated assets that exceeds the average by this factor is an exception. */
export const exceptionalShare = 1.15

/** Returns whether a share of outdated assets is clearly above the average. Without an average, no share is. */
export function isExceptionalShare(share: number, average: number | undefined): boolean {
  return average !== undefined && share > average * exceptionalShare
}
