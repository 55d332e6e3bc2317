import type { Language } from '../../app/language/language.ts'

/** The verbs and nouns of operations. The name of an operation is a verb followed by a noun: `createAccessGroup`. */

/** The past and the base form in English, then the participle and the infinitive in German. */
type VerbForms = readonly [past: string, base: string, participle: string, infinitive: string]

const verbs: Readonly<Record<string, VerbForms>> = {
  activate: ['activated', 'activate', 'aktiviert', 'aktivieren'],
  add: ['added', 'add', 'hinzugefügt', 'hinzufügen'],
  approve: ['approved', 'approve', 'freigegeben', 'freigeben'],
  assign: ['assigned', 'assign', 'zugewiesen', 'zuweisen'],
  cancel: ['canceled', 'cancel', 'abgebrochen', 'abbrechen'],
  close: ['closed', 'close', 'geschlossen', 'schließen'],
  copy: ['copied', 'copy', 'kopiert', 'kopieren'],
  create: ['created', 'create', 'angelegt', 'anlegen'],
  delete: ['deleted', 'delete', 'gelöscht', 'löschen'],
  deny: ['rejected', 'reject', 'abgelehnt', 'ablehnen'],
  disable: ['disabled', 'disable', 'deaktiviert', 'deaktivieren'],
  dismiss: ['dismissed', 'dismiss', 'verworfen', 'verwerfen'],
  end: ['ended', 'end', 'beendet', 'beenden'],
  extend: ['extended', 'extend', 'verlängert', 'verlängern'],
  finish: ['finished', 'finish', 'abgeschlossen', 'abschließen'],
  get: ['read', 'read', 'gelesen', 'lesen'],
  import: ['imported', 'import', 'importiert', 'importieren'],
  list: ['listed', 'list', 'aufgelistet', 'auflisten'],
  map: ['assigned', 'assign', 'zugeordnet', 'zuordnen'],
  move: ['moved', 'move', 'verschoben', 'verschieben'],
  open: ['opened', 'open', 'geöffnet', 'öffnen'],
  pause: ['paused', 'pause', 'angehalten', 'anhalten'],
  put: ['changed', 'change', 'geändert', 'ändern'],
  read: ['read', 'read', 'gelesen', 'lesen'],
  rename: ['renamed', 'rename', 'umbenannt', 'umbenennen'],
  replace: ['replaced', 'replace', 'ersetzt', 'ersetzen'],
  reset: ['reset', 'reset', 'zurückgesetzt', 'zurücksetzen'],
  resume: ['resumed', 'resume', 'fortgesetzt', 'fortsetzen'],
  retry: ['retried', 'retry', 'wiederholt', 'wiederholen'],
  revoke: ['revoked', 'revoke', 'gesperrt', 'sperren'],
  rotate: ['renewed', 'renew', 'erneuert', 'erneuern'],
  run: ['started', 'start', 'gestartet', 'starten'],
  set: ['changed', 'change', 'geändert', 'ändern'],
  start: ['started', 'start', 'gestartet', 'starten'],
  stop: ['stopped', 'stop', 'gestoppt', 'stoppen'],
  switch: ['switched', 'switch', 'umgeschaltet', 'umschalten'],
  unassign: ['removed', 'remove', 'entfernt', 'entfernen'],
  undo: ['undid', 'undo', 'rückgängig gemacht', 'rückgängig machen'],
  unmap: ['removed', 'remove', 'entfernt', 'entfernen'],
  update: ['changed', 'change', 'geändert', 'ändern'],
  upload: ['uploaded', 'upload', 'hochgeladen', 'hochladen'],
}

type Noun = readonly [english: string, german: string]

