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
