import { assetTypeOf } from '@millwright/api/asset-schema.ts'
import { compact, type Document, documentOf, documentsOf, isDocument, textOf } from './document.ts'

/**
 * This file converts documents of the legacy schema to the current schema. Fields with current names are not changed.
 */

/**
 * The members that are not copied to the converted document: members that the platform sets, such as states; members
 * that describe the document, such as `@type`; the `metadata` of the device, which only its link uses; and members that are
 * converted to other fields.
 */
const notTaken = new Set([
  '@context',
  '@type',
  'access_group',
  'checksum_identifier',
  'custom_properties',
  'custom_ui_properties',
  'functional_object_type',
  'functional_parts',
  'gateway_identifier',
  'id',
  'last_modified_timestamp',
  'mac_identifiers',
  'management_state',
  'meta',
  'metadata',
  'mounting_location',
  'other_states',
  'product_instance_identifier',
  'reachability_state',
  'responsible',
  'running_asset_links',
  'running_dcds',
  'software_identifier',
  'trust_established_state',
  'trust_state',
  'zone',
])

export function toCurrentSchema(document: Document, className?: string): Document {
  const kept = Object.entries(document).filter(([name]) => !notTaken.has(name))
  const { product_instance_identifier: product, product_instance_information: information } = document
  const identifiers = identifiersOf(document)
  const points = documentsOf(document.connection_points).filter(
    ({ connection_point_type: type }) => type !== 'ConnectionPoint',
  )
  const annotations = annotationsOf(document)
  const locations = locationsOf(document)
  return compact({
    ...Object.fromEntries(kept),
    functional_object_type: typeOf(document, className),
    asset_identifiers: identifiers.length === 0 ? undefined : identifiers,
    product_instance_information: productOf(information ?? product),
    connection_points: points.length === 0 ? undefined : points.map(pointOf),
    software_components:
      document.software_components === undefined
        ? undefined
        : documentsOf(document.software_components).map(componentOf),
    instance_annotations: annotations.length === 0 ? undefined : annotations,
    location: locations.length === 0 ? undefined : locations,
  })
}

const software = new Set(['SoftwareAsset', 'RunningSoftware', 'AssetLink', 'Dcd'])

/** Returns the asset type from the document, or else from the class name. An unknown type becomes `Device`. */
function typeOf(document: Document, className: string | undefined): string {
  const own = textOf(document.functional_object_type) ?? textOf(document['@type'])
  const named = own ?? className ?? 'Asset'
  return assetTypeOf(named) ?? (software.has(named) ? 'SoftwareArtifact' : 'Device')
}

const identifierNames: Readonly<Record<string, string>> = {
  IdLink: 'IdLinkIdentifier',
  SiemensIdLink: 'IdLinkIdentifier',
  GatewayIdentifier: 'CertificateIdentifier',
}

/** The legacy identifier types that the current schema stores as custom identifiers. */
const customNames: Readonly<Record<string, string>> = {
  Ipv4Identifier: 'ipv4_address',
  Ipv6Identifier: 'ipv6_address',
  ArtifactChecksum: 'checksum',
}

function identifiersOf(document: Document): Document[] {
  const typed = (value: unknown, type: string) =>
    documentsOf(value).map((one) => ({ asset_identifier_type: type, ...one }))
  return [
    ...documentsOf(document.asset_identifiers),
    ...typed(document.mac_identifiers, 'MacIdentifier'),
    ...typed(document.software_identifier, 'SoftwareIdentifier'),
    ...typed(document.checksum_identifier, 'ArtifactChecksum'),
    ...typed(document.gateway_identifier, 'GatewayIdentifier'),
  ].flatMap(identifierOf)
}

function identifierOf(identifier: Document): Document[] {
  const type = textOf(identifier.asset_identifier_type) ?? typeByFields(identifier)
  if (type === 'AssetIdentifier') return []
  const custom = customNames[type]
  if (custom !== undefined) {
    const { [custom]: value, ...rest } = identifier
    return [{ ...rest, asset_identifier_type: 'CustomIdentifier', name: custom, value }]
  }
  if (type === 'ProductSerialIdentifier') return serialIdentifierOf(identifier)
  return [{ ...identifier, asset_identifier_type: identifierNames[type] ?? type }]
}

