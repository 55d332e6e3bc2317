import type { Title } from '../../../app/language/language.ts'
import { assetTypes } from '../../../components/values/asset-type-names.ts'

/** `AssetProperty` is a property of assets that the asset table can show and filter by. */
export type AssetProperty = {
  /**
   * The path of the property in the filter language. `array/any/field` is the path of a field in the elements of an
   * array.
   */
  path: string
  title: Title
  kind: 'text' | 'state' | 'time'
  /** All possible values, if the set of values is fixed. */
  values?: readonly string[]
  /** Common values, if the user can also enter other values. */
  suggestions?: readonly string[]
  /** The field of the asset document that contains the property. It must be requested from the API. */
  field: string
  isSortable: boolean
  /** Whether assets can be filtered by this property. The default is true. */
  isFilterable?: boolean
  /** Whether assets can be grouped by this property. */
  isFacet?: boolean
  width: number
}

const product = 'product_instance_information/manufacturer_product'

type PropertyOptions = Partial<Omit<AssetProperty, 'path' | 'title'>>

function property(path: string, [en, de]: [string, string], rest: PropertyOptions = {}): AssetProperty {
  const field = path.split('/')[0] ?? path
  return { path, title: { en, de }, kind: 'text', field, isSortable: !path.includes('/any/'), width: 160, ...rest }
}

/** The last change is not part of the document of an asset. The table reads it separately. */
const ofLastChange: PropertyOptions = { isSortable: false, isFilterable: false }

export const assetProperties: readonly AssetProperty[] = [
  property('name', ['Name', 'Name'], { width: 280 }),
  property('functional_object_type', ['Type', 'Typ'], { suggestions: assetTypes, width: 120, isFacet: true }),
  property(`${product}/manufacturer/name`, ['Manufacturer', 'Hersteller'], { width: 180, isFacet: true }),
  property(`${product}/product_name`, ['Product', 'Produkt'], { width: 220, isFacet: true }),
  property(`${product}/product_id`, ['Article number', 'Artikelnummer'], { width: 180, isFacet: true }),
  property(`${product}/product_family`, ['Product family', 'Produktfamilie'], { isFacet: true }),
  property(`${product}/product_version`, ['Product version', 'Produktversion'], { width: 140 }),
  property('product_instance_information/serial_number', ['Serial number', 'Seriennummer'], { width: 170 }),
  property('firmware_version', ['Firmware', 'Firmware'], {
    width: 110,
    field: 'software_components',
    isFacet: true,
  }),
  property('connection_points/any/ipv4_address', ['IP address', 'IP-Adresse'], { width: 140 }),
  property('connection_points/any/mac_address', ['MAC address', 'MAC-Adresse'], { width: 160 }),
  property('management_state/state_value', ['Management state', 'Verwaltungszustand'], {
    kind: 'state',
    values: ['regarded', 'unknown', 'ignored'],
    width: 140,
    isFacet: true,
  }),
  property('reachability_state/state_value', ['Reachability', 'Erreichbarkeit'], {
    kind: 'state',
    values: ['reached', 'failed', 'unknown'],
    width: 140,
    isFacet: true,
  }),
  property('trust_state/state_value', ['Trust', 'Vertrauensstatus'], {
    kind: 'state',
    values: ['trusted', 'pending', 'failed'],
    width: 120,
    isFacet: true,
  }),
  property('access_group', ['Access group', 'Zugriffsgruppe'], { width: 170, isFacet: true }),
  property('responsible', ['Responsible', 'Verantwortlich'], { width: 150, isFacet: true }),
  property('location/any/location_identifier', ['Location', 'Standort'], { width: 180 }),
  property('description', ['Description', 'Beschreibung'], { width: 260 }),
  property('created_timestamp', ['Created', 'Angelegt'], { kind: 'time', width: 170 }),
  property('last_modified_timestamp', ['Changed', 'Geändert'], { kind: 'time', width: 170 }),
  property('last_change/what', ['Last change', 'Letzte Änderung'], { ...ofLastChange, width: 280 }),
  property('last_change/by', ['Changed by', 'Geändert von'], { ...ofLastChange, width: 160 }),
]

/** The paths of the default columns. */
export const defaultPaths: readonly string[] = [
  'name',
  'functional_object_type',
  `${product}/manufacturer/name`,
  `${product}/product_name`,
  'product_instance_information/serial_number',
  'firmware_version',
  'connection_points/any/ipv4_address',
  'management_state/state_value',
  'reachability_state/state_value',
  'access_group',
]

/** Returns the `AssetProperty` for a custom property of the tenant. */
export function customProperty({ key, name }: { key: string; name: string }): AssetProperty {
  const both = { en: name, de: name }
  return {
    path: `custom_properties/${key}`,
    title: both,
    kind: 'text',
    field: 'custom_properties',
    isSortable: false,
    width: 160,
  }
}
