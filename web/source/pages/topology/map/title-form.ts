/** The widths of the texts of a title. The counts and the problems are ordered from the longest to the shortest text. */
export type TitleWidths = { name: number; counts: readonly number[]; problems: readonly number[] }

/** The positions of the count and of the problems in their lists. */
export type TitleForm = { count: number; problems: number }

/**
 * Returns the longest form that fits in all titles of a map, so that they have the same form. A shorter form of the problems comes
 * before a shorter count. A title with fewer texts uses its shortest text. Returns undefined if no form fits.
 */
export function sharedForm(
  titles: readonly TitleWidths[],
  { room, gap }: { room: number; gap: number },
): TitleForm | undefined {
  const longest = (lengths: readonly number[]) => Math.max(1, ...lengths)
  const counts = longest(titles.map((title) => title.counts.length))
  const problems = longest(titles.map((title) => title.problems.length))
  const forms = Array.from({ length: counts * problems }, (_, index) => ({
    count: Math.floor(index / problems),
    problems: index % problems,
  }))
  return forms.find((form) =>
    titles.every((title) => {
      const widths = [inForm(title.counts, form.count), inForm(title.problems, form.problems)]
      return widths.reduce<number>((sum, width) => sum + (width === undefined ? 0 : gap + width), title.name) <= room
    }),
  )
}

/** Returns the text at a position, or the shortest one. */
export function inForm<Text>(texts: readonly Text[], position: number): Text | undefined {
  return texts[Math.min(position, texts.length - 1)]
}

/** Returns the shortest text that contains all parts, and then the texts with fewer parts, so that boxes have the same words. */
export function briefTexts<Part>(texts: readonly (readonly Part[])[]): (readonly Part[])[] {
  return texts.slice(Math.max(0, completeTexts(texts).length - 1))
}

/** Returns the texts that contain all parts, from the longest to the shortest text. */
export function completeTexts<Part>(texts: readonly (readonly Part[])[]): (readonly Part[])[] {
  const most = Math.max(0, ...texts.map(({ length }) => length))
  return texts.filter(({ length }) => length === most)
}

/**
 * Divides the problems of a box into its two lines: the second problem is next to the name if it fits there, and the others are below it.
 * Without space for all of them, the second line has only the most important problem.
 */
export function twoLines<Part>(
  texts: readonly (readonly Part[])[],
  fitsBeside: (parts: readonly Part[]) => boolean,
): { first: readonly Part[] | undefined; second: readonly (readonly Part[])[] } {
  const [problem, beside, ...others] = texts[0] ?? []
  if (problem === undefined || beside === undefined || !fitsBeside([beside])) return { first: undefined, second: texts }
  return { first: [beside], second: others.length === 0 ? [[problem]] : [[problem, ...others], [problem]] }
}
