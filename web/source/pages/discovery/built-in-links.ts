import type { Language } from '../../app/language/language.ts'
import { isInvalidSettings } from '../../app/language/link-message.ts'

/** This file contains the texts of the built-in links. Links of other vendors are shown with the texts that they report. */

const idPrefix = 'millwright.links.'

/** Returns the short name of a built-in link, such as `snmp`. Returns undefined for links of other vendors. */
export function builtInName(assetLinkId: string): string | undefined {
  const name = assetLinkId.startsWith(idPrefix) ? assetLinkId.slice(idPrefix.length) : undefined
  return name !== undefined && Object.hasOwn(links, name) ? name : undefined
}

type LinkTexts = {
  title: string
  descriptions: Readonly<Record<Language, string>>
  parameters?: Readonly<Record<string, ParameterTexts>>
}

/** The label in English and German, and the German hint. The link itself reports the English hint. */
type ParameterTexts = readonly [label: string, germanLabel: string, germanHint: string]

const links: Readonly<Record<string, LinkTexts>> = {
  'ip-scan': {
    title: 'IP scan',
    descriptions: {
      en: 'Finds all devices with an IP address, with their MAC address, manufacturer, name and open TCP ports.',
      de: 'Findet alle Geräte mit IP-Adresse, mit MAC-Adresse, Hersteller, Name und offenen TCP-Ports.',
    },
    parameters: {
      ports: [
        'TCP ports',
        'TCP-Ports',
        'Zu prüfende TCP-Ports, höchstens 64, etwa 80,443 oder 5000-5010. Leer: keine TCP-Verbindungen',
      ],
      icmp: ['Ping (ICMP)', 'Ping (ICMP)', 'ICMP-Echo senden, wenn das Programm ping des Gateways das kann'],
      reverse_dns: ['Names from DNS', 'Namen aus DNS', 'Namen der Geräte beim DNS-Server abfragen'],
      dns_server: [
        'DNS server',
        'DNS-Server',
        'DNS-Server für die Namen, etwa 10.0.0.2. Leer: DNS-Server des Gateways',
      ],
      timeout_ms: ['Timeout (ms)', 'Zeitlimit (ms)', 'Wartezeit auf jede Antwort: 50 bis 950 Millisekunden'],
      parallel: ['Parallel addresses', 'Parallele Adressen', 'Gleichzeitig geprüfte Adressen: 1 bis 256'],
    },
  },
  snmp: {
    title: 'SNMP',
    descriptions: {
      en: 'Finds network devices with SNMP v1, v2c and v3, with their modules, ports and cables.',
      de: 'Findet Netzwerkgeräte mit SNMP v1, v2c und v3, mit ihren Modulen, Ports und Kabeln.',
    },
    parameters: {
      port: ['UDP port', 'UDP-Port', 'UDP-Port der Agenten. Mehrere Ports: 161, 1161'],
      timeout_ms: [
        'Timeout (ms)',
        'Zeitlimit (ms)',
        'Wartezeit auf eine Antwort: 50 bis 30000 Millisekunden. Jede Anfrage wird einmal wiederholt',
      ],
      device_seconds: ['Time per device (s)', 'Zeit je Gerät (s)', 'Längste Lesezeit je Gerät: 1 bis 600 Sekunden'],
      parallel: ['Parallel devices', 'Parallele Geräte', 'Gleichzeitig gelesene Geräte: 1 bis 1024'],
      neighbours: [
        'Cables (LLDP and bridge tables)',
        'Kabel (LLDP und Bridge-Tabellen)',
        'LLDP- und Bridge-Tabellen lesen und melden, welche Geräte verbunden sind',
      ],
    },
  },
  'ethernet-ip': {
    title: 'EtherNet/IP',
    descriptions: {
      en: 'Finds devices that speak EtherNet/IP (CIP), with serial number, firmware and the modules in their slots.',
      de: 'Findet Geräte mit EtherNet/IP (CIP), mit Seriennummer, Firmware und den Modulen in ihren Steckplätzen.',
    },
    parameters: {
      ports: ['Ports', 'Ports', 'UDP- und TCP-Ports, etwa 44818 oder 44818,44820-44822'],
      udp: ['Search over UDP', 'Suche über UDP', 'ListIdentity als UDP-Datagramm senden, ohne Antwort ein zweites Mal'],
      tcp: [
        'Connect over TCP',
        'Verbindung über TCP',
        'Über TCP mit Adressen verbinden, die über UDP nicht antworten, und mit Geräten, um weitere Daten zu lesen',
      ],
      details: [
        'Host name and MAC address',
        'Hostname und MAC-Adresse',
        'Mit jedem gefundenen Gerät über TCP verbinden und Hostname, IP-Einstellungen und MAC-Adresse lesen. Ohne Verbindung über TCP wirkungslos',
      ],
      slots: [
        'Slots',
        'Steckplätze',
        'Steckplätze am Rückwandbus, deren Module gelesen werden: 0 bis 63, etwa 0-16. Leer: keine. Erfordert die Verbindung über TCP',
      ],
      timeout_ms: [
        'Timeout (ms)',
        'Zeitlimit (ms)',
        'Längste Zeit für Verbindung und Antwort: 50 bis 30000 Millisekunden. Neuer Verbindungsversuch alle 900 Millisekunden',
      ],
      device_seconds: [
        'Time per device (s)',
        'Zeit je Gerät (s)',
        'Längste Lesezeit je Gerät ab der ersten Antwort: 1 bis 3600 Sekunden',
      ],
      parallel: ['Parallel addresses', 'Parallele Adressen', 'Gleichzeitig durchsuchte Adressen: 1 bis 256'],
    },
  },
  opcua: {
    title: 'OPC UA',
    descriptions: {
      en: 'Finds OPC UA servers: endpoints, certificates, build information and nameplates of devices.',
      de: 'Findet OPC-UA-Server: Endpunkte, Zertifikate, Build-Informationen und Typenschilder von Geräten.',
    },
    parameters: {
      ports: ['TCP ports', 'TCP-Ports', 'Ports der OPC-UA-Server: 4840 oder 4840, 48010-48020'],
      timeout_ms: [
        'Connection timeout (ms)',
        'Zeitlimit der Verbindung (ms)',
        'Zeit für eine Verbindung: 50 bis 60000 Millisekunden. Neuer Versuch alle 900 Millisekunden',
      ],
      answer_timeout_ms: [
        'Answer timeout (ms)',
        'Zeitlimit der Antwort (ms)',
        'Zeit für jede Antwort: 50 bis 60000 Millisekunden. Steuerungen brauchen für die erste gesicherte Antwort einige Sekunden',
      ],
      device_seconds: [
        'Time per server (s)',
        'Zeit je Server (s)',
        'Längste Lesezeit je Server ab der Verbindung: 1 bis 3600 Sekunden',
      ],
      parallel: ['Parallel addresses', 'Parallele Adressen', 'Gleichzeitig durchsuchte Adressen: 1 bis 256'],
      follow_discovery_servers: [
        'Follow discovery servers',
        'Discovery-Servern folgen',
        'Auch Server an anderen Ports derselben Adresse lesen, die ein Discovery-Server nennt',
      ],
      allow_plain_password: [
        'Passwords without encryption',
        'Passwörter ohne Verschlüsselung',
        'Passwörter auch unverschlüsselt senden. Jeder im Netz kann sie dann lesen',
      ],
    },
  },
  modbus: {
    title: 'Modbus',
    descriptions: {
      en: 'Finds devices that speak Modbus/TCP, and units behind Modbus gateways.',
      de: 'Findet Geräte mit Modbus/TCP und Einheiten hinter Modbus-Gateways.',
    },
    parameters: {
      ports: ['TCP ports', 'TCP-Ports', 'TCP-Ports, etwa 502 oder 502,5020-5022'],
      unit_ids: [
        'Unit ids',
        'Unit-IDs',
        'Unit-IDs, die bis zur ersten Antwort versucht werden: 0 bis 255. 255 ist ein Gerät mit eigener IP-Adresse',
      ],
      gateway_units: [
        'Units behind gateways',
        'Einheiten hinter Gateways',
        'Unit-IDs hinter Modbus-Gateways, die alle abgefragt werden, etwa 1-32. Leer: keine',
      ],
      category: [
        'Nameplate detail',
        'Umfang des Typenschilds',
        'Wie viel vom Typenschild höchstens gelesen wird: basic, regular oder extended',
      ],
      report_server_id: [
        'Report server id (0x11)',
        'Report Server ID (0x11)',
        'Funktion 0x11 an Geräte ohne Typenschild senden. Die Spezifikation sieht sie nur für serielle Leitungen vor',
      ],
      timeout_ms: [
        'Timeout (ms)',
        'Zeitlimit (ms)',
        'Längste Zeit für Verbindung und Antwort: 50 bis 30000 Millisekunden. Neuer Verbindungsversuch alle 900 Millisekunden',
      ],
      device_seconds: [
        'Time per device (s)',
        'Zeit je Gerät (s)',
        'Längste Lesezeit je Gerät ab der Verbindung: 1 bis 3600 Sekunden',
      ],
      parallel: ['Parallel addresses', 'Parallele Adressen', 'Gleichzeitig durchsuchte Adressen: 1 bis 256'],
    },
  },
  mdns: {
    title: 'mDNS',
    descriptions: {
      en: 'Finds devices that announce their services with multicast DNS: printers, cameras, IoT gateways, computers.',
      de: 'Findet Geräte, die ihre Dienste mit Multicast-DNS bekannt geben: Drucker, Kameras, IoT-Gateways, Computer.',
    },
    parameters: {
      ports: ['UDP ports', 'UDP-Ports', 'UDP-Ports, etwa 5353 oder 5353,5354'],
      multicast: [
        'Multicast',
        'Multicast',
        'Geräte in den Netzsegmenten des Gateways mit einer Multicast-Anfrage suchen, die alle Geräte eines Segments empfangen',
      ],
      timeout_ms: [
        'Timeout (ms)',
        'Zeitlimit (ms)',
        'Längste Zeit für eine Antwort: 50 bis 30000 Millisekunden. Eine Anfrage nach einem Eintrag, den das Gerät bekannt gibt, wird einmal wiederholt',
      ],
      device_seconds: [
        'Time per device (s)',
        'Zeit je Gerät (s)',
        'Längste Lesezeit je Gerät ab der ersten Antwort: 1 bis 3600 Sekunden',
      ],
      parallel: ['Parallel addresses', 'Parallele Adressen', 'Gleichzeitig durchsuchte Adressen: 1 bis 256'],
    },
  },
  s7: {
    title: 'S7',
    descriptions: {
      en: 'Finds SIMATIC S7 controllers and compatible controllers, and the modules in their rack.',
      de: 'Findet SIMATIC-S7-Steuerungen und kompatible Steuerungen mit den Baugruppen in ihrem Rack.',
    },
    parameters: {
      ports: ['TCP ports', 'TCP-Ports', 'TCP-Ports, etwa 102 oder 102,1102-1104'],
      rack: ['Rack', 'Rack', 'Rack der CPU und der Baugruppen: 0 bis 7'],
      slots: [
        'CPU slots',
        'Steckplätze der CPU',
        'Steckplätze, die versucht werden, bis eine Baugruppe antwortet. Diese ist die CPU: 0 bis 31. S7-1200 und S7-1500: 1, S7-300: 2, S7-400: oft 3',
      ],
      module_slots: [
        'Module slots',
        'Steckplätze der Baugruppen',
        'Steckplätze weiterer Baugruppen im Rack, die alle abgefragt werden, etwa 4-11. Leer: keine',
      ],
      connection_type: [
        'Connection type',
        'Verbindungstyp',
        'Verbindungstyp, den der Link nutzt: pg (Programmiergerät), op (Bediengerät) oder basic (S7-Basiskommunikation)',
      ],
      timeout_ms: [
        'Timeout (ms)',
        'Zeitlimit (ms)',
        'Längste Zeit für Verbindung und Antwort: 50 bis 30000 Millisekunden. Neuer Verbindungsversuch alle 900 Millisekunden',
      ],
      device_seconds: [
        'Time per device (s)',
        'Zeit je Gerät (s)',
        'Längste Lesezeit je Gerät ab der Verbindung: 1 bis 3600 Sekunden',
      ],
      parallel: ['Parallel addresses', 'Parallele Adressen', 'Gleichzeitig durchsuchte Adressen: 1 bis 256'],
    },
  },
  profinet: {
    title: 'PROFINET',
    descriptions: {
      en: 'Finds PROFINET devices on the network segments of the gateway, also without an IP address, and LLDP neighbours.',
      de: 'Findet PROFINET-Geräte in den Netzsegmenten des Gateways, auch ohne IP-Adresse, und LLDP-Nachbarn.',
    },
    parameters: {
      requests: [
        'Identify frames',
        'Identify-Telegramme',
        'Anzahl der Identify-Telegramme je Netzwerkkarte: 1 bis 5. Ein zweites findet Geräte, die das erste verpassen',
      ],
      spread_ms: [
        'Spread of answers (ms)',
        'Verteilung der Antworten (ms)',
        'Zeit, über die Geräte ihre Antworten verteilen: 10 bis 64000 Millisekunden. Mehr für Segmente mit vielen hundert Geräten',
      ],
      timeout_ms: [
        'Timeout (ms)',
        'Zeitlimit (ms)',
        'Wartezeit auf weitere Antworten nach der Verteilung und auf jeden Datensatz: 50 bis 30000 Millisekunden',
      ],
      lldp_seconds: [
        'LLDP time (s)',
        'LLDP-Zeit (s)',
        'Zeit, in der LLDP-Telegramme an den Netzwerkports des Gateways empfangen werden: 0 bis 120 Sekunden. PROFINET-Geräte senden alle 5 Sekunden, andere Switches alle 30. 0: aus',
      ],
      read_records: [
        'Read records (I&M0)',
        'Datensätze lesen (I&M0)',
        'Bestellnummer, Seriennummer und Firmware (I&M0) und die Kabel jedes Geräts mit IP-Adresse über UDP-Port 34964 lesen',
      ],
      device_seconds: [
        'Time per device (s)',
        'Zeit je Gerät (s)',
        'Längste Zeit zum Lesen der Datensätze eines Geräts: 1 bis 3600 Sekunden',
      ],
      parallel: [
        'Parallel devices',
        'Parallele Geräte',
        'Geräte, deren Datensätze gleichzeitig gelesen werden: 1 bis 256',
      ],
      interface: [
        'Network interface',
        'Netzwerkkarte',
        'Netzwerkkarte des Gateways, über die gesendet wird, etwa eth0. Leer: alle Netzwerkkarten, deren Netz Adressen des Bereichs enthält',
      ],
    },
  },
  bacnet: {
    title: 'BACnet',
    descriptions: {
      en: 'Finds devices that speak BACnet/IP, and devices behind BACnet routers.',
      de: 'Findet Geräte mit BACnet/IP und Geräte hinter BACnet-Routern.',
    },
    parameters: {
      ports: ['UDP ports', 'UDP-Ports', 'UDP-Ports, etwa 47808 oder 47808-47811'],
      low_instance: [
        'Lowest device instance',
        'Niedrigste Geräteinstanz',
        'Niedrigste Instanz der gemeldeten Geräte: 0 bis 4194303',
      ],
      high_instance: [
        'Highest device instance',
        'Höchste Geräteinstanz',
        'Höchste Instanz der gemeldeten Geräte: 0 bis 4194303',
      ],
      routers: [
        'Devices behind routers',
        'Geräte hinter Routern',
        'Auch Geräte hinter BACnet-Routern suchen, etwa an MS/TP-Leitungen',
      ],
      broadcast: [
        'Broadcast',
        'Broadcast',
        'Eine Anfrage an alle Geräte der Netzsegmente des Gateways senden statt je einer Anfrage an jede Adresse',
      ],
      bbmd: [
        'BBMD',
        'BBMD',
        'BBMD, das die Anfrage an alle Geräte seiner Netze sendet, etwa 10.0.0.2 oder 10.0.0.2:47808. Leer: keines',
      ],
      collect_ms: [
        'Time to collect answers (ms)',
        'Sammelzeit für Antworten (ms)',
        'Wartezeit auf Antworten von Geräten hinter Routern und auf Antworten auf Broadcasts: 100 bis 60000 Millisekunden',
      ],
      timeout_ms: [
        'Timeout (ms)',
        'Zeitlimit (ms)',
        'Längste Zeit für eine Antwort: 50 bis 30000 Millisekunden. Eine Anfrage, die ein gefundenes Gerät liest, wird einmal wiederholt',
      ],
      device_seconds: [
        'Time per address (s)',
        'Zeit je Adresse (s)',
        'Längste Lesezeit je Adresse mit den Geräten dahinter: 1 bis 3600 Sekunden',
      ],
      parallel: ['Parallel addresses', 'Parallele Adressen', 'Gleichzeitig durchsuchte Adressen: 1 bis 256'],
    },
  },
  plant: {
    title: 'Simulated plant',
    descriptions: {
      en: 'Simulated plant of any size, for demonstrations and load tests. Contacts no real device.',
      de: 'Simulierte Anlage beliebiger Größe für Vorführungen und Lasttests. Kontaktiert keine echten Geräte.',
    },
    parameters: {
      ip_range: [
        'IP range',
        'IP-Bereich',
        'Nur Geräte in diesem Bereich: 10.0.0.1-10.0.3.255, 10.0.0.0/16 oder eine Adresse',
      ],
      size: ['Devices in the whole plant', 'Geräte der ganzen Anlage', 'Anzahl der Geräte: 1 bis 1000000'],
      seed: ['Seed', 'Startwert', 'Startwert der Anlage: 0 bis 65535. Derselbe Wert erzeugt dieselbe Anlage'],
      tick: [
        'Simulated time',
        'Simulierte Zeit',
        'Simulierte Zeit: 0 bis 1000000 Schritte. Jeder Schritt ändert einige Geräte',
      ],
      changes_percent: [
        'Changes per step (%)',
        'Änderungen je Schritt (%)',
        'Anteil der Geräte, die sich je Schritt ändern: je ein Drittel neu, entfernt oder mit anderer Firmware',
      ],
      protected_percent: [
        'Protected devices (%)',
        'Geschützte Geräte (%)',
        'Anteil der Geräte, die Zugangsdaten verlangen',
      ],
      silent_percent: ['Silent devices (%)', 'Stumme Geräte (%)', 'Anteil der Geräte, die nicht antworten'],
      update_fault_percent: [
        'Devices with faults in updates (%)',
        'Geräte mit Fehlern bei Aktualisierungen (%)',
        'Anteil der Geräte, die bei einer Aktualisierung einen Fehler haben',
      ],
      update_faults: [
        'Faults in updates',
        'Fehler bei Aktualisierungen',
        'Fehler, durch Kommas getrennt: slow, fails-at-60, reboots, wrong-version, no-answer. Leer: alle',
      ],
      update_restart_ms: [
        'Restart after an update (ms)',
        'Neustart nach einer Aktualisierung (ms)',
        'Dauer des Neustarts eines Geräts nach einer Aktualisierung in Millisekunden: 0 bis 600000',
      ],
      rate: ['Devices per second', 'Geräte pro Sekunde', 'Höchstzahl der Geräte pro Sekunde; 0: unbegrenzt'],
      reference: ['Reference devices', 'Referenzgeräte', 'Statt der Anlage die sechs Geräte des Referenz-Links finden'],
      interface: [
        'Network interface',
        'Netzwerkkarte',
        'Netzwerkkarte der sechs Geräte des Referenz-Links: eth0 oder eth1',
      ],
    },
  },
}

