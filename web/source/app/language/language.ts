/** Catalogues of texts in all languages of the console. */

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** Names of the languages, each in its own language. */
export const languageNames: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' }

/** A text, or a function that creates one from values. */
export type Message = string | ((...values: never[]) => string)
export type Catalogue = Readonly<Record<string, Message>>

/** Every language has the same keys, and functions with the same parameters. */
type SameAs<C extends Catalogue> = {
  readonly [Key in keyof C]: C[Key] extends string ? string : C[Key]
}

export type Messages<C extends Catalogue = Catalogue> = Readonly<Record<Language, SameAs<C>>>

/** Defines a catalogue. The compiler requires the same keys in English and German. */
export function messages<const C extends Catalogue>(texts: { en: C; de: SameAs<C> }): Messages<C> {
  return texts as Messages<C>
}

/** A text in every language, for titles that are needed before their catalogue is loaded. */
export type Title = Readonly<Record<Language, string>>

/** The first language of the browser that the console supports. */
export function languageOfBrowser(): Language {
  const preferred = navigator.languages.map((tag) => tag.slice(0, 2))
  return (
    languages.find((language) => language === preferred.find((tag) => languages.some((known) => known === tag))) ?? 'en'
  )
}

/** Locales for dates and numbers. English uses day before month. */
export const localeOf: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de-DE' }
