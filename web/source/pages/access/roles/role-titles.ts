import type { BuiltInRoleName, Permission } from '@millwright/api/permission.ts'
import type { Language } from '../../../app/language/language.ts'

/** The German titles of permissions and built-in roles. The compiler requires a title for each of them. */
const permissions: Readonly<Record<Permission, string>> = {
  glb_inventory_read_relation_data: 'Alle Beziehungen des Mandanten lesen',
  glb_inventory_read_gateway_data: 'Gateways und Asset-Links aller Zugriffsgruppen lesen',
  glb_inventory_write_relation_data: 'Beziehungen anlegen und löschen',
  glb_file_import: 'Dateien importieren',
  glb_file_export: 'Dateien exportieren',
  glb_discovery_run: 'Suchläufe starten und planen',
  glb_gateway_manage: 'Gateways registrieren und sperren',
  glb_jobs_read: 'Alle Aufträge lesen',
  glb_workflow_manage: 'Abläufe verwalten',
  glb_hierarchy_read: 'Hierarchien lesen',
  glb_hierarchy_write: 'Hierarchien ändern',
  glb_webhook_manage: 'Webhooks und MQTT-Publisher verwalten',
  glb_update_manage: 'Firmware-Updates verwalten',
  glb_schema_write: 'Asset-Schemas und benutzerdefinierte Eigenschaften hinzufügen',
  glb_audit_read: 'Audit-Protokoll lesen',
  glb_access_manage: 'Benutzer, Dienstkonten, Rollen, Zugriffsgruppen und Rollenzuweisungen verwalten',
  glb_credential_read: 'Zugangsdaten lesen (ohne Geheimnisse)',
  glb_credential_write: 'Zugangsdaten verwalten',
  write_template: 'Zugangsdaten-Typen hochladen',
  glb_gateway_work: 'Als Gateway arbeiten',
  inventory_read_asset_data: 'Assets lesen',
  inventory_write_asset_data: 'Assets anlegen, ändern und löschen',
  remote_access_connect: 'Fernverbindungen zu Assets öffnen',
  remote_access_approve: 'Fernverbindungen anderer Benutzer freigeben und beenden, Aufzeichnungen lesen',
}

const roles: Readonly<Record<BuiltInRoleName, string>> = {
  viewer: 'Liest Assets, Beziehungen, Hierarchien und Aufträge',
  operator: 'Bearbeitet Assets und startet Suchläufe',
  supervisor: 'Wie operator, zusätzlich Fernzugriff',
  update_manager: 'Wie operator, installiert zusätzlich Firmware und andere Artefakte auf Geräten',
  administrator: 'Hat im Mandanten alle Berechtigungen',
  credential_manager: 'Verwaltet Zugangsdaten und ihre Typen',
  gateway: 'Berechtigungen eines Gateways',
}

type Titled<Name extends string> = { name: Name; title: string }

export function permissionTitle({ name, title }: Titled<Permission>, language: Language): string {
  return language === 'en' ? title : permissions[name]
}

/** Returns the title of a role. A custom role has the same title in every language. */
export function roleTitle({ name, title, builtIn }: Titled<string> & { builtIn: boolean }, language: Language): string {
  return language === 'en' || !builtIn ? title : (roles[name as BuiltInRoleName] ?? title)
}
