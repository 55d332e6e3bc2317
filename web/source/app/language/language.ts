/** This file defines catalogues of texts. A catalogue contains its texts in all languages of the console. */

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** The names of the languages, each in its own language. */
export const languageNames: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' }

/** `Message` is a text, or a function that creates a text from values. */
export type Message = string | ((...values: never[]) => string)
export type Catalogue = Readonly<Record<string, Message>>

/**
 * `SameAs` requires that the catalogue of another language has the same keys, and functions with the same parameters.
 */
type SameAs<C extends Catalogue> = {
  readonly [Key in keyof C]: C[Key] extends string ? string : C[Key]
}

export type Messages<C extends Catalogue = Catalogue> = Readonly<Record<Language, SameAs<C>>>

/** Defines a catalogue. The compiler requires that the English and the German texts have the same keys. */
export function messages<const C extends Catalogue>(texts: { en: C; de: SameAs<C> }): Messages<C> {
  return texts as Messages<C>
}

/** `Title` is a text in every language. It is for titles that are needed before their catalogue is loaded. */
export type Title = Readonly<Record<Language, string>>

/** Returns the first of the browser's languages that the console supports. */
export function languageOfBrowser(): Language {
  const preferred = navigator.languages.map((tag) => tag.slice(0, 2))
  return (
    languages.find((language) => language === preferred.find((tag) => languages.some((known) => known === tag))) ?? 'en'
  )
}

/** The locales for dates and numbers. English uses `en-GB`, which writes the day before the month. */
export const localeOf: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de-DE' }