/** Derives the type of an identifier from its fields, because legacy links may omit the type. */
function typeByFields(identifier: Document): string {
  if ('mac_address' in identifier) return 'MacIdentifier'
  if ('id_link' in identifier) return 'IdLinkIdentifier'
  if ('certificate_id' in identifier) return 'CertificateIdentifier'
  if ('version' in identifier) return 'SoftwareIdentifier'
  return 'CustomIdentifier'
}

function serialIdentifierOf({ manufacturer_product: product, ...rest }: Document): Document[] {
  if (textOf(rest.serial_number) === undefined) return []
  const { product_id: article, manufacturer } = documentOf(product)
  return [
    {
      ...rest,
      asset_identifier_type: 'ProductInstanceIdentifier',
      vendor: textOf(documentOf(manufacturer).name) ?? '',
      article_number: textOf(article) ?? '',
    },
  ]
}

/**
 * Converts product information. In the legacy schema, the id of a product is its product link, and the id of a
 * manufacturer is a hash.
 */
function productOf(information: unknown): Document | undefined {
  const { serial_number: serial, manufacturer_product: product } = documentOf(information)
  if (serial === undefined && product === undefined) return undefined
  const { id, name, manufacturer, ...own } = documentOf(product)
  const link = own.product_link ?? (/^https?:\/\//.test(String(id)) ? id : undefined)
  return compact({
    serial_number: serial,
    manufacturer_product: compact({
      ...own,
      product_link: link,
      product_name: own.product_name ?? name,
      manufacturer: isDocument(manufacturer) ? compact({ name: manufacturer.name }) : undefined,
    }),
  })
}

function pointOf({
  instance_annotations: annotations,
  related_connection_points: related,
  ...own
}: Document): Document {
  const named = documentsOf(annotations).find(({ key }) => key === 'name')
  return compact({
    ...own,
    name: own.name ?? named?.value,
    related_connection_points: related === undefined ? undefined : documentsOf(related).map(relatedOf),
  })
}

function relatedOf({ connection_point: former, ...own }: Document): Document {
  return compact({ ...own, connection_point_id: own.connection_point_id ?? former })
}

/**
 * Converts a software component. In the legacy schema, a component is either the software itself, or running software
 * that contains its artifact.
 */
function componentOf(component: Document): Document {
  const { software_component_type: type, artifact, running_sw_id: formerId, running_software_id: id } = component
  if (type !== undefined) {
    return compact({ ...component, artifact: artifact === undefined ? undefined : artifactOf(documentOf(artifact)) })
  }
  const isRunning = software.has(textOf(component.functional_object_type) ?? '')
  const inner = artifact === undefined ? component : documentOf(artifact)
  return compact({
    software_component_type: isRunning ? 'RunningSoftwareComponent' : 'SoftwareArtifactComponent',
    artifact: artifactOf(inner),
    running_software_id: isRunning ? (id ?? formerId) : undefined,
  })
}

function artifactOf(artifact: Document): Document {
  const modern = toCurrentSchema(artifact)
  const isGateway = assetTypeOf(artifact.functional_object_type) === 'Gateway'
  return { ...modern, functional_object_type: isGateway ? 'Gateway' : 'SoftwareArtifact' }
}

function annotationsOf(document: Document): Document[] {
  const properties = documentsOf(document.custom_ui_properties).map(({ key, label, value }) => ({
    key: label ?? key,
    value,
  }))
  return [...documentsOf(document.instance_annotations), ...properties]
}

function locationsOf({ location, mounting_location: mounted }: Document): Document[] {
  return [
    ...documentsOf(mounted).map((one) => ({ location_type: 'MountingLocation', ...one })),
    ...documentsOf(location),
  ]
}
