import { assetTypeOf } from '@millwright/api/asset-schema.ts'
import { identityConfidence } from '@millwright/api/inventory/triage.ts'
import {
  type Property,
  type PropertyTable,
  propertyTable,
  type Scalar,
  uuidOf,
} from '../../../platform/filter/filter.ts'
import { normaliseMac } from '../identity/identifier.ts'
import { type FacetColumn, facetColumns } from '../search/facet-store.ts'
import { isGatewayOrLink } from '../visibility.ts'
import { normaliseIpv4, normaliseIpv6 } from './address.ts'

/**
 * The properties by which assets can be filtered, sorted and counted. In the SQL, `a` is the asset and `g` is its access
 * group.
 */

const text = (column: string, more: Partial<Scalar> = {}): Scalar => ({ kind: 'text', column, ...more })
const time = (column: string, nullable = true): Scalar => ({ kind: 'time', column, nullable })

/** Returns the property for an array in the document of an asset. Conditions on its elements do not use an index. */
function inDocument(field: string, properties: Record<string, Scalar>): Property {
  const from = `json_array_elements(case when json_typeof(a.document->'${field}') = 'array' then a.document->'${field}' else '[]'::json end) as e (value)`
  return { kind: 'array', elements: { from, properties: propertyTable(properties) } }
}

const element = (...path: string[]): Scalar => text(`(e.value #>> '{${path.join(',')}}')`)
const numberElement = (name: string): Scalar => ({
  kind: 'number',
  column: `(case when json_typeof(e.value -> '${name}') = 'number' then (e.value ->> '${name}')::numeric end)`,
})

/**
 * Returns the property for an address in a connection point. A filter for one address can use an index, because the
 * addresses are also stored in normalised form in `asset_addresses`.
 */
const addressElement = (name: string, like: (address: string) => string): Scalar => ({
  ...element(name),
  narrowing: {
    like,
    where: (parameter) =>
      `a.id = any(array(select d.asset_id from asset_addresses d where d.tenant_id = $1 and d.address = ${parameter}::text))`,
  },
})

const product = 'product_instance_information/manufacturer_product'

/** The SQL of how sure the identity of asset `a` is. The identifier with the lowest uncertainty decides. */
const confidenceSql = `(select case when min(c.uncertainty) <= ${identityConfidence.high} then 'high'
    when min(c.uncertainty) <= ${identityConfidence.medium} then 'medium' else 'low' end
  from asset_identifiers c where c.tenant_id = $1 and c.asset_id = a.id)`

/** The /24 networks of the IPv4 addresses of asset `a`. */
const subnets: Property = {
  kind: 'array',
  elements: {
    from: 'asset_addresses n',
    where: `n.tenant_id = $1 and n.asset_id = a.id and n.kind = 'ipv4'`,
    properties: propertyTable({}),
    itself: text(`substring(n.address from '^[0-9]+[.][0-9]+[.][0-9]+[.]') || '0/24'`),
  },
}

