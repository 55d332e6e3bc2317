/** Shortens texts for a canvas. */

const shortenedTexts = new Map<string, string>()
const maxShortenedTexts = 5_000

type ShortenOptions = { width: number; isEnd: boolean }

/** Returns the text, or its longest part that fits. Results are kept, because measuring is slow. */
export function shortened(context: CanvasRenderingContext2D, text: string, { width, isEnd }: ShortenOptions): string {
  const key = `${context.font} ${Math.round(width)} ${isEnd} ${text}`
  const known = shortenedTexts.get(key)
  if (known !== undefined) return known
  let shown = text
  if (context.measureText(text).width > width) {
    let [low, high] = [0, text.length]
    const part = (length: number) => (isEnd ? `…${text.slice(text.length - length)}` : `${text.slice(0, length)}…`)
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (context.measureText(part(middle)).width <= width) low = middle
      else high = middle - 1
    }
    shown = low === 0 ? '' : part(low)
  }
  if (shortenedTexts.size >= maxShortenedTexts) shortenedTexts.clear()
  shortenedTexts.set(key, shown)
  return shown
}

/**
 * Returns the texts for each line, from the longest to the shortest. If all words do not fit into one line, they are divided into two lines,
 * as long as there are two.
 */
export function dividedWords<Word>(
  choices: readonly (readonly Word[])[],
  { fits, lines }: { fits: (words: readonly Word[]) => boolean; lines: number },
): (readonly (readonly Word[])[])[] {
  const [longest = []] = choices
  const complete = choices.findLast((words) => words.length === longest.length) ?? longest
  if (lines < 2 || complete.length < 2 || fits(complete)) return [choices]
  const fitting = complete.findLastIndex((_, index) => fits(complete.slice(0, index + 1)))
  const count = Math.max(1, fitting + 1)
  return [[complete.slice(0, count)], [complete.slice(count), complete.slice(count, count + 1)]]
}

/**
 * Returns a name in one line, or in two lines that end at a space or separator if one line is too narrow. If both lines fit, they are
 * about equally long.
 */
export function nameLines(context: CanvasRenderingContext2D, name: string, width: number): string[] {
  if (context.measureText(name).width <= width) return [name]
  const breaks = [...name.matchAll(/[-_ ]/g)].map(({ index }) => index + 1)
  const fits = (part: string) => context.measureText(part.trimEnd()).width <= width
  const fitting = breaks.filter((each) => fits(name.slice(0, each)))
  const longerPart = (each: number) => Math.max(each, name.length - each)
  const [balanced] = fitting
    .filter((each) => fits(name.slice(each)))
    .toSorted((one, other) => longerPart(one) - longerPart(other))
  const at = balanced ?? fitting.at(-1)
  return at === undefined || at >= name.length ? [name] : [name.slice(0, at).trimEnd(), name.slice(at)]
}
