/**
 * The base schema of assets, as a JSON Schema 2020-12 document. Every class refuses unknown fields, and optional
 * fields may be null. A class defines only its members. The field that refers to the class defines whether null is
 * allowed. An invalid value therefore causes only one error, at the pointer of this value.
 */

export type JsonSchema = { readonly [keyword: string]: unknown }

export const assetTypes = ['Asset', 'Device', 'Gateway', 'SoftwareArtifact'] as const
export type AssetType = (typeof assetTypes)[number]

/** Returns the asset type with this name. Letter case, underscores and surrounding spaces are ignored. */
export function assetTypeOf(value: unknown): AssetType | undefined {
  if (typeof value !== 'string') return undefined
  const plain = value.trim().toLowerCase().replaceAll('_', '')
  return assetTypes.find((type) => type.toLowerCase() === plain)
}

/** The default schema URL of an asset. Asset links that were written before this platform existed send this URL. */
export const baseSchemaUrl = 'https://industrial-assets.io/schemas/iah/base-schema/released/v1/iah-base.json'

/** The id of the built-in schema. */
export const baseSchemaId = 'urn:millwright:schema:asset:1'

export const operatingModes = [
  'not_supported',
  'stop_fw_update',
  'stop_self_initialization',
  'stop',
  'startup',
  'run',
  'run_redundant',
  'halt',
  'link_up',
  'update',
  'defective',
  'error_search',
  'no_power',
  'cir',
  'stop_without_odis',
  'run_odis',
] as const

/**
 * The limits for the parts of an asset. Names and numbers are indexed for search, so they must fit into an index
 * entry.
 */
export const assetLimits = {
  nameCharacters: 256,
  textCharacters: 4096,
  urlCharacters: 2048,
  identifiers: 100,
  entries: 1000,
} as const

const macAddress = {
  type: 'string',
  pattern: '^([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})$',
  description: 'six pairs of hexadecimal digits, separated by : or -',
}
const byte = '(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)'
const ipv4Address = {
  type: 'string',
  pattern: `^(?:${byte}\\.){3}${byte}$`,
  description: 'an IPv4 address such as 192.168.0.1',
}
const maskByte = '(0|128|192|224|240|248|252|254|255)'
const networkMask = {
  type: ['string', 'null'],
  pattern: `^(255)\\.${maskByte}\\.${maskByte}\\.${maskByte}$`,
  description: 'a network mask such as 255.255.255.0',
}
const ipv6Address = {
  type: 'string',
  pattern: '^(?:[a-fA-F0-9]{1,4}:){7}[a-fA-F0-9]{1,4}$',
  description: 'an IPv6 address with eight groups',
}

const required = (minimum = 1) => ({ type: 'string', minLength: minimum, maxLength: assetLimits.nameCharacters })
const name = { type: ['string', 'null'], maxLength: assetLimits.nameCharacters }
const text = { type: ['string', 'null'], maxLength: assetLimits.textCharacters }
const url = { type: ['string', 'null'], maxLength: assetLimits.urlCharacters }
const number = { type: ['number', 'null'] }
/** An integer in the range of a 32-bit column. */
const integer = { type: 'integer', minimum: -2147483648, maximum: 2147483647 }
const optionalInteger = { ...integer, type: ['integer', 'null'] }

function one(definition: string): JsonSchema {
  return { type: 'object', $ref: `#/$defs/${definition}` }
}

function optional(definition: string): JsonSchema {
  return { type: ['object', 'null'], $ref: `#/$defs/${definition}` }
}

function many(definition: string): JsonSchema {
  return { type: ['array', 'null'], maxItems: assetLimits.entries, items: one(definition) }
}

function closedClass(properties: Record<string, JsonSchema>, requiredNames: readonly string[] = []): JsonSchema {
  return { properties, required: requiredNames, additionalProperties: false }
}

/**
 * Returns the schema of a value whose field `by` names its class. The value is validated only with this class, so the
 * errors of the other classes are not reported.
 */
