import { Problem } from '@millwright/api/problem.ts'

/**
 * `X-Response-Filter` selects parts of a response with a subset of the jq language: paths (`.status.state`,
 * `.content[0].id`, `.content[].id`), lists (`[.content[].id]`), objects (`{id, state: .status.state}`), several
 * results (`.id, .status`) and pipes (`.content[] | .id`). Missing fields are `null`. A valid filter fails only when it
 * has too many results.
 */
export type ResponseFilter = (value: unknown) => unknown[]

const longest = 1_024
const deepest = 32
/** The maximum number of results of one filter, because nested iterations grow quickly. */
const mostResults = 10_000

/** Formats the results in the format of wfx: JSON, one line for each result. */
export function filteredText(filter: ResponseFilter, value: unknown): string {
  return filter(value)
    .map((result) => `${JSON.stringify(result)}\n`)
    .join('')
}

export function parseResponseFilter(text: string): ResponseFilter {
  if (text.length > longest) throw unreadable(`it has more than ${longest} characters`)
  const reader = new Reader(text)
  const filter = pipe(reader, 0)
  if (reader.peek() !== '') throw unreadable(`${reader.peek()} is not valid at this position`)
  return filter
}

const tokens = /\s*(\.[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|\d+|[.[\]{}(),:|]|\S)/g

class Reader {
  readonly #tokens: string[]
  #place = 0

  constructor(text: string) {
    this.#tokens = [...text.trim().matchAll(tokens)].map(([, token = '']) => token)
  }

  peek(): string {
    return this.#tokens[this.#place] ?? ''
  }

  next(): string {
    const token = this.peek()
    this.#place++
    return token
  }

  take(token: string): boolean {
    if (this.peek() !== token) return false
    this.#place++
    return true
  }

  expect(token: string): void {
    if (!this.take(token)) throw unreadable(`${token} is missing before ${this.peek() || 'the end of the filter'}`)
  }
}

function pipe(reader: Reader, depth: number): ResponseFilter {
  if (depth > deepest) throw unreadable(`it is nested more than ${deepest} levels deep`)
  const first = several(reader, depth)
  if (!reader.take('|')) return first
  const rest = pipe(reader, depth + 1)
  return (value) => each(first(value), rest)
}

function several(reader: Reader, depth: number): ResponseFilter {
  const parts = [term(reader, depth)]
  while (reader.take(',')) parts.push(term(reader, depth))
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : (value) => each(parts, (part) => part(value))
}

function term(reader: Reader, depth: number): ResponseFilter {
  const begin = reader.next()
  if (begin === '.') return steps(reader, here(reader))
  if (/^\.[A-Za-z_]/.test(begin)) return steps(reader, field(begin.slice(1)))
  if (begin === '[') return steps(reader, list(reader, depth))
  if (begin === '{') return steps(reader, object(reader, depth))
  if (begin === '(') {
    const inner = pipe(reader, depth + 1)
    reader.expect(')')
    return steps(reader, inner)
  }
  throw unreadable(begin === '' ? 'the filter is incomplete' : `${begin} is not valid at this position`)
}

/** Parses the part after a dot: a quoted field, or nothing, which selects the value itself. */
function here(reader: Reader): ResponseFilter {
  return reader.peek().startsWith('"') ? field(quoted(reader.next())) : (value) => [value]
}

function steps(reader: Reader, start: ResponseFilter): ResponseFilter {
  let filter = start
  for (;;) {
    const step = nextStep(reader)
    if (step === undefined) return filter
    const before = filter
    filter = (value) => each(before(value), step)
  }
}

function nextStep(reader: Reader): ResponseFilter | undefined {
  const next = reader.peek()
  if (/^\.[A-Za-z_]/.test(next)) return field(reader.next().slice(1))
  if (next === '.') {
    reader.next()
    if (reader.peek().startsWith('"')) return field(quoted(reader.next()))
    if (reader.peek() === '[') return nextStep(reader)
    throw unreadable('a field is missing after a dot')
  }
  if (next !== '[') return undefined
  reader.next()
  if (reader.take(']')) return elements
  const place = reader.next()
  reader.expect(']')
  if (/^\d+$/.test(place)) return (value) => [Array.isArray(value) ? (value[Number(place)] ?? null) : null]
  if (place.startsWith('"')) return field(quoted(place))
  throw unreadable(`${place} is not a list index`)
}

function field(name: string): ResponseFilter {
  return (value) => [
    typeof value === 'object' && value !== null && Object.hasOwn(value, name)
      ? ((value as Record<string, unknown>)[name] ?? null)
      : null,
  ]
}

function elements(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : []
}

function list(reader: Reader, depth: number): ResponseFilter {
  if (reader.take(']')) return () => [[]]
  const inner = pipe(reader, depth + 1)
  reader.expect(']')
  return (value) => [inner(value)]
}

/**
 * Parses an object. `{id}` is short for `{id: .id}`. If the filter of a member has several results, the first one is used.
 */
function object(reader: Reader, depth: number): ResponseFilter {
  const entries: [string, ResponseFilter][] = []
  while (!reader.take('}')) {
    if (entries.length > 0) reader.expect(',')
    const name = nameOf(reader.next())
    entries.push([name, reader.take(':') ? term(reader, depth + 1) : field(name)])
  }
  return (value) => [Object.fromEntries(entries.map(([name, filter]) => [name, filter(value)[0] ?? null]))]
}

function nameOf(text: string): string {
  if (text.startsWith('"')) return quoted(text)
  if (/^[A-Za-z_]/.test(text)) return text
  throw unreadable(text === '' ? 'a field is missing at its end' : `${text} is not a field name`)
}

function quoted(text: string): string {
  try {
    return JSON.parse(text)
  } catch {
    throw unreadable(`${text} is not a valid string`)
  }
}

function each<Element>(elements: readonly Element[], filter: (element: Element) => unknown[]): unknown[] {
  const results: unknown[] = []
  for (const element of elements) {
    results.push(...filter(element))
    if (results.length > mostResults) throw unreadable(`it has more than ${mostResults} results`)
  }
  return results
}

function unreadable(why: string): Problem {
  return new Problem(
    'invalid_filter',
    `Invalid X-Response-Filter: ${why}. The filter supports these elements of jq: paths, lists, objects, commas and pipes`,
  )
}
