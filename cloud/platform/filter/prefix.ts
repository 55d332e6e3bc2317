const highest = 0x10ffff
const firstSurrogate = 0xd800
const afterSurrogates = 0xe000

/**
 * The first text, in the order of code points, after all that start with the prefix; nothing when all greater texts do.
 * A range finds a prefix by index where `like` cannot: it is not leakproof, so row-level security keeps it from the index.
 */
export function afterPrefix(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === highest) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  const next = last + 1 === firstSurrogate ? afterSurrogates : last + 1
  return String.fromCodePoint(...points, next)
}