function discriminated(by: string, classes: readonly string[]): JsonSchema {
  return {
    properties: { [by]: { enum: classes } },
    required: [by],
    allOf: classes.map((name) => ({
      if: { properties: { [by]: { const: name } }, required: [by] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: { $ref: `#/$defs/${name}` },
    })),
  }
}

type Member = { of: Record<string, JsonSchema>; needs?: readonly string[] }

function identifier(type: string, { of, needs = Object.keys(of) }: Member): JsonSchema {
  const annotations = {
    identifier_type: name,
    identifier_uncertainty: { ...optionalInteger, minimum: 0 },
  }
  return closedClass({ asset_identifier_type: { const: type }, ...of, ...annotations }, [
    'asset_identifier_type',
    ...needs,
  ])
}

function connectionPoint(type: string, { of, needs = [] }: Member): JsonSchema {
  const shared = { id: name, name, related_connection_points: many('RelatedConnectionPoint') }
  return closedClass({ connection_point_type: { const: type }, ...of, ...shared }, ['connection_point_type', ...needs])
}

function location(type: string, { of, needs = [] }: Member): JsonSchema {
  return closedClass({ location_type: { const: type }, ...of }, ['location_type', ...needs])
}

function asset(type: AssetType, more: Record<string, JsonSchema> = {}): JsonSchema {
  const properties = {
    functional_object_type: { const: type },
    functional_object_schema_url: { type: 'string', minLength: 1, maxLength: 512 },
    asset_identifiers: {
      type: 'array',
      minItems: 1,
      maxItems: assetLimits.identifiers,
      items: one('AssetIdentifier'),
    },
    name,
    description: text,
    product_instance_information: optional('ProductInstanceInformation'),
    connection_points: many('ConnectionPoint'),
    software_components: many('SoftwareComponent'),
    asset_operations: many('AssetOperation'),
    asset_relations: many('AssetRelation'),
    location: many('Location'),
    operating_mode: optional('OperatingMode'),
    instance_annotations: many('InstanceAnnotation'),
    ...more,
  }
  return closedClass(properties, ['functional_object_type', 'asset_identifiers'])
}

const isFirmware = { is_firmware: { type: ['boolean', 'null'] } }

const assets = {
  Asset: asset('Asset'),
  Device: asset('Device'),
  SoftwareArtifact: asset('SoftwareArtifact', isFirmware),
  Gateway: asset('Gateway', { ...isFirmware, asset_links: many('AssetLink') }),
  /** The asset types that the artifact of a software component or of an asset link can have. */
  Artifact: discriminated('functional_object_type', ['SoftwareArtifact', 'Gateway']),
  AssetLink: closedClass({ artifact: optional('Artifact') }),
}

const identifierClasses = {
  IdLinkIdentifier: identifier('IdLinkIdentifier', {
    of: {
      id_link: {
        type: 'string',
        maxLength: assetLimits.urlCharacters,
        pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/[^\\s#]*$',
        description: 'a link as in IEC 61406: http or https, a host, a path, without spaces and #',
      },
    },
  }),
  ProductInstanceIdentifier: identifier('ProductInstanceIdentifier', {
    // The serial number is required. Without it, the identifier would match every instance of the product.
    of: { vendor: required(0), article_number: required(0), serial_number: required() },
  }),
  MacIdentifier: identifier('MacIdentifier', { of: { mac_address: macAddress } }),
  SoftwareIdentifier: identifier('SoftwareIdentifier', { of: { name: required(), version: required() } }),
  CertificateIdentifier: identifier('CertificateIdentifier', {
    of: { certificate_id: { ...required(), maxLength: 1024 } },
  }),
  CustomIdentifier: identifier('CustomIdentifier', {
    of: {
      name: required(),
      value: {
        type: 'string',
        pattern: "^[A-Za-z0-9._~!$&'()*+,;=:/?@%-]{1,256}$",
        description: "1 to 256 letters, digits and ._~!$&'()*+,;=:/?@%-",
      },
    },
  }),
  HostBasedSoftwareIdentifier: identifier('HostBasedSoftwareIdentifier', {
    of: { host_identifier: required(), name: required(), version: required(), instance_identifier: name },
    needs: ['host_identifier', 'name', 'version'],
  }),
  ParentRelativeIdentifier: identifier('ParentRelativeIdentifier', {
    of: { parent_identifier: one('ParentIdentifier'), slot: integer, subslot: integer },
  }),
}

const identifiers = {
  ...identifierClasses,
  AssetIdentifier: discriminated('asset_identifier_type', Object.keys(identifierClasses)),
  ParentIdentifier: discriminated('asset_identifier_type', [
    'IdLinkIdentifier',
    'MacIdentifier',
    'ProductInstanceIdentifier',
  ]),
}

const connections = {
  EthernetPort: connectionPoint('EthernetPort', { of: { mac_address: macAddress }, needs: ['mac_address'] }),
  Ipv4Connectivity: connectionPoint('Ipv4Connectivity', {
    of: {
      ipv4_address: ipv4Address,
      network_mask: networkMask,
      router_ipv4_address: { ...ipv4Address, type: ['string', 'null'] },
    },
    needs: ['ipv4_address'],
  }),
  Ipv6Connectivity: connectionPoint('Ipv6Connectivity', {
    of: {
      ipv6_address: ipv6Address,
      ipv6_network_prefix: {
        type: ['string', 'null'],
        pattern: '^[a-fA-F0-9]{1,4}:(?:[a-fA-F0-9]{0,4}:){1,7}/([0-9]{1,2}|1[01][0-9]|12[0-8])$',
        description: 'an IPv6 prefix such as 2001:db8::/32',
      },
      router_ipv6_address: {
        type: ['string', 'null'],
        pattern: '^(?:[a-fA-F0-9]{0,4}:){1,7}[a-fA-F0-9]{1,4}$',
        description: 'an IPv6 address',
      },
    },
    needs: ['ipv6_address'],
  }),
  ConnectionPoint: discriminated('connection_point_type', ['EthernetPort', 'Ipv4Connectivity', 'Ipv6Connectivity']),
  RelatedConnectionPoint: closedClass({ connection_point_id: required(), custom_relationship: required() }, [
    'connection_point_id',
    'custom_relationship',
  ]),
}

const locationClasses = {
  AssetLocation: location('AssetLocation', { of: {} }),
  GeoLocation: location('GeoLocation', { of: { latitude: number, longitude: number, elevation: number } }),
  MountingLocation: location('MountingLocation', {
    of: {
      station_number: optionalInteger,
      slot_name: name,
      slot_number: optionalInteger,
      subslot_number: optionalInteger,
    },
  }),
  Okz: location('Okz', { of: { location_identifier: required() }, needs: ['location_identifier'] }),
  Akz: location('Akz', { of: { plant_designation: required() }, needs: ['plant_designation'] }),
  PostalAddress: location('PostalAddress', {
    of: { street: required(), postal_code: required(), city: required(), region: name, country: required() },
    needs: ['street', 'postal_code', 'city', 'country'],
  }),
}

const locations = { ...locationClasses, Location: discriminated('location_type', Object.keys(locationClasses)) }

const parts = {
  ProductInstanceInformation: closedClass({ serial_number: name, manufacturer_product: optional('Product') }),
  Product: closedClass({
    manufacturer: optional('Organization'),
    product_id: name,
    product_version: name,
    product_name: name,
    product_link: url,
    product_family: name,
    product_type: name,
  }),
  Organization: closedClass({ name }),
  InstanceAnnotation: closedClass({ key: name, value: text }),
  AssetOperation: closedClass({ operation_name: required(), activation_flag: { type: 'boolean' } }, [
    'operation_name',
    'activation_flag',
  ]),
  AssetRelation: closedClass(
    {
      predicate: {
        ...required(),
        pattern: '^[a-z][a-z0-9]*(_[a-z0-9]+)*$',
        description: 'lower-case words of letters and digits, separated by _',
      },
      related_asset: one('RelatedAsset'),
      relational_role_of_related_asset: { enum: ['subject', 'object'] },
      is_bidirectional: { type: ['boolean', 'null'] },
    },
    ['predicate', 'related_asset', 'relational_role_of_related_asset'],
  ),
  RelatedAsset: closedClass(
    {
      asset_identifiers: {
        type: 'array',
        minItems: 1,
        maxItems: assetLimits.identifiers,
        items: one('AssetIdentifier'),
      },
    },
    ['asset_identifiers'],
  ),
  SoftwareComponent: discriminated('software_component_type', [
    'SoftwareArtifactComponent',
    'RunningSoftwareComponent',
  ]),
  SoftwareArtifactComponent: closedClass(
    { software_component_type: { const: 'SoftwareArtifactComponent' }, artifact: optional('Artifact') },
    ['software_component_type'],
  ),
  RunningSoftwareComponent: closedClass(
    {
      software_component_type: { const: 'RunningSoftwareComponent' },
      artifact: optional('Artifact'),
      running_software_id: name,
    },
    ['software_component_type'],
  ),
  OperatingMode: closedClass({ mode_name: { enum: operatingModes } }, ['mode_name']),
}

export const assetSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: baseSchemaId,
  title: 'Asset',
  type: 'object',
  ...discriminated('functional_object_type', assetTypes),
  $defs: { ...assets, ...identifiers, ...connections, ...locations, ...parts },
}
