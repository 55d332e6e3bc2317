import { type Passage, passagesOf } from './passages.ts'
import { allowed, type Exception, longestSentence, type Rule, rules } from './rules.ts'

export type Finding = { file: string; line: number; text: string; hint: string }

export type LanguageReport = {
  findings: Finding[]
  /** The number of checked passages. Zero means that no text was found to check. */
  passages: number
  unusedExceptions: Exception[]
}

export type SourceFile = { file: string; content: string }

/** Checks the readable text of files against the rules of plain language. */
export function checkLanguage(
  files: Iterable<SourceFile>,
  { exceptions = allowed, active = rules }: { exceptions?: readonly Exception[]; active?: readonly Rule[] } = {},
): LanguageReport {
  const used = new Set<Exception>()
  const findings: Finding[] = []
  let passages = 0
  for (const { file, content } of files) {
    for (const passage of passagesOf(file, content)) {
      passages += 1
      for (const finding of findingsIn(passage, active)) {
        const exception = exceptions.find((entry) => entry.file === file && passage.text.includes(entry.text))
        if (exception === undefined) findings.push({ file, ...finding })
        else used.add(exception)
      }
    }
  }
  findings.sort((one, other) => one.file.localeCompare(other.file) || one.line - other.line)
  return { findings, passages, unusedExceptions: exceptions.filter((entry) => !used.has(entry)) }
}

function findingsIn(passage: Passage, active: readonly Rule[]): Omit<Finding, 'file'>[] {
  const { kind, line, text } = passage
  const lineOf = (index: number) => line + text.slice(0, index).split('\n').length - 1
  const phrases = active
    .filter(({ kinds }) => kinds === undefined || kinds.includes(kind))
    .flatMap(({ pattern, hint }) =>
      [...text.matchAll(pattern)].map((match) => ({
        line: lineOf(match.index + match[0].search(/\S/)),
        text: match[0].trim().replace(/\s+/g, ' '),
        hint,
      })),
    )
  const isSql = kind === 'text' && /^\s*\(?(?:select|insert|update|delete|with|create|alter|do)\b/.test(text)
  if (kind === 'type name' || isSql) return phrases
  return [
    ...phrases,
    ...longSentences(text).map(({ index, words }) => ({
      line: lineOf(index),
      text: `${text.slice(index).trim().split(/\s+/).slice(0, 5).join(' ')} …`,
      hint: `a sentence of ${words} words; split it (goal 25, limit ${longestSentence})`,
    })),
  ]
}

/**
 * Returns the sentences that have more words than `longestSentence`. A full stop, a colon, a semicolon, a middle dot, a
 * table cell or an empty line ends a sentence.
 */
function longSentences(text: string): { index: number; words: number }[] {
  return [...text.matchAll(/(?:[^.!?:;|·\n]|[.!?:;](?!\s|$)|\n(?!\s*(?:\n|[-*@] )))+/g)]
    .map((match) => ({
      index: match.index + Math.max(0, match[0].search(/\S/)),
      words: match[0].split(/\s+/).filter((word) => /\p{L}/u.test(word)).length,
    }))
    .filter(({ words }) => words > longestSentence)
}
