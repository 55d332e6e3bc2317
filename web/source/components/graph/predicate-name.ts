import type { Language, Title } from '../../app/language/language.ts'

/** The names of the relation types that the platform creates or suggests. */
const names: Readonly<Record<string, Title>> = {
  is_assigned_to_node: { en: 'assigned to', de: 'zugeordnet zu' },
  is_connected_to: { en: 'connected to', de: 'verbunden mit' },
  is_controlled_by: { en: 'controlled by', de: 'gesteuert von' },
  is_installed_on: { en: 'installed on', de: 'installiert auf' },
  is_module_of: { en: 'module of', de: 'Modul von' },
  is_part_of: { en: 'part of', de: 'Teil von' },
  is_powered_by: { en: 'powered by', de: 'versorgt von' },
  is_running_on: { en: 'running on', de: 'läuft auf' },
  found_by_asset_link: { en: 'found by', de: 'gefunden von' },
}

/** Returns a relation type in words. The words of an own relation type are those of its identifier. */
export function predicateName(predicate: string, language: Language): string {
  return names[predicate]?.[language] ?? predicate.replace(/^is_/, '').replaceAll('_', ' ')
}

/** The names of relation types from the perspective of the object. */
const inverseNames: Readonly<Record<string, Title>> = {
  is_controlled_by: { en: 'Controls', de: 'Steuert' },
  is_installed_on: { en: 'Installed here', de: 'Hier installiert' },
  is_module_of: { en: 'Modules', de: 'Module' },
  is_part_of: { en: 'Parts', de: 'Teile' },
  is_powered_by: { en: 'Powers', de: 'Versorgt' },
  is_running_on: { en: 'Running here', de: 'Läuft hier' },
  is_connected_to: { en: 'Connected from', de: 'Verbunden von' },
}

/** Returns whether the name of a relation type leads from this asset to the other one. */
export function isOutward(predicate: string, direction: 'out' | 'in'): boolean {
  return direction === 'out' || (inverseNames[predicate] !== undefined && predicate !== 'is_connected_to')
}

/** Returns a relation type in words from the perspective of an asset that is the subject (`out`) or the object (`in`). */
export function relationName(predicate: string, direction: 'out' | 'in', language: Language): string {
  const name = predicateName(predicate, language)
  if (direction === 'out') return name.charAt(0).toUpperCase() + name.slice(1)
  return inverseNames[predicate]?.[language] ?? `← ${name}`
}
