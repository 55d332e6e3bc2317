import type { Language } from '../../app/language.ts'

/** Values of states as people say them. */
export const stateNames: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    regarded: 'onboarded',
    ignored: 'ignored',
    unknown: 'undecided',
    reached: 'reached',
    failed: 'failed',
    trusted: 'trusted',
    pending: 'pending',
  },
  de: {
    regarded: 'aufgenommen',
    ignored: 'ignoriert',
    unknown: 'offen',
    reached: 'erreicht',
    failed: 'fehlgeschlagen',
    trusted: 'vertraut',
    pending: 'wartet',
  },
}
