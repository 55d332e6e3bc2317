import type { BuiltInWorkflowName } from '@millwright/api/built-in-workflows.ts'
import { type Messages, messages } from '../../app/language/language.ts'

/** The results of finished jobs, by workflow. */
export const jobResults: Messages<Record<BuiltInWorkflowName, string>> = messages({
  en: {
    'artefact-retrieval': 'File read from the device',
    'artefact-update': 'Firmware installed',
    'device-info': 'Values read from the device',
    discovery: 'Finished',
    'file-export': 'File ready',
    'file-import': 'Import finished',
    'link-inventory': 'Asset link started or stopped',
    monitoring: 'Check finished',
    'remote-access': 'Remote session ended',
    'update-campaign': 'Campaign finished',
  },
  de: {
    'artefact-retrieval': 'Datei vom Gerät gelesen',
    'artefact-update': 'Firmware installiert',
    'device-info': 'Werte vom Gerät gelesen',
    discovery: 'Abgeschlossen',
    'file-export': 'Datei bereit',
    'file-import': 'Import abgeschlossen',
    'link-inventory': 'Asset-Link gestartet oder gestoppt',
    monitoring: 'Prüfung abgeschlossen',
    'remote-access': 'Fernzugriffssitzung beendet',
    'update-campaign': 'Kampagne abgeschlossen',
  },
})

/** What a user can do after a job of a workflow failed. */
export const jobAdvices: Messages<Record<BuiltInWorkflowName, string>> = messages({
  en: {
    'artefact-retrieval': 'Open the asset, and read the file again.',
    'artefact-update': 'Open the asset to see its firmware version. Retry the update in its campaign.',
    'device-info': 'Open the asset, and read the device again.',
    discovery: 'Open the scan. Its receipt shows what the gateway did. Correct the settings, then run the scan again.',
    'file-export': 'Start the export again.',
    'file-import': 'Open the import. It lists the rows with errors. Correct the file, then import it again.',
    'link-inventory': 'Open the gateway, and start or stop the asset link again.',
    monitoring: 'Open the monitoring task. It shows the devices that could not be checked.',
    'remote-access': 'Open the asset, and connect again.',
    'update-campaign':
      'Open the campaign. It shows the devices whose update failed. You can retry these updates there.',
  },
  de: {
    'artefact-retrieval': 'Öffnen Sie das Asset und lesen Sie die Datei erneut.',
    'artefact-update':
      'Öffnen Sie das Asset, um seine Firmware-Version zu sehen. Wiederholen Sie das Update in der Kampagne.',
    'device-info': 'Öffnen Sie das Asset und lesen Sie das Gerät erneut aus.',
    discovery:
      'Öffnen Sie den Suchlauf. Das Sendeprotokoll zeigt, was das Gateway getan hat. Korrigieren Sie die Einstellungen und starten Sie den Suchlauf erneut.',
    'file-export': 'Starten Sie den Export erneut.',
    'file-import':
      'Öffnen Sie den Import. Er zeigt die Zeilen mit Fehlern. Korrigieren Sie die Datei und importieren Sie sie erneut.',
    'link-inventory': 'Öffnen Sie das Gateway und starten oder stoppen Sie den Asset-Link erneut.',
    monitoring: 'Öffnen Sie die Überwachung. Sie zeigt die Geräte, die nicht geprüft werden konnten.',
    'remote-access': 'Öffnen Sie das Asset und stellen Sie die Verbindung erneut her.',
    'update-campaign':
      'Öffnen Sie die Kampagne. Sie zeigt die Geräte, deren Update fehlgeschlagen ist. Dort können Sie das Update wiederholen.',
  },
})

/** What a user can do after a job finished with errors. */
export const jobErrorAdvices: Messages<Record<'rows' | 'checks' | 'devices', string>> = messages({
  en: {
    rows: 'Open the import. It lists the rows with errors. Correct these rows in the file, then import it again.',
    checks:
      'Open the monitoring task. It names the devices and the reasons, for example that the asset link was not running. The next run checks them again.',
    devices: 'Open the campaign. It names the devices whose update failed, with the reasons. You can retry them there.',
  },
  de: {
    rows: 'Öffnen Sie den Import. Er zeigt die Zeilen mit Fehlern. Korrigieren Sie diese Zeilen und importieren Sie die Datei erneut.',
    checks:
      'Öffnen Sie die Überwachung. Sie nennt die Geräte und die Gründe, zum Beispiel dass der Asset-Link nicht lief. Der nächste Lauf prüft sie erneut.',
    devices:
      'Öffnen Sie die Kampagne. Sie nennt die Geräte, deren Update fehlgeschlagen ist, und die Gründe. Dort können Sie das Update wiederholen.',
  },
})