/** The parameters that several links have. */
const sharedParameters: Readonly<Record<string, ParameterTexts>> = {
  ip_range: [
    'IP range',
    'IP-Bereich',
    'Zu durchsuchende Adressen: 10.0.0.1-10.0.3.255, 10.0.0.0/24 oder eine Adresse. Mehrere Bereiche durch Kommas trennen',
  ],
  exclude: [
    'Excluded addresses',
    'Ausgeschlossene Adressen',
    'Adressen, die nicht durchsucht werden, in derselben Form',
  ],
  interface: [
    'Network interface',
    'Netzwerkkarte',
    'Netzwerkkarte des Gateways, über die gesendet wird, etwa eth0. Leer: das Betriebssystem wählt sie',
  ],
}

/** Returns the title of a built-in link by its id. The title of another link is its id. */
export function linkTitle(assetLinkId: string): string {
  return builtInTitle(builtInName(assetLinkId) ?? assetLinkId)
}

/** Returns a message of a gateway with the titles of built-in links instead of their ids. */
export function withLinkTitles(message: string): string {
  return message.replace(/\bmillwright\.links\.[a-z][a-z0-9-]*/g, linkTitle)
}

/**
 * Returns a message of an asset link with the labels of the parameters that it names. Messages name a parameter by its key, in
 * quotation marks.
 */
