/** This file defines catalogues of texts in all languages of the console. */

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** The names of the languages, each in its own language. */
export const languageNames: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' }

/** `Message` is a text, or a function that creates a text from values. */
export type Message = string | ((...values: never[]) => string)
export type Catalogue = Readonly<Record<string, Message>>

/** `SameAs` requires the same keys in every language, and functions with the same parameters. */
type SameAs<C extends Catalogue> = {
  readonly [Key in keyof C]: C[Key] extends string ? string : C[Key]
}

export type Messages<C extends Catalogue = Catalogue> = Readonly<Record<Language, SameAs<C>>>

/** Defines a catalogue. The compiler requires the same keys in English and German. */
export function messages<const C extends Catalogue>(texts: { en: C; de: SameAs<C> }): Messages<C> {
  return texts as Messages<C>
}

/** `Title` is a text in every language, for titles that are needed before their catalogue is loaded. */
export type Title = Readonly<Record<Language, string>>

/** Returns the first language of the browser that the console supports. */
export function languageOfBrowser(): Language {
  const preferred = navigator.languages.map((tag) => tag.slice(0, 2))
  return (
    languages.find((language) => language === preferred.find((tag) => languages.some((known) => known === tag))) ?? 'en'
  )
}

/** The locales for dates and numbers. `en-GB` writes the day before the month. */
export const localeOf: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de-DE' }
