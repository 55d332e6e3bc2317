import type { Language } from '../../app/language/language.ts'

const names: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: { SoftwareArtifact: 'Software' },
  de: { Device: 'Gerät', SoftwareArtifact: 'Software' },
}

/** The types that come with the platform. */
export const assetTypes = ['Device', 'Gateway', 'SoftwareArtifact', 'Asset'] as const

/** The type of an asset as people call it; types of their own as they are. */
export function assetTypeName(type: string, language: Language): string {
  return names[language][type] ?? type
}
