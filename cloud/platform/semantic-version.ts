/** Comparison of semantic versions by precedence (semver.org, version 2.0.0, section 11). Build metadata is ignored. */

type SemanticVersion = { numbers: readonly number[]; preRelease: readonly string[] }

const pattern = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$/

function parse(text: string): SemanticVersion | undefined {
  const match = pattern.exec(text.trim())
  if (match === null) return undefined
  const [, major, minor, patch, preRelease] = match
  return { numbers: [major, minor, patch].map(Number), preRelease: preRelease?.split('.') ?? [] }
}

/** Returns whether a version equals the minimum or is later. Returns false for text that is not a semantic version. */
export function isAtLeast(version: string, minimum: string): boolean {
  const [one, other] = [parse(version), parse(minimum)]
  return one !== undefined && other !== undefined && compare(one, other) >= 0
}

function compare(one: SemanticVersion, other: SemanticVersion): number {
  const difference = one.numbers.map((number, index) => number - (other.numbers[index] ?? 0)).find((by) => by !== 0)
  return difference ?? comparePreReleases(one.preRelease, other.preRelease)
}

/**
 * Compares the pre-release parts of two versions. A release comes after its pre-releases. For two pre-releases, the first
 * identifier that differs decides.
 */
function comparePreReleases(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return other.length - one.length
  for (const [index, identifier] of one.entries()) {
    const against = other[index]
    if (against === undefined) return 1
    const order = compareIdentifiers(identifier, against)
    if (order !== 0) return order
  }
  return one.length - other.length
}

function compareIdentifiers(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)]
  if (isNumber && isOtherNumber) return Number(one) - Number(other)
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return one < other ? -1 : one > other ? 1 : 0
}
