import type { Language } from '../../../app/language/language.ts'
import { assetTypeName } from '../../../components/values/asset-type-names.ts'

const names: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    regarded: 'Onboarded',
    ignored: 'Ignored',
    new: 'New',
    unknown: 'Unknown',
    reached: 'Reported',
    failed: 'Failed',
    unreachable: 'Unreachable',
    unseen: 'Not reported',
    trusted: 'Trusted',
    pending: 'Pending',
  },
  de: {
    regarded: 'Aufgenommen',
    ignored: 'Ignoriert',
    new: 'Neu',
    unknown: 'Unbekannt',
    reached: 'Gemeldet',
    failed: 'Fehlgeschlagen',
    unreachable: 'Nicht erreichbar',
    unseen: 'Nicht gemeldet',
    trusted: 'Vertrauenswürdig',
    pending: 'Ausstehend',
  },
}

/** Values whose name depends on the property. For example, the management state `unknown` is shown as new. */
const special: Readonly<Record<string, string>> = {
  'management_state unknown': 'new',
  'reachability_state failed': 'unreachable',
  'reachability_state unknown': 'unseen',
}

/** Returns the name of a state value in the language of the user. */
export function stateName(path: string, value: string, language: Language): string {
  return names[language][special[`${path.split('/')[0]} ${value}`] ?? value] ?? value
}

/** Returns the display name of a property value. */
export function valueName(path: string, value: string, language: Language): string {
  if (path === 'functional_object_type') return assetTypeName(value, language)
  return path.endsWith('state_value') ? stateName(path, value, language) : value
}
