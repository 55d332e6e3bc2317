import type { Language } from '../../../app/language/language.ts'

/** What the parts of an asset are called by the schema, and what people call them. */
const words: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    EthernetPort: 'Ethernet port',
    Ipv4Connectivity: 'IPv4',
    Ipv6Connectivity: 'IPv6',
    AssetLocation: 'Place',
    GeoLocation: 'Coordinates',
    MountingLocation: 'Mounting place',
    Okz: 'Location code (OKZ)',
    Akz: 'Plant designation (AKZ)',
    PostalAddress: 'Address',
  },
  de: {
    EthernetPort: 'Ethernet-Anschluss',
    Ipv4Connectivity: 'IPv4',
    Ipv6Connectivity: 'IPv6',
    AssetLocation: 'Ort',
    GeoLocation: 'Koordinaten',
    MountingLocation: 'Einbauort',
    Okz: 'Ortskennzeichen (OKZ)',
    Akz: 'Anlagenkennzeichen (AKZ)',
    PostalAddress: 'Anschrift',
  },
}

/** Classes of their own as they are. */
export function className(name: string, language: Language): string {
  return words[language][name] ?? name
}
