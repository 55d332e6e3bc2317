import { isIPv4, isIPv6 } from 'node:net'
import {
  type AssetColumnTarget,
  assetColumnsOf,
  assetHeadings,
  idTarget,
  normalMac,
} from '@millwright/api/asset-columns.ts'
import { assetTypeOf } from '@millwright/api/asset-schema.ts'
import type { ImportMapping, MappingSuggestion } from '@millwright/api/imports.ts'
import type { CustomProperty } from '@millwright/api/inventory/inventory.ts'
import { plainHeading } from './columns.ts'

/** Suggests the fields of the columns of a foreign table, from saved mappings, headings and values. */

/** Other headings of each field, in English and German, in the form of `plainHeading`. */
const synonyms: Readonly<Record<AssetColumnTarget, readonly string[]>> = {
  name: [
    'asset name',
    'device name',
    'host',
    'host name',
    'hostname',
    'tag',
    'tag name',
    'label',
    'designation',
    'bezeichnung',
    'gerätename',
    'anlagenname',
    'benennung',
    'station name',
    'stationsname',
    'anlagenkennzeichen',
    'betriebsmittelkennzeichen',
    'akz',
    'bmk',
  ],
  functional_object_type: ['asset type', 'device type', 'category', 'class', 'typ', 'gerätetyp', 'art', 'kategorie'],
  description: [
    'comment',
    'comments',
    'note',
    'notes',
    'remark',
    'remarks',
    'beschreibung',
    'bemerkung',
    'bemerkungen',
    'kommentar',
    'notiz',
    'anmerkung',
  ],
  manufacturer: [
    'vendor',
    'make',
    'maker',
    'brand',
    'supplier',
    'manufacturer name',
    'vendor name',
    'hersteller',
    'lieferant',
    'marke',
    'fabrikat',
  ],
  product: [
    'model',
    'product name',
    'product designation',
    'device model',
    'produkt',
    'produktname',
    'modell',
    'gerät',
    'produktbezeichnung',
    'typbezeichnung',
    'typenbezeichnung',
  ],
  order_number: [
    'article number',
    'article no',
    'order no',
    'order code',
    'part number',
    'part no',
    'mlfb',
    'material number',
    'product id',
    'sku',
    'bestellnummer',
    'bestell nr',
    'artikelnummer',
    'artikel nr',
    'materialnummer',
    'teilenummer',
    'sachnummer',
  ],
  serial_number: [
    'serial',
    'serial no',
    's n',
    'sn',
    'serialnumber',
    'seriennummer',
    'serien nr',
    'seriennr',
    'fabriknummer',
    'fabrikationsnummer',
  ],
  hardware_version: [
    'hardware',
    'hw version',
    'hw revision',
    'hardware revision',
    'hw',
    'revision',
    'hardwareversion',
    'hardwarestand',
    'hw stand',
    'erzeugnisstand',
  ],
  firmware_version: [
    'firmware',
    'fw version',
    'fw',
    'software version',
    'sw version',
    'firmwareversion',
    'firmwarestand',
    'fw stand',
    'softwareversion',
    'softwarestand',
  ],
  mac_address: [
    'mac',
    'mac adresse',
    'mac address 1',
    'physical address',
    'ethernet address',
    'hardware address',
    'hardwareadresse',
    'physikalische adresse',
  ],
  ip_address: [
    'ip',
    'ipv4',
    'ip adresse',
    'ipv4 address',
    'ipv4 adresse',
    'ipv6 address',
    'network address',
    'netzwerkadresse',
  ],
  access_group: ['group', 'zugriffsgruppe', 'gruppe', 'zone', 'berechtigungsgruppe'],
  hierarchy_path: [
    'path',
    'location',
    'location path',
    'plant path',
    'site',
    'pfad',
    'hierarchiepfad',
    'standort',
    'ort',
    'einbauort',
    'anlagenpfad',
  ],
  parent: [
    'parent asset',
    'parent device',
    'part of',
    'belongs to',
    'rack',
    'übergeordnet',
    'übergeordnetes gerät',
    'teil von',
    'gehört zu',
    'elternelement',
  ],
}

/** The share of values that must fit before values suggest a field. */
const sufficientShare = 0.8
const shownExamples = 3
const exampleCharacters = 64

type SuggestionInput = {
  headings: readonly string[]
  rows: readonly (readonly string[])[]
  mappings: readonly ImportMapping[]
  properties: readonly Pick<CustomProperty, 'key' | 'name'>[]
}

