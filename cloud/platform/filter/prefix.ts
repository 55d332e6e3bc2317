const highest = 0x10ffff
const firstSurrogate = 0xd800
const afterSurrogates = 0xe000

/**
 * Returns the first text after all texts that start with the prefix, or undefined if there is none. Texts are ordered
 * by code point. The result is the end of a range condition, which can use an index. `like` cannot use the index,
 * because it is not leakproof and the tables have row-level security.
 */
export function afterPrefix(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === highest) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  const next = last + 1 === firstSurrogate ? afterSurrogates : last + 1
  return String.fromCodePoint(...points, next)
}
