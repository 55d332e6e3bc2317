import type { Language } from '../../app/language/language.ts'

/** The verbs and nouns of operations. The name of an operation is a verb followed by a noun: `createAccessGroup`. */

/** The past and the base form in English, then the participle and the infinitive in German. */
type VerbForms = readonly [past: string, base: string, participle: string, infinitive: string]

const verbs: Readonly<Record<string, VerbForms>> = {
  activate: ['activated', 'activate', 'aktiviert', 'aktivieren'],
  add: ['added', 'add', 'hinzugefügt', 'hinzufügen'],
  apply: ['applied', 'apply', 'angewendet', 'anwenden'],
  approve: ['approved', 'approve', 'freigegeben', 'freigeben'],
  assign: ['assigned', 'assign', 'zugewiesen', 'zuweisen'],
  cancel: ['canceled', 'cancel', 'abgebrochen', 'abbrechen'],
  cleanup: ['cleaned up', 'clean up', 'bereinigt', 'bereinigen'],
  close: ['closed', 'close', 'geschlossen', 'schließen'],
  confirm: ['confirmed', 'confirm', 'bestätigt', 'bestätigen'],
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
  grow: ['generated', 'generate', 'erzeugt', 'erzeugen'],
  import: ['imported', 'import', 'importiert', 'importieren'],
  list: ['listed', 'list', 'aufgelistet', 'auflisten'],
  map: ['assigned', 'assign', 'zugeordnet', 'zuordnen'],
  merge: ['merged', 'merge', 'zusammengeführt', 'zusammenführen'],
  move: ['moved', 'move', 'verschoben', 'verschieben'],
  open: ['opened', 'open', 'geöffnet', 'öffnen'],
  pause: ['paused', 'pause', 'angehalten', 'anhalten'],
  put: ['changed', 'change', 'geändert', 'ändern'],
  read: ['read', 'read', 'gelesen', 'lesen'],
  rebuild: ['rebuilt', 'rebuild', 'neu aufgebaut', 'neu aufbauen'],
  record: ['recorded', 'record', 'erfasst', 'erfassen'],
  rename: ['renamed', 'rename', 'umbenannt', 'umbenennen'],
  replace: ['replaced', 'replace', 'ersetzt', 'ersetzen'],
  replay: [
    'replayed the events of',
    'replay the events of',
    'Ereignisse erneut senden lassen',
    'Ereignisse erneut senden lassen',
  ],
  reset: ['reset', 'reset', 'zurückgesetzt', 'zurücksetzen'],
  resume: ['resumed', 'resume', 'fortgesetzt', 'fortsetzen'],
  retry: ['retried', 'retry', 'wiederholt', 'wiederholen'],
  revoke: ['revoked', 'revoke', 'gesperrt', 'sperren'],
  rotate: ['renewed', 'renew', 'erneuert', 'erneuern'],
  run: ['started', 'start', 'gestartet', 'starten'],
  set: ['changed', 'change', 'geändert', 'ändern'],
  split: ['split', 'split', 'geteilt', 'teilen'],
  start: ['started', 'start', 'gestartet', 'starten'],
  stop: ['stopped', 'stop', 'gestoppt', 'stoppen'],
  switch: ['switched', 'switch', 'umgeschaltet', 'umschalten'],
  test: ['tested', 'test', 'getestet', 'testen'],
  triage: ['reviewed', 'review', 'geprüft', 'prüfen'],
  unassign: ['removed', 'remove', 'entfernt', 'entfernen'],
  undo: ['undid', 'undo', 'rückgängig gemacht', 'rückgängig machen'],
  unmap: ['removed', 'remove', 'entfernt', 'entfernen'],
  update: ['changed', 'change', 'geändert', 'ändern'],
  upload: ['uploaded', 'upload', 'hochgeladen', 'hochladen'],
}

type Noun = readonly [english: string, german: string]

