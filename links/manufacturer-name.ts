/**
 * Short names of manufacturers. Protocols report the same manufacturer under different names, such as `MOXA TECHNOLOGIES
 * CORP., LTD.` in the IEEE registry and `Moxa` on nameplates. Each pattern matches the start of such a name.
 *
 * Source: names in the IEEE registry of MAC address blocks (npm package oui-data 2.1.9), compared with the names on the
 * websites of the manufacturers. Date: 2026-11-17.
 */
const shortNames: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/^(abb)\b/i, 'ABB'],
  [/^advantech\b/i, 'Advantech'],
  [/^axis communications\b/i, 'Axis'],
  [/^b ?& ?r industrial\b/i, 'B&R'],
  [/^balluff\b/i, 'Balluff'],
  [/^basler ag\b/i, 'Basler'],
  [/^beckhoff\b/i, 'Beckhoff'],
  [/^bosch rexroth\b/i, 'Bosch Rexroth'],
  [/^cisco(-linksys| systems| meraki| spvtg)\b/i, 'Cisco'],
  [/^cognex\b/i, 'Cognex'],
  [/^danfoss\b/i, 'Danfoss'],
  [/^dell\b/i, 'Dell'],
  [/^delta electronics\b/i, 'Delta Electronics'],
  [/^eaton\b/i, 'Eaton'],
  [/^endress ?[&+] ?hauser\b/i, 'Endress+Hauser'],
  [/^fanuc\b/i, 'FANUC'],
  [/^festo\b/i, 'Festo'],
  [/^hewlett packard enterprise\b/i, 'Hewlett Packard Enterprise'],
  [/^hewlett packard\b/i, 'HP'],
  [/^hilscher\b/i, 'Hilscher'],
  [/^hirschmann automation\b/i, 'Hirschmann'],
  [/^belden hirschmann\b/i, 'Hirschmann'],
  [/^hms industrial\b/i, 'HMS Networks'],
  [/^honeywell\b/i, 'Honeywell'],
  [/^ifm electronic\b/i, 'ifm'],
  [/^intel corporat/i, 'Intel'],
  [/^juniper networks\b/i, 'Juniper Networks'],
  [/^keyence\b/i, 'Keyence'],
  [/^kuka\b/i, 'KUKA'],
  [/^lenze\b/i, 'Lenze'],
  [/^leuze electronic\b/i, 'Leuze'],
  [/^mitsubishi electric (corporation|automation)\b/i, 'Mitsubishi Electric'],
  [/^moxa\b/i, 'Moxa'],
  [/^murrelektronik\b/i, 'Murrelektronik'],
  [/^omron (corporation|tateisi)\b/i, 'Omron'],
  [/^pepperl ?\+ ?fuchs\b/i, 'Pepperl+Fuchs'],
  [/^phoenix contact\b/i, 'Phoenix Contact'],
  [/^pilz\b/i, 'Pilz'],
  [/^raspberry pi\b/i, 'Raspberry Pi'],
  [/^red lion\b/i, 'Red Lion'],
  [/^rockwell automation\b/i, 'Rockwell Automation'],
  [/^schneider electric\b/i, 'Schneider Electric'],
  [/^sew[- ]eurodrive\b/i, 'SEW-Eurodrive'],
  [/^sick ag\b/i, 'SICK'],
  [/^siemens ag\b/i, 'Siemens'],
  [/^turck\b/i, 'Turck'],
  [/^vmware\b/i, 'VMware'],
  [/^wago\b/i, 'WAGO'],
  [/^weidm(ü|ue)ller\b/i, 'Weidmüller'],
  [/^westermo\b/i, 'Westermo'],
  [/^yaskawa\b/i, 'Yaskawa'],
  [/^yokogawa electric\b/i, 'Yokogawa'],
]

/** Returns the short name of a manufacturer, or the name without surrounding spaces and commas if it has no short name. */
export function manufacturerName(name: string): string {
  const text = name.trim().replace(/\s+/g, ' ').replace(/,+$/, '')
  return shortNames.find(([pattern]) => pattern.test(text))?.[1] ?? text
}
