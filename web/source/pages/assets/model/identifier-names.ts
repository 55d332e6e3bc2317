import type { Language } from '../../../app/language/language.ts'
import { textAt, valueAt } from './asset.ts'

/** This file contains the display names of identifiers and their fields. */

const kind = 'asset_identifier_type'

const kinds: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    IdLinkIdentifier: 'Identification link',
    ProductInstanceIdentifier: 'Product and serial number',
    MacIdentifier: 'MAC address',
    SoftwareIdentifier: 'Software and version',
    CertificateIdentifier: 'Certificate',
    CustomIdentifier: 'Custom identifier',
    HostBasedSoftwareIdentifier: 'Software on a host',
    ParentRelativeIdentifier: 'Position in another asset',
  },
  de: {
    IdLinkIdentifier: 'Identifikationslink',
    ProductInstanceIdentifier: 'Produkt und Seriennummer',
    MacIdentifier: 'MAC-Adresse',
    SoftwareIdentifier: 'Software und Version',
    CertificateIdentifier: 'Zertifikat',
    CustomIdentifier: 'Benutzerdefinierte Kennung',
    HostBasedSoftwareIdentifier: 'Software auf einem Rechner',
    ParentRelativeIdentifier: 'Position in einem anderen Asset',
  },
}

const fields: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: { vendor: 'manufacturer', host_identifier: 'host', instance_identifier: 'instance', parent_identifier: 'parent' },
  de: {
    vendor: 'Hersteller',
    article_number: 'Artikelnummer',
    serial_number: 'Seriennummer',
    mac_address: 'Adresse',
    name: 'Name',
    value: 'Wert',
    version: 'Version',
    certificate_id: 'Zertifikat',
    id_link: 'Link',
    host_identifier: 'Rechner',
    instance_identifier: 'Instanz',
    parent_identifier: 'Übergeordnet',
    slot: 'Steckplatz',
    subslot: 'Untersteckplatz',
  },
}

/** Returns the display name of an identifier's class. Unknown classes are not translated. */
export function identifierKind(identifier: unknown, language: Language): string {
  const own = textAt(identifier, kind)
  return kinds[language][own] ?? own
}

export type IdentifierField = { name: string; value: string }

/** The display order of the fields of an identifier. All other fields follow after these fields. */
const order = [
  'vendor',
  'article_number',
  'serial_number',
  'host_identifier',
  'parent_identifier',
  'slot',
  'subslot',
].concat(['name', 'value', 'version', 'instance_identifier'])

function placeOf(field: string): number {
  const place = order.indexOf(field)
  return place === -1 ? order.length : place
}

/**
 * Returns the fields of an identifier with their display names. The fields that describe the identifier, such as its
 * class, are left out.
 */
export function identifierFields(identifier: unknown, language: Language): IdentifierField[] {
  if (typeof identifier !== 'object' || identifier === null) return []
  return Object.keys(identifier)
    .filter((field) => field !== kind && !/^identifier_(type|uncertainty)$/.test(field))
    .toSorted((one, other) => placeOf(one) - placeOf(other))
    .map((field) => ({ field, value: textOf(valueAt(identifier, field), language) }))
    .filter(({ value }) => value !== '')
    .map(({ field, value }) => ({ name: fields[language][field] ?? field.replaceAll('_', ' '), value }))
}

/** Returns an identifier on one line, for example `MAC address 02:00:00:00:00:01`. */
export function identifierLine(identifier: unknown, language: Language): string {
  const values = identifierFields(identifier, language).map(({ value }) => value)
  return [identifierKind(identifier, language), ...values].join(' ')
}

/**
 * Returns a value of an identifier as text. A nested identifier, such as the identifier of the parent, is written on
 * one line.
 */
function textOf(value: unknown, language: Language): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? identifierLine(value, language) : String(value)
}
