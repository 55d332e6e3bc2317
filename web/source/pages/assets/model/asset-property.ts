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
  /** The title in the header of a narrow column. */
  shortTitle?: Title
  kind: 'text' | 'state' | 'time'
  /** All possible values, if the set of values is fixed. */
  values?: readonly string[]
  /** The values that the builder offers. A filter expression can also name other values. */
  suggestions?: readonly string[]
  /** The field of the asset document that contains the property. It must be requested from the API. */
  field: string
  isSortable: boolean
  /** Whether assets can be filtered by this property. The default is true. */
  isFilterable?: boolean
  /** Whether assets can be grouped by this property. */
  isFacet?: boolean
  width: number
  /** The width down to which the column shrinks in a narrow table. */
  minWidth?: number
  /** Whether the column takes the free width of the table. */
  isGrowing?: boolean
}

const product = 'product_instance_information/manufacturer_product'

/** The paths of the names of the manufacturer and of the product. */
export const manufacturerPath = `${product}/manufacturer/name`
export const productPath = `${product}/product_name`

/** The path of the place of an asset in the hierarchy. */
export const placePath = 'hierarchy/place'

/**
 * The path of the condition of an asset. The column shows the worst condition, with faults such as older firmware. The table sorts
 * and filters by the reachability.
 */
export const conditionPath = 'reachability_state/state_value'

type PropertyOptions = Partial<Omit<AssetProperty, 'path' | 'title'>>

function property(path: string, [en, de]: [string, string], rest: PropertyOptions = {}): AssetProperty {
  const field = path.split('/')[0] ?? path
  return { path, title: { en, de }, kind: 'text', field, isSortable: !path.includes('/any/'), width: 160, ...rest }
}

/**
 * The options of properties that are not part of the document of an asset. The table derives the class from other
 * properties, and reads the place and the last change separately.
 */
const onlyShown: PropertyOptions = { isSortable: false, isFilterable: false }

export const assetProperties: readonly AssetProperty[] = [
  property('name', ['Name', 'Name'], { width: 235, minWidth: 190 }),
  property('asset_class', ['Class', 'Klasse'], { ...onlyShown, field: 'functional_object_type', width: 120 }),
  property('functional_object_type', ['Type', 'Typ'], { suggestions: assetTypes, width: 120, isFacet: true }),
  property(manufacturerPath, ['Manufacturer', 'Hersteller'], {
    width: 140,
    minWidth: 110,
    isFacet: true,
  }),
  property(productPath, ['Product', 'Produkt'], {
    width: 172,
    minWidth: 120,
    isGrowing: true,
    isFacet: true,
  }),
  property(`${product}/product_id`, ['Article number', 'Artikelnummer'], { width: 180, isFacet: true }),
  property(`${product}/product_family`, ['Product family', 'Produktfamilie'], { isFacet: true }),
  property(`${product}/product_version`, ['Hardware version', 'Hardwarestand'], { width: 140 }),
  property('product_instance_information/serial_number', ['Serial number', 'Seriennummer'], { width: 170 }),
  property('firmware_version', ['Firmware', 'Firmware'], {
    width: 100,
    field: 'software_components',
    isFacet: true,
  }),
  property('connection_points/any/ipv4_address', ['IP address', 'IP-Adresse'], { width: 120, minWidth: 116 }),
  property('connection_points/any/mac_address', ['MAC address', 'MAC-Adresse'], { width: 160 }),
  property('management_state/state_value', ['Management state', 'Verwaltungszustand'], {
    kind: 'state',
    values: ['regarded', 'unknown', 'ignored'],
    shortTitle: { en: 'Management', de: 'Verwaltung' },
    width: 126,
    isFacet: true,
  }),
  property(conditionPath, ['Condition (reachability)', 'Zustand (Erreichbarkeit)'], {
    kind: 'state',
    values: ['reached', 'failed', 'unknown'],
    shortTitle: { en: 'Condition', de: 'Zustand' },
    width: 165,
    minWidth: 140,
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
  property(placePath, ['Hierarchy node', 'Hierarchieknoten'], { ...onlyShown, field: 'id', width: 155, minWidth: 140 }),
  property('last_change/what', ['Last change', 'Letzte Änderung'], { ...onlyShown, width: 280 }),
  property('last_change/by', ['Changed by', 'Geändert von'], { ...onlyShown, width: 160 }),
]

/** The paths of the default columns. They fit next to the navigation in a window with a width of 1,440 pixels. */
export const defaultPaths: readonly string[] = [
  'name',
  conditionPath,
  productPath,
  'connection_points/any/ipv4_address',
  'firmware_version',
  placePath,
  'management_state/state_value',
]

/** The paths of the default columns next to the list of groups, or to the tree of a hierarchy. They fit in the same window. */
export const groupedPaths: readonly string[] = [
  'name',
  productPath,
  'connection_points/any/ipv4_address',
  'firmware_version',
  conditionPath,
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
