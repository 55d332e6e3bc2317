/**
 * This file extracts the text that a person reads from a source file: prose of Markdown pages, comments, strings with
 * more than one word, titles of tests, and names of declared types. The scanner recognises strings, templates, regular
 * expressions and comments, but does not parse the language. Text that starts like a string but does not end on the
 * same line is not treated as a string.
 */

export type PassageKind = 'prose' | 'comment' | 'text' | 'title' | 'type name'

export type Passage = {
  kind: PassageKind
  /** The line where the passage starts, counted from 1. */
  line: number
  /**
   * The text. Code in backticks is replaced by `code`. Line breaks are preserved, so that the line number of each
   * finding can be computed.
   */
  text: string
}

type Token = { kind: 'comment' | 'string'; start: number; text: string }

/** Returns the passages of a file, or an empty list if files of this type are not checked. */
export function passagesOf(file: string, content: string): Passage[] {
  if (file.endsWith('.md')) return markdownPassages(content)
  if (!/\.(?:tsx?|mjs|proto|css)$/.test(file)) return []
  const lineAt = lineCounter(content)
  const passages: Passage[] = []
  for (const token of joinLineComments(scan(content), content)) {
    const passage = passageOf(token, file, content)
    if (passage !== undefined) passages.push({ ...passage, line: lineAt(token.start) })
  }
  for (const match of content.matchAll(/^\s*(?:export )?(?:abstract )?(?:type|interface|class) (\w+)/gm))
    passages.push({ kind: 'type name', line: lineAt(match.index + match[0].length), text: match[1] ?? '' })
  return passages
}

function passageOf(token: Token, file: string, content: string): Omit<Passage, 'line'> | undefined {
  if (token.kind === 'comment') {
    const text = token.text.replace(/^\s*\/?\*+\/?|^\s*\/\/+|\*\/\s*$/gm, '')
    return /^\s*(?:biome-ignore|@ts-)/.test(text) ? undefined : { kind: 'comment', text: hideCode(text) }
  }
  if (!/\S\s+\S/.test(token.text)) return undefined
  const isTitle = /\b(?:test|describe|it)\(\s*$/.test(content.slice(Math.max(0, token.start - 40), token.start))
  if (isTitle) return { kind: 'title', text: hideCode(token.text) }
  // Only text that the product prints is checked. Strings in tests are data, so they are left out.
  return file.endsWith('.test.ts') ? undefined : { kind: 'text', text: hideCode(token.text) }
}

function hideCode(text: string): string {
  return text.replace(/`[^`\n]*`/g, 'code')
}

/**
 * Returns the prose of a page. Each list item, table row and paragraph is one passage. Fenced code and generated
 * sections are left out, because the text of a generated section is checked in its source.
 */
function markdownPassages(content: string): Passage[] {
  const passages: Passage[] = []
  let fence: string | undefined
  let paragraph: Passage | undefined
  let isGenerated = false
  for (const [index, line] of content.split('\n').entries()) {
    if (/^<!-- generated: /.test(line)) isGenerated = true
    if (line === '<!-- end -->') isGenerated = false
    if (isGenerated) continue
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1]
    if (fence !== undefined || mark !== undefined) {
      if (fence === undefined) fence = mark
      else if (mark?.startsWith(fence)) fence = undefined
      paragraph = undefined
      continue
    }
    const startsNew = /^\s*(?:[-*+] |\d+\. |\||#|>|<)/.test(line)
    if (line.trim() === '' || startsNew) paragraph = undefined
    if (line.trim() === '') continue
    if (paragraph === undefined) {
      paragraph = { kind: 'prose', line: index + 1, text: line }
      passages.push(paragraph)
    } else paragraph.text += `\n${line}`
  }
  return passages.map((passage) => ({ ...passage, text: hideCode(passage.text.replace(/\]\([^)]*\)/g, ']')) }))
}

/** Joins consecutive `//` lines into one comment, so that a phrase that spans two lines is found. */
function joinLineComments(tokens: readonly Token[], content: string): Token[] {
  const joined: Token[] = []
  for (const token of tokens) {
    const last = joined.at(-1)
    const isLine = token.kind === 'comment' && token.text.startsWith('//')
    if (isLine && last?.kind === 'comment' && last.text.startsWith('//')) {
      const between = content.slice(last.start + last.text.length, token.start)
      if (/^\r?\n[ \t]*$/.test(between)) {
        last.text = content.slice(last.start, token.start + token.text.length)
        continue
      }
    }
    joined.push({ ...token })
  }
  return joined
}

/** Returns all comments and strings in the order of the file. */
export function scan(content: string): Token[] {
  const tokens: Token[] = []
  let position = 0
  while (position < content.length) {
    const token = tokenAt(content, position)
    if (token === undefined) {
      position += 1
      continue
    }
    if (token.kind !== 'regexp')
      tokens.push({ kind: token.kind, start: position, text: token.text }, ...(token.nested ?? []))
    position = token.end
  }
  return tokens
}

type ScannedToken = { kind: Token['kind'] | 'regexp'; text: string; end: number; nested?: Token[] }

function tokenAt(content: string, start: number): ScannedToken | undefined {
  const character = content[start]
  if (character === "'" || character === '"')
    return match(content, start, /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/y, 'string')
  if (character === '`') return templateAt(content, start)
  if (character !== '/') return undefined
  const comment = match(content, start, /\/\*[\s\S]*?\*\/|\/\/[^\n]*/y, 'comment')
  if (comment !== undefined) return comment
  const before = content.slice(Math.max(0, start - 20), start)
  const startsExpression = /(?:^|[(,=:[!&|?{};+\-*%~^>\n]|\b(?:return|case|typeof))\s*$/.test(before)
  const regexp = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
  return startsExpression ? match(content, start, regexp, 'regexp') : undefined
}

function match(content: string, start: number, pattern: RegExp, kind: ScannedToken['kind']): ScannedToken | undefined {
  pattern.lastIndex = start
  const match = pattern.exec(content)?.[0]
  if (match === undefined) return undefined
  return { kind, text: kind === 'string' ? match.slice(1, -1) : match, end: start + match.length }
}

/**
 * Returns the template literal at a position. In its text, each expression is replaced by `value` and the line breaks
 * of the expression. Strings inside an expression become separate tokens.
 */
function templateAt(content: string, start: number): ScannedToken | undefined {
  let text = ''
  const nested: Token[] = []
  for (let position = start + 1; position < content.length; position += 1) {
    const character = content[position]
    if (character === '`') return { kind: 'string', text, end: position + 1, nested }
    if (character === '\\') text += content.slice(position, ++position + 1)
    else if (character === '$' && content[position + 1] === '{') {
      const end = expressionEnd(content, position + 2)
      const expression = content.slice(position + 2, end)
      for (const token of scan(expression)) nested.push({ ...token, start: token.start + position + 2 })
      text += `value${expression.replace(/[^\n]/g, '')}`
      position = end
    } else text += character
  }
  return undefined
}

/** Returns the position of the brace that closes an expression of a template. */
function expressionEnd(content: string, start: number): number {
  let depth = 1
  for (let position = start; position < content.length; position += 1) {
    const token = tokenAt(content, position)
    if (token !== undefined) position = token.end - 1
    else if (content[position] === '{') depth += 1
    else if (content[position] === '}') depth -= 1
    if (depth === 0) return position
  }
  return content.length
}

function lineCounter(content: string): (position: number) => number {
  let line = 1
  let counted = 0
  return (position) => {
    if (position < counted) [line, counted] = [1, 0]
    for (; counted < position; counted += 1) if (content[counted] === '\n') line += 1
    return line
  }
}