const nouns: Readonly<Record<string, Noun>> = {
  AccessGroup: ['the access group', 'die Zugriffsgruppe'],
  Artefact: ['the artefact', 'das Artefakt'],
  Asset: ['the asset', 'das Asset'],
  Assets: ['the assets', 'die Assets'],
  Assignment: ['the assignment of assets to', 'die Zuweisung von Assets zu'],
  Campaign: ['the campaign', 'die Kampagne'],
  Content: ['the content of the artefact', 'den Inhalt des Artefakts'],
  CustomProperty: ['the custom property', 'die Eigenschaft'],
  Device: ['the update of', 'die Aktualisierung von'],
  Discovery: ['the scan', 'den Scan'],
  Duplicate: ['the possible duplicate', 'das mögliche Duplikat'],
  Export: ['the export', 'den Export'],
  File: ['the file', 'die Datei'],
  Gateway: ['the gateway', 'das Gateway'],
  GatewayConfig: ['the configuration of the gateway', 'die Konfiguration des Gateways'],
  GatewaySwitch: ['the remote access of the gateway', 'den Fernzugriff des Gateways'],
  Grant: ['the grant', 'die Berechtigung'],
  Hierarchy: ['the hierarchy', 'die Hierarchie'],
  HostKey: ['the host key of', 'den Host-Schlüssel von'],
  IdentityProvider: ['the identity provider', 'den Identitätsanbieter'],
  Import: ['the import', 'den Import'],
  Instance: ['the credential', 'die Zugangsdaten'],
  InstancesTemplate: ['the credential template', 'die Vorlage für Zugangsdaten'],
  ManagedLink: ['a link of the gateway', 'einen Link des Gateways'],
  Mapping: ['the mapping', 'die Zuordnung'],
  Monitoring: ['the monitoring', 'die Überwachung'],
  MqttPublisher: ['the MQTT publisher', 'die MQTT-Ausgabe'],
  Node: ['the hierarchy node', 'den Hierarchieknoten'],
  Nodes: ['the nodes of the hierarchy', 'die Knoten der Hierarchie'],
  Passkey: ['a passkey', 'einen Passkey'],
  Policy: ['the rules for remote access', 'die Regeln für den Fernzugriff'],
  RecoveryCodes: ['recovery codes', 'Wiederherstellungscodes'],
  Recording: ['a recording', 'eine Aufzeichnung'],
  Relation: ['a relation', 'eine Beziehung'],
  Relations: ['relations', 'Beziehungen'],
  Retrieval: ['the retrieval of data from', 'den Abruf von Daten von'],
  Role: ['the role', 'die Rolle'],
  Rules: ['the assignment rules', 'die Zuweisungsregeln'],
  Schema: ['the schema', 'das Schema'],
  SecondFactor: ['the second factor of', 'den zweiten Faktor von'],
  ServerUser: ['the service account', 'das Dienstkonto'],
  ServerUserSecret: ['the secret of the service account', 'das Geheimnis des Dienstkontos'],
  Session: ['the session', 'die Sitzung'],
  Sessions: ['their other sessions', 'die anderen eigenen Sitzungen'],
  Settings: ['the settings', 'die Einstellungen'],
  SignInPolicy: ['the sign-in policy', 'die Anmelderichtlinie'],
  Signature: ['the signature of the artefact', 'die Signatur des Artefakts'],
  Switch: ['the remote access', 'den Fernzugriff'],
  Totp: ['the authenticator app', 'die Authenticator-App'],
  TrustAnchor: ['the trust anchor', 'den Vertrauensanker'],
  User: ['the user', 'den Benutzer'],
  UserSessions: ['the sessions of', 'die Sitzungen von'],
  Webhook: ['the webhook', 'den Webhook'],
  WebhookSecret: ['the secret of the webhook', 'das Geheimnis des Webhooks'],
  Window: ['the maintenance window', 'das Wartungsfenster'],
  Workflow: ['the workflow', 'den Workflow'],
}

function partsOf(operation: string): { verb: string; noun: string } {
  const [, verb = operation, noun = ''] = /^([a-z]+)(.*)$/.exec(operation) ?? []
  return { verb, noun }
}

/** Returns the forms of the verb: for an action that succeeded, and for one that was refused. */
export function verbOf(operation: string, language: Language): { past: string; base: string } {
  const { verb } = partsOf(operation)
  const [past, base, participle, infinitive] = verbs[verb] ?? [verb, verb, verb, verb]
  return language === 'de' ? { past: participle, base: infinitive } : { past, base }
}

/** Returns the object of an operation with its article. A noun that is not listed is shown in words. */
export function nounOf(operation: string, language: Language): string {
  const { noun } = partsOf(operation)
  const listed = nouns[noun]
  if (listed !== undefined) return listed[language === 'de' ? 1 : 0]
  return noun.replaceAll(/(?!^)([A-Z])/g, ' $1').toLowerCase()
}