export const assetProperties: PropertyTable = propertyTable(
  {
    id: { kind: 'uuid', column: 'a.id', nullable: false },
    functional_object_type: text('a.type', {
      nullable: false,
      normalise: (literal) => assetTypeOf(literal) ?? literal,
    }),
    functional_object_schema_url: text('a.schema_url', { nullable: false }),
    name: text('a.name'),
    description: text('a.description'),
    access_group: text('g.name', { nullable: false }),
    responsible: text('a.responsible', { nullable: false }),
    'operating_mode/mode_name': text('a.operating_mode'),
    'product_instance_information/serial_number': text('a.serial_number'),
    [`${product}/product_id`]: text('a.product_id'),
    [`${product}/product_version`]: text('a.product_version'),
    [`${product}/product_name`]: text('a.product_name'),
    [`${product}/product_family`]: text('a.product_family'),
    [`${product}/product_link`]: text(
      `(a.document #>> '{product_instance_information,manufacturer_product,product_link}')`,
    ),
    [`${product}/product_type`]: text(
      `(a.document #>> '{product_instance_information,manufacturer_product,product_type}')`,
    ),
    [`${product}/manufacturer/name`]: text('a.manufacturer'),
    firmware_version: text('a.firmware_version', { sortColumn: 'a.firmware_order' }),
    is_firmware: { kind: 'boolean', column: `(a.document ->> 'is_firmware')::boolean` },
    'management_state/state_value': text('a.management_state', { nullable: false }),
    'management_state/state_timestamp': time('a.management_state_at'),
    'reachability_state/state_value': text('a.reachability_state', { nullable: false }),
    'reachability_state/state_timestamp': time('a.reachability_state_at'),
    'trust_state/state_value': text('a.trust_state'),
    'trust_state/state_timestamp': time('a.trust_state_at'),
    created_timestamp: time('a.created_at', false),
    last_modified_timestamp: time('a.modified_at', false),
    'first_discovery/run_id': { kind: 'uuid', column: 'a.found_run_id', sortable: false },
    identity_confidence: text(confidenceSql, { nullable: false, sortable: false }),
    is_platform_managed: {
      kind: 'boolean',
      column: `(${isGatewayOrLink('a')} is true)`,
      nullable: false,
      sortable: false,
    },
    ipv4_subnets: subnets,
    asset_identifiers: {
      kind: 'array',
      elements: {
        from: 'asset_identifiers i',
        where: 'i.tenant_id = $1 and i.asset_id = a.id',
        properties: propertyTable({
          asset_identifier_type: text('i.type', { nullable: false }),
          name: text('i.name'),
          value: text('i.value', { nullable: false }),
          mac_address: text(`case when i.type = 'MacIdentifier' then i.value end`, {
            normalise: (mac) => mac.toLowerCase().replaceAll('-', ':'),
          }),
          id_link: text(`case when i.type = 'IdLinkIdentifier' then i.value end`),
          version: text(`(i.identifier ->> 'version')`),
        }),
      },
    },
    connection_points: inDocument('connection_points', {
      connection_point_type: element('connection_point_type'),
      id: element('id'),
      name: element('name'),
      mac_address: addressElement('mac_address', (mac) => normaliseMac(mac.trim())),
      ipv4_address: addressElement('ipv4_address', normaliseIpv4),
      network_mask: element('network_mask'),
      ipv6_address: addressElement('ipv6_address', normaliseIpv6),
    }),
    software_components: inDocument('software_components', {
      software_component_type: element('software_component_type'),
      running_software_id: element('running_software_id'),
      'artifact/name': element('artifact', 'name'),
    }),
    instance_annotations: inDocument('instance_annotations', { key: element('key'), value: element('value') }),
    location: inDocument('location', {
      location_type: element('location_type'),
      location_identifier: element('location_identifier'),
      plant_designation: element('plant_designation'),
      slot_name: element('slot_name'),
      slot_number: numberElement('slot_number'),
      subslot_number: numberElement('subslot_number'),
      station_number: numberElement('station_number'),
      street: element('street'),
      postal_code: element('postal_code'),
      city: element('city'),
      region: element('region'),
      country: element('country'),
    }),
  },
  {
    shown: 'custom_properties/<key>',
    sortable: false,
    find(name) {
      const [, keyText] = /^custom_properties\/(.+)$/.exec(name) ?? []
      const key = keyText === undefined ? undefined : uuidOf(keyText)
      if (key === undefined) return undefined
      return {
        ...text('p.value', { sortable: false }),
        row: { from: 'asset_property_values p', where: `p.tenant_id = $1 and p.asset_id = a.id and p.key = '${key}'` },
      }
    },
  },
  ['custom_properties', 'asset_operations'],
)

/** The properties by which assets can be counted. Each of them has few values. */
export const facetNames = [
  'functional_object_type',
  'access_group',
  'management_state/state_value',
  'reachability_state/state_value',
  'trust_state/state_value',
  'responsible',
  'firmware_version',
  'operating_mode/mode_name',
  `${product}/manufacturer/name`,
  `${product}/product_id`,
  `${product}/product_family`,
  `${product}/product_name`,
  'first_discovery/run_id',
  'identity_confidence',
  'ipv4_subnets',
] as const

/** Returns the column of a property if the number of assets with each of its values is stored. */
export function facetColumnOf(name: string): { name: FacetColumn; normalise: (literal: string) => string } | undefined {
  const property = assetProperties.find(name)
  if (property === undefined || property.kind !== 'text') return undefined
  const { column, normalise = (literal: string) => literal } = property
  const facetColumn = facetColumns.find((facet) => column === `a.${facet}`)
  return facetColumn === undefined ? undefined : { name: facetColumn, normalise }
}
