import type { Language } from '../../app/language/language.ts'
import type { ActivityText } from './messages.ts'

/** The sentence of an entry, as texts with roles. The list shows the roles as links, bold text and values. */

export type SentencePart = {
  text: string
  /** The part with the role `more` is the number of further names, which the list can show. */
  role?: 'who' | 'object' | 'value' | 'old' | 'more'
  /** The object to which the text refers, in the form `kind/id`. */
  subject?: string
  /** A remark about the text, shown in parentheses after it. */
  note?: string
}

export type SentenceContext = {
  text: ActivityText
  language: Language
  number: (value: number) => string
  duration: (ms: number) => string
}

type Values = Readonly<Record<string, SentencePart | undefined>>

/** Replaces the placeholders of a template, such as `{who}`. */
export function fill(template: string, values: Values): SentencePart[] {
  return template
    .split(/(\{\w+\})/)
    .filter((piece) => piece !== '')
    .map((piece): SentencePart => {
      const name = /^\{(\w+)\}$/.exec(piece)?.[1]
      return name === undefined ? { text: piece } : (values[name] ?? { text: '' })
    })
}

/** Returns a sentence as plain text. */
export function sentenceText(parts: readonly SentencePart[]): string {
  return parts
    .map(({ text, note }) => (note === undefined ? text : `${text} (${note})`))
    .join('')
    .replace(/\s+/g, ' ')
    .trim()
}
