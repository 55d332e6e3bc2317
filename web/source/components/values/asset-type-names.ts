import type { Language } from '../../app/language/language.ts'

const names: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: { SoftwareArtifact: 'Software' },
  de: { Device: 'Gerät', SoftwareArtifact: 'Software' },
}

/** The built-in asset types. */
export const assetTypes = ['Device', 'Gateway', 'SoftwareArtifact', 'Asset'] as const

/** Returns the display name of an asset type. Custom types are not translated. */
export function assetTypeName(type: string, language: Language): string {
  return names[language][type] ?? type
}
