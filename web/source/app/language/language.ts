/** Texts of the console in every language it speaks. */

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** Each in its own words: who looks for theirs may not read another. */
export const languageNames: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' }

/** A text, or how one is made from what is told. */
export type Message = string | ((...values: never[]) => string)
export type Catalogue = Readonly<Record<string, Message>>

/** Every text of a catalogue is there in every language, and is made from the same. */
type SameAs<C extends Catalogue> = {
  readonly [Key in keyof C]: C[Key] extends string ? string : C[Key]
}

export type Messages<C extends Catalogue = Catalogue> = Readonly<Record<Language, SameAs<C>>>

/** The texts of an area or component; German has the same keys as English, held by the compiler. */
export function messages<const C extends Catalogue>(texts: { en: C; de: SameAs<C> }): Messages<C> {
  return texts as Messages<C>
}

/** One text that is known before its area is loaded. */
export type Title = Readonly<Record<Language, string>>

/** The first language of the browser that the console speaks. */
export function languageOfBrowser(): Language {
  const preferred = navigator.languages.map((tag) => tag.slice(0, 2))
  return (
    languages.find((language) => language === preferred.find((tag) => languages.some((known) => known === tag))) ?? 'en'
  )
}

/** As people of a language write dates and numbers; English with the day before the month. */
export const localeOf: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de-DE' }
