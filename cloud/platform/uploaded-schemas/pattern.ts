/**
 * Matches regular expressions of tenants in linear time. A backtracking engine takes exponential time for some
 * patterns, and no syntactic rule can detect them without refusing safe patterns. So a pattern is compiled to a
 * nondeterministic automaton that reads the text once and follows all its states at the same time (Thompson 1968). Such
 * an automaton does not support back references and lookaround, so they are refused.
 */

export const patternLimits = { characters: 2048, instructions: 4000 } as const

type CharacterTest = (codePoint: number) => boolean
type Assertion = 'start' | 'end' | 'word-boundary' | 'no-word-boundary'

type Node =
  | { kind: 'character'; test: CharacterTest }
  | { kind: 'assertion'; assertion: Assertion }
  | { kind: 'sequence'; parts: Node[] }
  | { kind: 'choice'; options: Node[] }
  | { kind: 'repeat'; of: Node; minimum: number; maximum: number }

type Instruction =
  | { op: 'character'; test: CharacterTest; next: number }
  | { op: 'assertion'; assertion: Assertion; next: number }
  | { op: 'split'; next: number; other: number }
  | { op: 'match' }

export class PatternError extends Error {}

export class LinearPattern {
  readonly #source: string
  readonly #program: Instruction[]
  readonly #start: number

  /** Throws `PatternError` if the text is not a valid pattern, is too large, or cannot be matched in linear time. */
  constructor(source: string) {
    this.#source = source
    this.#program = [{ op: 'match' }]
    this.#start = this.#build(parse(source), 0)
  }

  /** The number of states. Matching takes at most this many steps per character. */
  get size(): number {
    return this.#program.length
  }

  toString(): string {
    return `linear ${this.#source}`
  }

  test(text: string): boolean {
    const codePoints = Array.from(text, (character) => character.codePointAt(0) ?? 0)
    let waiting: number[] = []
    for (let position = 0; position <= codePoints.length; position++) {
      // A match may start anywhere, so the start state is added at each position.
      const reached = this.#reach([...waiting, this.#start], { codePoints, position })
      if (reached === 'match') return true
      const codePoint = codePoints[position]
      if (codePoint === undefined) return false
      waiting = this.#step(reached, codePoint)
    }
    return false
  }

  #step(states: number[], codePoint: number): number[] {
    return states.flatMap((state) => {
      const instruction = this.#program[state]
      return instruction?.op === 'character' && instruction.test(codePoint) ? [instruction.next] : []
    })
  }

  /** Follows all steps that consume no character. Returns the states that wait for a character, or `match`. */
  #reach(states: number[], place: Place): number[] | 'match' {
    const seen = new Set<number>()
    const waiting: number[] = []
    const pending = [...states]
    for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
      if (seen.has(state)) continue
      seen.add(state)
      const instruction = this.#program[state]
      if (instruction === undefined) continue
      if (instruction.op === 'match') return 'match'
      if (instruction.op === 'character') waiting.push(state)
      if (instruction.op === 'split') pending.push(instruction.other, instruction.next)
      if (instruction.op === 'assertion' && holds(instruction.assertion, place)) pending.push(instruction.next)
    }
    return waiting
  }

  #add(instruction: Instruction): number {
    if (this.#program.length >= patternLimits.instructions) {
      throw new PatternError('is too large with its repetitions expanded')
    }
    return this.#program.push(instruction) - 1
  }

  /** Builds the automaton from its end. Returns the state that matches the node and continues at `next`. */
  #build(node: Node, next: number): number {
    switch (node.kind) {
      case 'character':
        return this.#add({ op: 'character', test: node.test, next })
      case 'assertion':
        return this.#add({ op: 'assertion', assertion: node.assertion, next })
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.#build(part, after), next)
      case 'choice':
        return node.options
          .map((option) => this.#build(option, next))
          .reduceRight((other, option) => this.#add({ op: 'split', next: option, other }))
      case 'repeat':
        return this.#repeat(node, next)
    }
  }

  #repeat({ of, minimum, maximum }: Extract<Node, { kind: 'repeat' }>, next: number): number {
    let entry = next
    if (maximum === Number.POSITIVE_INFINITY) {
      const loop: Instruction = { op: 'split', next, other: next }
      entry = this.#add(loop)
      loop.next = this.#build(of, entry)
    } else {
      for (let time = minimum; time < maximum; time++) {
        entry = this.#add({ op: 'split', next: this.#build(of, entry), other: next })
      }
    }
    for (let time = 0; time < minimum; time++) {
      const before = this.#program.length
      entry = this.#build(of, entry)
      // Repeating an empty match gives an empty match again, so the repetition can stop.
      if (this.#program.length === before) break
    }
    return entry
  }
}

type Place = { codePoints: number[]; position: number }

