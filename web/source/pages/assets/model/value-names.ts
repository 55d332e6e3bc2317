import type { Language } from '../../../app/language/language.ts'
import { assetTypeName } from '../../../components/values/asset-type-names.ts'

const names: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    regarded: 'onboarded',
    ignored: 'ignored',
    undecided: 'undecided',
    unknown: 'unknown',
    reached: 'reached',
    failed: 'failed',
    trusted: 'trusted',
    pending: 'pending',
  },
  de: {
    regarded: 'aufgenommen',
    ignored: 'ignoriert',
    undecided: 'offen',
    unknown: 'unbekannt',
    reached: 'erreicht',
    failed: 'fehlgeschlagen',
    trusted: 'vertraut',
    pending: 'wartet',
  },
}

/** The value of a state as people say it. Nobody has decided on what is `unknown` to the management of the plant. */
export function stateName(path: string, value: string, language: Language): string {
  const isUndecided = value === 'unknown' && path.startsWith('management_state')
  return names[language][isUndecided ? 'undecided' : value] ?? value
}

/** The value of a property as people say it. */
export function valueName(path: string, value: string, language: Language): string {
  if (path === 'functional_object_type') return assetTypeName(value, language)
  return path.endsWith('state_value') ? stateName(path, value, language) : value
}