const nouns: Readonly<Record<string, Noun>> = {
  AccessGroup: ['the access group', 'die Zugriffsgruppe'],
  AccessGroups: ['the access groups of assets', 'die Zugriffsgruppen von Assets'],
  Artefact: ['the artefact', 'das Artefakt'],
  Asset: ['the asset', 'das Asset'],
  Assets: ['the assets', 'die Assets'],
  Assignment: ['the assignment of assets to', 'die Zuweisung von Assets zu'],
  Campaign: ['the campaign', 'die Kampagne'],
  Content: ['the content of the artefact', 'den Inhalt des Artefakts'],
  Counts: ['the counts of the hierarchy', 'die Zählungen der Hierarchie'],
  Credential: ['the credentials', 'die Zugangsdaten'],
  CustomProperty: ['the custom property', 'die Eigenschaft'],
  Data: ['the data keys', 'die Datenschlüssel'],
  Decision: ['the decision in the inbox', 'die Entscheidung im Eingang'],
  Description: ['the description of', 'die Beschreibung von'],
  Device: ['the update of', 'das Update von'],
  Discovery: ['the scan', 'den Suchlauf'],
  Duplicate: ['the possible duplicate', 'das mögliche Duplikat'],
  Export: ['the export', 'den Export'],
  File: ['the file', 'die Datei'],
  FirmwareVersion: ['the firmware of', 'die Firmware von'],
  Gateway: ['the gateway', 'das Gateway'],
  GatewayConfig: ['the configuration of the gateway', 'die Konfiguration des Gateways'],
  GatewaySwitch: ['the remote access of the gateway', 'den Fernzugriff des Gateways'],
  GatewayVersion: ['the version of the gateway', 'die Version des Gateways'],
  Grant: ['the grant', 'die Berechtigung'],
  Hierarchy: ['the hierarchy', 'die Hierarchie'],
  HostKey: ['the host key of', 'den Host-Schlüssel von'],
  IdentityProvider: ['the identity provider', 'den Identitätsanbieter'],
  ImpactReport: ['the impact report', 'den Auswirkungsbericht'],
  Import: ['the import', 'den Import'],
  Instance: ['the credentials', 'die Zugangsdaten'],
  InstancesTemplate: ['the monitoring set', 'das Monitoring-Set'],
  ManagedLink: ['a link of the gateway', 'einen Link des Gateways'],
  ManagementState: ['the management state of', 'den Verwaltungszustand von'],
  ManagementStates: ['the management state of assets', 'den Verwaltungszustand von Assets'],
  Mapping: ['the mapping', 'die Zuordnung'],
  Master: ['the master key', 'den Hauptschlüssel'],
  Merge: ['the merge of', 'die Zusammenführung von'],
  Monitoring: ['the monitoring task', 'die Überwachung'],
  MqttDeadLetters: [
    'the failed deliveries of the MQTT publisher',
    'die fehlgeschlagenen Zustellungen des MQTT-Publishers',
  ],
  MqttDelivery: ['a delivery of the MQTT publisher', 'eine Zustellung des MQTT-Publishers'],
  MqttPublisher: ['the MQTT publisher', 'den MQTT-Publisher'],
  Name: ['the name of', 'den Namen von'],
  Node: ['the hierarchy node', 'den Hierarchieknoten'],
  Nodes: ['the nodes of the hierarchy', 'die Knoten der Hierarchie'],
  OnboardingRule: ['the onboarding rule', 'die Aufnahmeregel'],
  Passkey: ['a passkey', 'einen Passkey'],
  Plant: ['a simulated plant', 'eine simulierte Anlage'],
  Policy: ['the rules for remote access', 'die Regeln für den Fernzugriff'],
  PropertyValues: ['properties of', 'Eigenschaften von'],
  Proposals: ['the proposals of the assignment rules', 'die Vorschläge der Zuweisungsregeln'],
  ReachabilityState: ['the reachability of', 'die Erreichbarkeit von'],
  Recording: ['a recording', 'eine Aufzeichnung'],
  RecoveryCodes: ['recovery codes', 'Wiederherstellungscodes'],
  Relation: ['a relation', 'eine Beziehung'],
  Relations: ['relations', 'Beziehungen'],
  RelationsByFilter: ['relations', 'Beziehungen'],
  Responsible: ['the responsible person of', 'die verantwortliche Person von'],
  Responsibles: ['the responsible person of assets', 'die verantwortliche Person von Assets'],
  Retrieval: ['the retrieval of data from', 'das Auslesen von Daten aus'],
  Role: ['the role', 'die Rolle'],
  Rules: ['the assignment rules of the hierarchy', 'die Zuweisungsregeln der Hierarchie'],
  Schema: ['the schema', 'das Schema'],
  SchemaFromLink: ['the credential type', 'den Zugangsdaten-Typ'],
  SecondFactor: ['the second factor of', 'den zweiten Faktor von'],
  ServerUser: ['the service account', 'das Dienstkonto'],
  ServerUserSecret: ['the secret of the service account', 'das Geheimnis des Dienstkontos'],
  Session: ['the session', 'die Sitzung'],
  Sessions: ['their other sessions', 'die anderen eigenen Sitzungen'],
  Settings: ['the settings', 'die Einstellungen'],
  SignInPolicy: ['the sign-in policy', 'die Anmelderichtlinie'],
  Signature: ['the signature of the artefact', 'die Signatur des Artefakts'],
  SigningKey: ['the signing key', 'den Signaturschlüssel'],
  StepUp: ['a confirmation of the identity', 'eine Bestätigung der Identität'],
  Switch: ['the remote access', 'den Fernzugriff'],
  Ticket: ['a connection', 'eine Verbindung'],
  Totp: ['the authenticator app', 'die Authenticator-App'],
  Transit: ['the transit keys', 'die Transitschlüssel'],
  TrustAnchor: ['the trust anchor', 'den Vertrauensanker'],
  TrustState: ['the trust state of', 'den Vertrauensstatus von'],
  UploadOffset: ['the state of the upload', 'den Stand des Uploads'],
  User: ['the user', 'den Benutzer'],
  UserSessions: ['the sessions of', 'die Sitzungen von'],
  Webhook: ['the webhook', 'den Webhook'],
  WebhookDeadLetters: ['the failed deliveries of the webhook', 'die fehlgeschlagenen Zustellungen des Webhooks'],
  WebhookDelivery: ['a delivery of the webhook', 'eine Zustellung des Webhooks'],
  WebhookSecret: ['the secret of the webhook', 'das Geheimnis des Webhooks'],
  Window: ['the maintenance window', 'das Wartungsfenster'],
  Workflow: ['the workflow', 'den Ablauf'],
}

function partsOf(operation: string): { verb: string; noun: string } {
  const [, verb = operation, noun = ''] = /^([a-z]+)(.*)$/.exec(operation) ?? []
  return { verb, noun }
}

/** Returns whether the verb and the noun of an operation are listed. */
export function hasWords(operation: string): boolean {
  const { verb, noun } = partsOf(operation)
  return Object.hasOwn(verbs, verb) && Object.hasOwn(nouns, noun)
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
