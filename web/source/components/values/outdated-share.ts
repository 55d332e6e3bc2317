/** A share of outdated assets that is this number of percentage points above the average is an exception. */
export const exceptionalPoints = 5

/** Returns the percentage from which a share of outdated assets is an exception. Percentages are rounded, as they are shown. */
export function exceptionalPercentage(average: number): number {
  return Math.round(average * 100) + exceptionalPoints
}

/** Returns whether a share of outdated assets is clearly above the average. Without an average, no share is. */
export function isExceptionalShare(share: number, average: number | undefined): boolean {
  return average !== undefined && Math.round(share * 100) >= exceptionalPercentage(average)
}