export function withParameterLabels(
  message: string,
  { assetLinkId, discoveryFilters, discoveryOptions }: ScanParameters,
  language: Language,
): string {
  const keys = new Set([...discoveryFilters, ...discoveryOptions].map(({ key }) => key))
  return message.replace(parameterKey, (quoted, key: string) =>
    keys.has(key) ? `"${parameterTexts(assetLinkId, { key }, language).label}"` : quoted,
  )
}

const parameterKey = /"([a-z][a-z0-9_]*)"/g

/** Returns the label of the setting that made a run of a scan fail. Returns undefined if the message names no setting of the scan. */
export function invalidSettingOf(
  { message = '', ...scan }: ScanParameters & { message?: string | undefined },
  language: Language,
): string | undefined {
  if (!isInvalidSettings(message)) return undefined
  const keys = [...scan.discoveryFilters, ...scan.discoveryOptions].map(({ key }) => key)
  const key = [...message.matchAll(parameterKey)].map(([, name = '']) => name).find((name) => keys.includes(name))
  return key === undefined ? undefined : parameterTexts(scan.assetLinkId, { key }, language).label
}

type ScanParameters = {
  assetLinkId: string
  discoveryFilters: readonly { key: string }[]
  discoveryOptions: readonly { key: string }[]
}

/** Returns the title of a built-in link by its short name. */
export function builtInTitle(name: string): string {
  return links[name]?.title ?? name
}

/** Returns the description of a built-in link by its short name. Returns undefined for other names. */
export function builtInDescription(name: string | undefined, language: Language): string | undefined {
  return links[name ?? '']?.descriptions[language]
}

type LinkParameterText = { key: string; description?: string | undefined }

/** Returns the label and the hint of a parameter. For links of other vendors, these are its key and its description. */
export function parameterTexts(
  assetLinkId: string,
  { key, description }: LinkParameterText,
  language: Language,
): { label: string; hint: string | undefined } {
  const name = builtInName(assetLinkId)
  const texts = name === undefined ? undefined : (links[name]?.parameters?.[key] ?? sharedParameters[key])
  if (texts === undefined) return { label: key, hint: description }
  const [label, germanLabel, germanHint] = texts
  return language === 'de' ? { label: germanLabel, hint: germanHint } : { label, hint: description }
}
