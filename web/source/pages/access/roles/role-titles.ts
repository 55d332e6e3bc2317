import type { BuiltInRoleName, Permission } from '@millwright/api/permission.ts'
import type { Language } from '../../../app/language/language.ts'

/** What permissions and built-in roles are for, in German; every one is there, held by the compiler. */
const permissions: Readonly<Record<Permission, string>> = {
  glb_inventory_read_relation_data: 'Alle Beziehungen des Mandanten lesen',
  glb_inventory_read_gateway_data: 'Gateways und Asset-Links aller Zugriffsgruppen lesen',
  glb_inventory_write_relation_data: 'Beziehungen anlegen und löschen',
  glb_file_import: 'Dateien importieren',
  glb_file_export: 'Dateien exportieren',
  glb_discovery_run: 'Geräte suchen, auch nach Zeitplan',
  glb_gateway_manage: 'Gateways aufnehmen und sperren',
  glb_jobs_read: 'Alle Aufträge lesen',
  glb_workflow_manage: 'Abläufe verwalten',
  glb_hierarchy_read: 'Hierarchien lesen',
  glb_hierarchy_write: 'Hierarchien ändern',
  glb_update_manage: 'Firmware-Aktualisierungen verwalten',
  glb_schema_write: 'Asset-Schemata und eigene Eigenschaften hinzufügen',
  glb_audit_read: 'Das Protokoll lesen',
  glb_access_manage: 'Benutzer, Programme, Rollen, Zugriffsgruppen und Zuweisungen verwalten',
  glb_credential_read: 'Zugangsdaten sehen (nie ihre Geheimnisse)',
  glb_credential_write: 'Zugangsdaten verwalten',
  write_template: 'Vorlagen für Zugangsdaten hochladen',
  glb_gateway_work: 'Die Arbeit eines Gateways tun',
  inventory_read_asset_data: 'Assets lesen',
  inventory_write_asset_data: 'Assets anlegen, ändern und löschen',
  remote_access_connect: 'Fernverbindungen zu Assets öffnen',
}

const roles: Readonly<Record<BuiltInRoleName, string>> = {
  viewer: 'Sieht Assets, Beziehungen, Hierarchien und Aufträge',
  operator: 'Arbeitet an Assets und sucht Geräte',
  supervisor: 'Wie operator, dazu Fernzugriff',
  administrator: 'Darf im Mandanten alles',
  credential_manager: 'Verwaltet Vorlagen und Zugangsdaten',
  gateway: 'Was das Token eines Gateways darf',
}

type Titled<Name extends string> = { name: Name; title: string }

export function permissionTitle({ name, title }: Titled<Permission>, language: Language): string {
  return language === 'en' ? title : permissions[name]
}

/** A role of one's own has the title that it was given. */
export function roleTitle({ name, title, builtIn }: Titled<string> & { builtIn: boolean }, language: Language): string {
  return language === 'en' || !builtIn ? title : (roles[name as BuiltInRoleName] ?? title)
}
