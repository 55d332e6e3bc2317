import type { Language } from '../../../app/language/language.ts'

/** The display names of schema classes in each language. */
const names: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    EthernetPort: 'Ethernet port',
    Ipv4Connectivity: 'IPv4',
    Ipv6Connectivity: 'IPv6',
    AssetLocation: 'Location',
    GeoLocation: 'Coordinates',
    MountingLocation: 'Mounting location',
    Okz: 'Location code',
    Akz: 'Plant designation (AKZ)',
    PostalAddress: 'Address',
  },
  de: {
    EthernetPort: 'Ethernet-Anschluss',
    Ipv4Connectivity: 'IPv4',
    Ipv6Connectivity: 'IPv6',
    AssetLocation: 'Standort',
    GeoLocation: 'Koordinaten',
    MountingLocation: 'Einbauort',
    Okz: 'Ortskennzeichen',
    Akz: 'Anlagenkennzeichen (AKZ)',
    PostalAddress: 'Anschrift',
  },
}

/** Returns the display name of a schema class. Custom classes are not translated. */
export function className(name: string, language: Language): string {
  return names[language][name] ?? name
}
