import { type BuiltInWorkflowName, isBuiltInWorkflow } from '@millwright/api/built-in-workflows.ts'
import { type Language, type Messages, messages } from '../../app/language/language.ts'

/** The display names of the built-in workflows. Custom workflows are shown by their own name. */
export const workflowNames: Messages<Record<BuiltInWorkflowName, string>> = messages({
  en: {
    'artefact-retrieval': 'Retrieval from a device',
    'artefact-update': 'Firmware update',
    'device-info': 'Device read',
    discovery: 'Scan',
    'file-export': 'Export',
    'file-import': 'Import',
    'link-inventory': 'Asset link inventory',
    monitoring: 'Monitoring',
    'remote-access': 'Remote access',
    'update-campaign': 'Update campaign',
  },
  de: {
    'artefact-retrieval': 'Datei vom Gerät lesen',
    'artefact-update': 'Firmware-Update',
    'device-info': 'Gerät auslesen',
    discovery: 'Suchlauf',
    'file-export': 'Export',
    'file-import': 'Import',
    'link-inventory': 'Asset-Link-Inventar',
    monitoring: 'Überwachung',
    'remote-access': 'Fernzugriff',
    'update-campaign': 'Update-Kampagne',
  },
})

export function workflowName(name: string, names: Readonly<Record<BuiltInWorkflowName, string>>): string {
  return isBuiltInWorkflow(name) ? names[name] : name
}

/**
 * The German texts of the built-in workflows. The key of a description is the name of the workflow. The key of a state
 * is `workflow/STATE`, or `STATE` for a state that several workflows share.
 */
const german: Readonly<Record<string, string>> = {
  'artefact-retrieval': 'Liest eine Sicherung, Konfiguration oder Protokolldatei von einem Gerät',
  'artefact-update': 'Überträgt, aktiviert und prüft neue Firmware',
  'device-info': 'Liest Eigenschaften eines Geräts',
  discovery: 'Sucht Geräte mit einem Asset-Link',
  'file-export': 'Exportiert Daten in eine Datei',
  'file-import': 'Importiert Assets aus einer Datei',
  'link-inventory': 'Startet oder stoppt einen mitgelieferten Asset-Link eines Gateways',
  monitoring: 'Prüft Geräte über ein Gateway, als Teil einer Überwachung',
  'remote-access': 'Öffnet eine Fernverbindung zu einem Gerät über sein Gateway',
  'update-campaign': 'Installiert ein Artefakt auf mehreren Geräten',
  CREATED: 'Warten auf das Gateway',
  RUNNING: 'Das Gateway führt den Auftrag aus',
  CANCELING: 'Das Gateway beendet den Auftrag',
  FINISHED: 'Abgeschlossen',
  FAILED: 'Fehlgeschlagen',
  CANCELED: 'Abgebrochen',
  'file-export/CREATED': 'Warten auf andere Aufträge',
  'file-export/RUNNING': 'Die Plattform führt den Auftrag aus',
  'file-import/CREATED': 'Warten auf andere Aufträge',
  'file-import/RUNNING': 'Die Plattform führt den Auftrag aus',
  PREPARING: 'Firmware wird auf das Gerät übertragen',
  PREPARED: 'Bereit zur Aktivierung',
  ACTIVATE: 'Aktivierung angefordert',
  ACTIVATING: 'Das Gerät aktiviert die Firmware',
  VERIFYING: 'Das Gateway prüft die Version des Geräts',
  ACTIVATED: 'Firmware aktiv',
  UNKNOWN: 'Das Ergebnis der Aktivierung ist nicht bekannt',
  'artefact-update/CANCELED': 'Vor der Aktivierung abgebrochen',
  'update-campaign/CREATED': 'Warten auf die Freigabe',
  'update-campaign/RUNNING': 'Die Kampagne läuft',
  OPEN: 'Verbindung angefordert',
  OPENING: 'Das Gateway stellt die Verbindung her',
  OPENED: 'Verbunden',
  CLOSED: 'Getrennt',
  'remote-access/FAILED': 'Verbindung fehlgeschlagen',
  'remote-access/CANCELED': 'Vor dem Start abgebrochen',
}

type WorkflowText = { workflow: string; state?: string; description: string | undefined }

/**
 * Returns the description of a workflow or of one of its states in the language of the user. The texts of custom
 * workflows are not translated.
 */
export function workflowText({ workflow, state, description }: WorkflowText, language: Language): string | undefined {
  if (language === 'en' || !isBuiltInWorkflow(workflow)) return description
  const text = state === undefined ? german[workflow] : (german[`${workflow}/${state}`] ?? german[state])
  return text ?? description
}
