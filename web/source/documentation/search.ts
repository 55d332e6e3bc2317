/**
 * The search of the documentation. It runs in the browser over all sections of all pages, so it works without a
 * connection to other hosts. A section matches if it contains all words of the query, at least as the start of a word.
 * Matches in titles and headings rank above matches in the text. If no section contains all words, the sections with
 * most of the words are returned.
 */

/** One section of a page, as `/docs/search.json` contains it. */
export type SearchEntry = { path: string; page: string; part: string; heading: string; text: string }

export type SearchResult = { entry: SearchEntry; excerpt: TextPart[] }

/** A part of an excerpt. Parts that match the query are marked. */
export type TextPart = { text: string; isMatch: boolean }

type IndexedEntry = { entry: SearchEntry; page: string; heading: string; text: string }

const excerptLength = 140
/** The number of matches in the text of a section that count. */
const countedMatches = 6
/** Guides rank above reference pages, and decisions rank last. */
const weights: Readonly<Record<string, number>> = { Tutorial: 1.3, 'How-to guides': 1.3, Project: 0.6, Decisions: 0.4 }

export class SearchIndex {
  readonly #entries: readonly IndexedEntry[]

  constructor(entries: readonly SearchEntry[]) {
    this.#entries = entries.map((entry) => ({
      entry,
      page: entry.page.toLowerCase(),
      heading: entry.heading.toLowerCase(),
      text: entry.text.toLowerCase(),
    }))
  }

  /** Returns the best matches, at most `limit`. */
  find(query: string, limit: number): SearchResult[] {
    const words = wordsOf(query)
    if (words.length === 0) return []
    const scored = this.#entries.flatMap((indexed) => {
      const scores = words.map((word) => scoreOf(indexed, word))
      const matched = scores.filter((score) => score > 0).length
      if (matched === 0) return []
      const sum = scores.reduce((total, score) => total + score, 0)
      return [{ indexed, matched, score: sum * (weights[indexed.entry.part] ?? 1) }]
    })
    const most = Math.max(0, ...scored.map(({ matched }) => matched))
    return scored
      .filter(({ matched }) => matched === most)
      .toSorted((one, other) => other.score - one.score)
      .slice(0, limit)
      .map(({ indexed: { entry } }) => ({ entry, excerpt: excerptOf(entry.text, words) }))
  }
}

/** Returns the words of a query in lower case, without punctuation around them. */
function wordsOf(query: string): string[] {
  return query
    .toLowerCase()
    .split(/\s+/)
    .map((word) => word.replace(/^[^\p{L}\p{N}_/]+|[^\p{L}\p{N}_]+$/gu, ''))
    .filter((word) => word !== '')
    .map(stemOf)
}

/** Removes the usual endings of a word, so that "scanning" finds "scan" and "certificates" finds "certificate". */
function stemOf(word: string): string {
  const match = /^([a-z]{4,})(?:ing|s)$/.exec(word)
  if (match?.[1] === undefined || word.endsWith('ss')) return word
  return word.endsWith('ing') ? match[1].replace(/([^aeiouls])\1$/, '$1') : match[1]
}

function scoreOf({ page, heading, text }: IndexedEntry, word: string): number {
  const inPage = matchScore(page, word, 1) * (heading === '' ? 12 : 3)
  const inHeading = matchScore(heading, word, 1) * 8
  return inPage + inHeading + matchScore(text, word, countedMatches)
}

/**
 * Adds 1 for a complete word, less for the start of a word, and little for another part of a word. Only the first
 * `most` matches count, and each further match counts a fifth.
 */
function matchScore(text: string, word: string, most: number): number {
  let best = 0
  let count = 0
  for (let at = text.indexOf(word); at >= 0 && count < most; at = text.indexOf(word, at + word.length)) {
    const startsWord = !isWordCharacter(text[at - 1])
    const endsWord = !isWordCharacter(text[at + word.length])
    best = Math.max(best, startsWord ? (endsWord ? 1 : 0.7) : 0.2)
    count++
  }
  return best * (1 + Math.max(0, count - 1) / 5)
}

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character)
}

/** Returns the text around the first match, with all matches marked. */
function excerptOf(text: string, words: readonly string[]): TextPart[] {
  const lower = text.toLowerCase()
  const first = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  const around = Math.max(0, Math.min(...first, text.length) - excerptLength / 3)
  const start = first.length === 0 || around === 0 ? 0 : text.lastIndexOf(' ', around) + 1
  const shown = text.slice(start, start + excerptLength)
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&')).join('|')})`, 'giu')
  const parts = shown.split(pattern).map((part, place) => ({ text: part, isMatch: place % 2 === 1 }))
  const before = start > 0 ? [{ text: '…', isMatch: false }] : []
  const after = start + excerptLength < text.length ? [{ text: '…', isMatch: false }] : []
  return [...before, ...parts.filter((part) => part.text !== ''), ...after]
}