function holds(assertion: Assertion, { codePoints, position }: Place): boolean {
  if (assertion === 'start') return position === 0
  if (assertion === 'end') return position === codePoints.length
  const atBoundary = isWord(codePoints[position - 1]) !== isWord(codePoints[position])
  return atBoundary === (assertion === 'word-boundary')
}

function isWord(codePoint: number | undefined): boolean {
  return codePoint !== undefined && /^\w$/u.test(String.fromCodePoint(codePoint))
}

/**
 * Parses a pattern. The JavaScript engine checks first that the text is a valid pattern, so the functions below report
 * no syntax errors.
 */
function parse(source: string): Node {
  if (source.length > patternLimits.characters) {
    throw new PatternError(`is longer than ${patternLimits.characters} characters`)
  }
  try {
    new RegExp(source, 'u')
  } catch {
    throw new PatternError('is not a regular expression (ECMA-262, with Unicode)')
  }
  return parseChoice({ source, at: 0 })
}

type Cursor = { source: string; at: number }

function take(cursor: Cursor, expression: RegExp): string | undefined {
  expression.lastIndex = cursor.at
  const [match] = expression.exec(cursor.source) ?? []
  cursor.at += match?.length ?? 0
  return match
}

function parseChoice(cursor: Cursor): Node {
  const options = [parseSequence(cursor)]
  while (take(cursor, /\|/y) !== undefined) options.push(parseSequence(cursor))
  return { kind: 'choice', options }
}

function parseSequence(cursor: Cursor): Node {
  const parts: Node[] = []
  while (cursor.at < cursor.source.length && !'|)'.includes(cursor.source.charAt(cursor.at))) {
    parts.push(parseRepeat(cursor))
  }
  return { kind: 'sequence', parts }
}

function parseRepeat(cursor: Cursor): Node {
  const of = parseTerm(cursor)
  const quantifier = take(cursor, /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y)
  if (quantifier === undefined) return of
  if (quantifier.startsWith('*')) return { kind: 'repeat', of, minimum: 0, maximum: Number.POSITIVE_INFINITY }
  if (quantifier.startsWith('+')) return { kind: 'repeat', of, minimum: 1, maximum: Number.POSITIVE_INFINITY }
  if (quantifier.startsWith('?')) return { kind: 'repeat', of, minimum: 0, maximum: 1 }
  const [minimum = '0', maximum] = quantifier.replace(/[{}?]/g, '').split(',')
  const most = maximum === '' ? Number.POSITIVE_INFINITY : Number(maximum ?? minimum)
  return { kind: 'repeat', of, minimum: Number(minimum), maximum: most }
}

const assertions: Readonly<Record<string, Assertion>> = {
  '^': 'start',
  $: 'end',
  '\\b': 'word-boundary',
  '\\B': 'no-word-boundary',
}

const escapeSequence =
  /\\(?:[pP]\{[^}]*\}|u\{[0-9a-fA-F]+\}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)/uy

function parseTerm(cursor: Cursor): Node {
  if (cursor.source.charAt(cursor.at) === '(') return parseGroup(cursor)
  const term = take(cursor, /\[(?:\\.|[^\\\]])*\]/suy) ?? take(cursor, escapeSequence) ?? take(cursor, /./suy) ?? ''
  const assertion = assertions[term]
  if (assertion !== undefined) return { kind: 'assertion', assertion }
  if (/^\\[1-9k]/.test(term)) throw new PatternError(`contains a back reference (${term}), which is not supported`)
  return { kind: 'character', test: characterTest(term) }
}

function parseGroup(cursor: Cursor): Node {
  const opening = take(cursor, /\((?:\?(?::|<[^=!>][^>]*>|<?[=!]|[a-z-]+:))?/y) ?? ''
  if (/^\(\?<?[=!]/.test(opening)) {
    throw new PatternError(`contains a lookaround ${opening}…), which is not supported`)
  }
  if (/^\(\?[a-z-]/.test(opening)) throw new PatternError(`contains inline flags ${opening}…), which are not supported`)
  const inner = parseChoice(cursor)
  take(cursor, /\)/y)
  return inner
}

const asciiCharacters = 128

/**
 * Creates a test for one character or class. The test uses the JavaScript engine, which defines classes such as `\s`
 * and `\p{Letter}`.
 */
function characterTest(term: string): CharacterTest {
  const single = term.codePointAt(0)
  if (!'.[\\'.includes(term.charAt(0))) return (codePoint) => codePoint === single
  const expression = new RegExp(`^${term}$`, 'u')
  // The results are computed at first use, because a pattern may have hundreds of classes.
  const ascii: boolean[] = []
  return (codePoint) => {
    if (codePoint >= asciiCharacters) return expression.test(String.fromCodePoint(codePoint))
    ascii[codePoint] ??= expression.test(String.fromCodePoint(codePoint))
    return ascii[codePoint]
  }
}
