import type {
  ArtefactKind,
  CampaignState,
  DeviceState,
  PlanOutcome,
  Retrieval,
  SignatureFormat,
  SignatureState,
} from '@millwright/api/updates.ts'
import { type Messages, messages } from '../../app/language/language.ts'

/** The display names of the kinds of artefacts. */
export const kindNames: Messages<Record<ArtefactKind, string>> = messages({
  en: {
    firmware: 'Firmware',
    software: 'Software',
    configuration: 'Configuration',
    backup: 'Backup',
    logfile: 'Log file',
  },
  de: {
    firmware: 'Firmware',
    software: 'Software',
    configuration: 'Konfiguration',
    backup: 'Sicherung',
    logfile: 'Protokolldatei',
  },
})

/** The display names of the states of a signature. */
export const signatureNames: Messages<Record<SignatureState, string>> = messages({
  en: {
    missing: 'Not signed',
    unchecked: 'Not checked yet',
    valid: 'Signature valid',
    untrusted: 'Signer not trusted',
    invalid: 'Signature invalid',
  },
  de: {
    missing: 'Nicht signiert',
    unchecked: 'Noch nicht geprüft',
    valid: 'Signatur gültig',
    untrusted: 'Signaturgeber nicht vertrauenswürdig',
    invalid: 'Signatur ungültig',
  },
})

export const signatureFormatNames: Readonly<Record<SignatureFormat, string>> = {
  cms: 'CMS (X.509)',
  minisign: 'minisign',
}

/** The display names of the states of a campaign. */
export const campaignStateNames: Messages<Record<CampaignState, string>> = messages({
  en: {
    draft: 'Draft',
    'pending-approval': 'Waiting for approval',
    running: 'Running',
    paused: 'Paused',
    stopped: 'Stopped',
    finished: 'Finished',
    canceled: 'Canceled',
  },
  de: {
    draft: 'Entwurf',
    'pending-approval': 'Wartet auf Freigabe',
    running: 'Läuft',
    paused: 'Angehalten',
    stopped: 'Gestoppt',
    finished: 'Beendet',
    canceled: 'Abgebrochen',
  },
})

export const campaignErrorTexts = messages({
  en: {
    withErrors: (count: number, shown: string) =>
      count === 1 ? 'Finished with 1 error' : `Finished with ${shown} errors`,
  },
  de: {
    withErrors: (count: number, shown: string) =>
      count === 1 ? 'Beendet mit 1 Fehler' : `Beendet mit ${shown} Fehlern`,
  },
})

/** The display names of the states of a device in a campaign. */
export const deviceStateNames: Messages<Record<DeviceState, string>> = messages({
  en: {
    waiting: 'Waiting',
    downloading: 'Downloading',
    transferring: 'Transferring',
    prepared: 'Prepared',
    activating: 'Activating',
    verifying: 'Verifying',
    succeeded: 'Updated',
    failed: 'Failed',
    unknown: 'Result unknown',
    skipped: 'Skipped',
    canceled: 'Canceled',
  },
  de: {
    waiting: 'Wartet',
    downloading: 'Wird heruntergeladen',
    transferring: 'Wird übertragen',
    prepared: 'Vorbereitet',
    activating: 'Wird aktiviert',
    verifying: 'Wird geprüft',
    succeeded: 'Aktualisiert',
    failed: 'Fehlgeschlagen',
    unknown: 'Ergebnis unbekannt',
    skipped: 'Übersprungen',
    canceled: 'Abgebrochen',
  },
})

/** The display names of the outcomes of a plan. */
export const outcomeNames: Messages<Record<PlanOutcome, string>> = messages({
  en: {
    update: 'Update',
    current: 'Already up to date',
    incompatible: 'Not compatible',
    'no-link': 'No suitable asset link',
    forbidden: 'Permission missing',
    busy: 'In another campaign',
  },
  de: {
    update: 'Wird aktualisiert',
    current: 'Bereits aktuell',
    incompatible: 'Nicht kompatibel',
    'no-link': 'Kein passender Asset-Link',
    forbidden: 'Berechtigung fehlt',
    busy: 'In einer anderen Kampagne',
  },
})

/** The display names of the states of a retrieval. */
export const retrievalStateNames: Messages<Record<Retrieval['state'], string>> = messages({
  en: { waiting: 'Waiting', running: 'Running', finished: 'Finished', failed: 'Failed' },
  de: { waiting: 'Wartet', running: 'Läuft', finished: 'Abgeschlossen', failed: 'Fehlgeschlagen' },
})
