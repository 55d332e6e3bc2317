import { createContext, use } from 'react'
import { type Formats, formatsOf } from './formats.ts'
import type { Catalogue, Language, Messages } from './language.ts'

export const LanguageContext = createContext<Language>('en')

export function useLanguage(): Language {
  return use(LanguageContext)
}

/** Returns the texts of a catalogue in the language of the user. */
export function useText<C extends Catalogue>(texts: Messages<C>): Messages<C>[Language] {
  return texts[use(LanguageContext)]
}

export function useFormats(): Formats {
  return formatsOf(use(LanguageContext))
}