export function suggestColumns({
  headings,
  rows,
  mappings,
  properties,
}: SuggestionInput): Pick<MappingSuggestion, 'columns' | 'mappingId'> {
  const saved = mappings.find((mapping) => isFor(mapping, headings))
  const savedTargets = new Map(saved?.columns.map(({ from, to }) => [plainHeading(from), to]))
  const known = knownHeadings(properties)
  const used = new Set<string>()
  const take = (to: string | null | undefined) => {
    if (to === null || to === undefined || used.has(to)) return undefined
    used.add(to)
    return to
  }
  const valuesAt = (index: number) => rows.map((cells) => cells[index]?.trim() ?? '').filter((value) => value !== '')
  // Headings are more certain than values, so values only get the fields that no heading names.
  const named = headings.map((from, index) => {
    const plain = plainHeading(from)
    if (savedTargets.has(plain)) return { to: take(savedTargets.get(plain)), reason: 'mapping' as const }
    const to = known.get(plain)
    const isContradicted = isSynonym(plain, to) && !fitsAny(to, valuesAt(index))
    return { to: isContradicted ? undefined : take(to), reason: 'heading' as const }
  })
  const all = headings.map((from, index) => {
    const values = valuesAt(index)
    const examples = [...new Set(values)].slice(0, shownExamples).map((value) => value.slice(0, exampleCharacters))
    const { to, reason } = named[index] ?? {}
    if (to !== undefined) return { from, to, reason: reason ?? null, examples }
    const isIgnored = from === '' || savedTargets.has(plainHeading(from))
    const byValues = isIgnored ? undefined : take(fieldOfValues(values))
    return { from, to: byValues ?? null, reason: byValues === undefined ? null : ('values' as const), examples }
  })
  // A mapping names columns by their headings.
  const columns = all.filter(({ from }) => from !== '')
  return { columns, ...(saved === undefined ? {} : { mappingId: saved.id }) }
}

/** Returns whether a table has all columns of a mapping. */
function isFor({ columns }: ImportMapping, headings: readonly string[]): boolean {
  const present = new Set(headings.map(plainHeading))
  return columns.every(({ from }) => present.has(plainHeading(from)))
}

function knownHeadings(properties: SuggestionInput['properties']): Map<string, string> {
  const others = Object.entries(synonyms).flatMap(([target, headings]) =>
    headings.map((heading) => [heading, target] as const),
  )
  const own = assetColumnsOf(properties)
    .toReversed()
    .map(({ heading, target }) => [plainHeading(heading), target] as const)
  return new Map([...others, ...own, [plainHeading(assetHeadings.id), idTarget]])
}

/** The forms of values that determine a field. */
const forms: readonly [AssetColumnTarget, (value: string) => boolean][] = [
  ['mac_address', (value) => /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(normalMac(value))],
  ['ip_address', (value) => isIPv4(value) || isIPv6(value)],
  ['functional_object_type', (value) => assetTypeOf(value) !== undefined],
  // Order numbers of the large manufacturers, such as 6ES7 215-1AG40-0XB0.
  ['order_number', (value) => /^\d?[A-Z]{2,3}\d[\s-]?\d{3}-\d[A-Z]{2}\d{2}-\d[A-Z]{2}\d$/.test(value)],
  ['serial_number', (value) => /^(?:S[ _-]?(?:C|V|N)[ _-]?[A-Z0-9]{6,}|SN[-: ]?[A-Z0-9-]{4,})$/i.test(value)],
  ['firmware_version', (value) => /^v?\d+\.\d+(?:\.\d+){0,2}$/i.test(value)],
]

/** Returns whether a heading is another heading of the field, and not its heading in the template. */
function isSynonym(plain: string, target: string | undefined): boolean {
  return synonyms[target as AssetColumnTarget]?.includes(plain) ?? false
}

/** The forms of values without which every row would fail. Such columns are common in foreign tables. */
const requiredForms: Readonly<Record<string, (value: string) => boolean>> = {
  functional_object_type: (value) => assetTypeOf(value) !== undefined,
  hierarchy_path: (value) => value.includes('/'),
}

/** Returns whether at least one value can be written to the field. A column without values fits every field. */
function fitsAny(target: string | undefined, values: readonly string[]): boolean {
  const fits = requiredForms[target ?? '']
  return fits === undefined || values.length === 0 || values.some(fits)
}

function fieldOfValues(values: readonly string[]): AssetColumnTarget | undefined {
  if (values.length === 0) return undefined
  return forms.find(([, fits]) => values.filter(fits).length >= sufficientShare * values.length)?.[0]
}
