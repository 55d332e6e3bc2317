import type { Language } from '../../app/language/language.ts'

/** The display names of the node types that the templates use as levels. */
const names: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    enterprise: 'Enterprise',
    site: 'Site',
    area: 'Area',
    building: 'Building',
    line: 'Line',
    cell: 'Cell',
    'work center': 'Work center',
    'work unit': 'Work unit',
    'equipment module': 'Equipment module',
    'control module': 'Control module',
  },
  de: {
    enterprise: 'Unternehmen',
    site: 'Standort',
    area: 'Bereich',
    building: 'Gebäude',
    line: 'Linie',
    cell: 'Zelle',
    'work center': 'Arbeitszentrum',
    'work unit': 'Arbeitseinheit',
    'equipment module': 'Equipment-Modul',
    'control module': 'Steuerungsmodul',
  },
}

/** Returns the display name of a node type. Types that no template uses are not translated. */
export function nodeTypeName(type: string, language: Language): string {
  return Object.hasOwn(names[language], type) ? (names[language][type] ?? type) : type
}
