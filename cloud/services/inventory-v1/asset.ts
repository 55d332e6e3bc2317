import { createHash } from 'node:crypto'
import { parentPredicates } from '@millwright/api/asset-columns.ts'
import { assetTypeOf, baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import {
  type Document,
  isObject,
  mapMembers,
  objectsOf,
  type PlainObject,
  textOf,
} from '../../platform/plain-object.ts'
import { type Identifier, identifierFromV1, identifierToV1, unitedIdentifiers } from './identifier.ts'

/**
 * Conversion of assets between version 1 and version 2 of the API. Fields that version 1 does not define stay unchanged.
 */

/**
 * The gateway that found an asset, and the parent of the asset. They are relations in version 2 and fields in version 1.
 */
type Placement = { gatewayId?: string; parentId?: string }

type ConversionInput = {
  /** The asset as version 2 returns it, with id and access group. */
  asset: PlainObject
  identifiers: readonly Identifier[]
  /** The names of custom properties by their keys. */
  labels?: ReadonlyMap<string, string>
} & Placement

/** A document of version 1, converted to version 2. */
export type ParsedDocument = {
  /** The sent fields of the asset, in the form in which version 2 returns assets. */
  asset: Document
  identifiers: Identifier[]
} & Placement

/** The fields that have another name in version 1. */
const renamed = { access_group: 'zone', trust_state: 'trust_established_state' } as const

/**
 * Converts a JSON pointer that refers to an asset of version 2. The result refers to the document of version 1 from
 * which the asset was converted.
 */
export function pointerToV1(pointer: string, document: PlainObject): string {
  const [, field = '', ...inside] = pointer.split('/')
  const below = (names: readonly (string | undefined)[]) => `/${names.join('/')}`
  if (Object.hasOwn(renamed, field)) return below([renamed[field as keyof typeof renamed], ...inside])
  if (field === 'functional_object_type' && !Object.hasOwn(document, field)) return '/@type'
  if (field === 'functional_object_schema_url' && isObject(document['@context'])) return '/@context/@vocab'
  if (field === 'product_instance_information')
    return below(['product_instance_identifier', ...inside.map((name) => (name === 'product_name' ? 'name' : name))])
  if (field !== 'location' || !isObject(document.mounting_location) || inside.length === 0) return pointer
  const [index, ...entry] = inside
  return index === '0' ? below(['mounting_location', ...entry]) : below([field, `${Number(index) - 1}`, ...entry])
}

const isParentPredicate = (predicate: string) => (parentPredicates as readonly string[]).includes(predicate)

type Related = { subject: { id: string }; predicate: string; object: { id: string }; lastModifiedTimestamp: string }

/** Returns the gateway that found the asset last, and the asset's parent. */
export function placementOf(id: string, relations: readonly Related[]): Placement {
  const own = relations
    .filter(({ subject }) => subject.id === id)
    .toSorted((a, b) => (a.lastModifiedTimestamp < b.lastModifiedTimestamp ? 1 : -1))
  const gateway = own.find(({ predicate }) => predicate === 'found_by_gateway')
  const parent = own.find(({ predicate }) => isParentPredicate(predicate))
  return {
    ...(gateway === undefined ? {} : { gatewayId: gateway.object.id }),
    ...(parent === undefined ? {} : { parentId: parent.object.id }),
  }
}

export function toV1({ asset, identifiers, labels = new Map(), gatewayId, parentId }: ConversionInput): Document {
  const { custom_properties: properties, ...fields } = asset
  return {
    ...fieldsToV1(fields, identifiers),
    ...(properties === undefined ? {} : { custom_ui_properties: propertiesToV1(properties, labels) }),
    ...(gatewayId === undefined ? {} : { gateway: { id: gatewayId } }),
    ...(parentId === undefined ? {} : { parent: { id: parentId } }),
  }
}

export function fromV1(document: PlainObject): ParsedDocument {
  const { custom_ui_properties: properties, gateway, parent, ...fields } = document
  const { asset_identifiers: identifiers, ...asset } = fieldsFromV1(fields)
  const gatewayId = isObject(gateway) ? textOf(gateway.id) : null
  const parentId = isObject(parent) ? textOf(parent.id) : null
  return {
    asset: Array.isArray(properties) ? { ...asset, custom_properties: propertiesFromV1(properties) } : asset,
    identifiers: objectsOf(identifiers),
    ...(gatewayId === null ? {} : { gatewayId }),
    ...(parentId === null ? {} : { parentId }),
  }
}

function propertiesToV1(properties: unknown, labels: ReadonlyMap<string, string>): Document[] {
  return objectsOf(properties).map(({ key, value }) => {
    const label = labels.get(String(key))
    return { key, ...(label === undefined ? {} : { label }), value }
  })
}

function propertiesFromV1(properties: unknown[]): Document[] {
  return objectsOf(properties).map(({ key, value }) => ({ key, value }))
}

/** Converts the fields that assets and their software components have in common. */
function fieldsToV1(asset: PlainObject, identifiers: readonly Identifier[]): Document {
  const { functional_object_schema_url: url, product_instance_information: product, location, ...fields } = asset
  const [mounted, elsewhere] = splitLocations(location)
  return {
    '@type': asset.functional_object_type,
    '@context': url === undefined ? {} : { '@vocab': url },
    ...renameAll(mapMembers(fields, fieldToV1), renamed),
    asset_identifiers: identifiers.map(identifierToV1),
    ...(isObject(product) ? { product_instance_identifier: productToV1(product) } : {}),
    ...(mounted === undefined ? {} : { mounting_location: mounted }),
    ...(elsewhere === undefined ? {} : { location: elsewhere }),
  }
}

function fieldToV1(value: unknown, name: string): unknown {
  if (name === 'connection_points') return objectsOf(value).map((point) => mapMembers(point, pointToV1))
  if (name === 'software_components') return objectsOf(value).map(componentToV1)
  return value
}

/** The fields of version 1 that have their own conversion. */
const convertedFields = [
  '@type',
  '@context',
  'asset_identifiers',
  'mac_identifiers',
  'software_identifier',
  'checksum_identifier',
  'gateway_identifier',
  'product_instance_identifier',
  'mounting_location',
  'location',
  'functional_object_type',
  'functional_object_schema_url',
]

function fieldsFromV1(document: PlainObject): Document {
  const fields = mapMembers(document, (value, name) =>
    convertedFields.includes(name) ? undefined : fieldFromV1(value, name),
  )
  const { product_instance_identifier: product, location, mounting_location: mounted } = document
  const { '@context': context, functional_object_schema_url: url } = document
  const vocabulary = isObject(context) ? textOf(context['@vocab']) : null
  const locations = [
    ...(isObject(mounted) ? [{ location_type: 'MountingLocation', ...mounted }] : []),
    ...objectsOf(location),
  ]
  const hasLocation = isObject(mounted) || Array.isArray(location)
  return {
    functional_object_type: typeFromV1(document),
    functional_object_schema_url: vocabulary ?? textOf(url) ?? baseSchemaUrl,
    ...renameAll(fields, Object.fromEntries(Object.entries(renamed).map(([to, from]) => [from, to]))),
    asset_identifiers: identifiersFromV1(document),
    ...(isObject(product) ? { product_instance_information: productFromV1(product) } : {}),
    ...(hasLocation ? { location: locations } : {}),
  }
}

function fieldFromV1(value: unknown, name: string): unknown {
  if (name === 'connection_points') return objectsOf(value).filter(hasAddress).map(pointFromV1)
  if (name === 'software_components') return objectsOf(value).map(componentFromV1)
  return value
}

/** Returns the asset type in version 2. Version 1 has more types of software and accepts any text as `@type`. */
function typeFromV1({ '@type': type, functional_object_type: own }: PlainObject): string {
  const named = textOf(own) ?? textOf(type) ?? ''
  const assetType = assetTypeOf(named)
  if (assetType !== undefined) return assetType
  if (['SoftwareAsset', 'RunningSoftware', 'AssetLink', 'Dcd'].includes(named)) return 'SoftwareArtifact'
  return /device/i.test(named) ? 'Device' : 'Asset'
}

function renameAll(document: PlainObject, names: Readonly<Record<string, string>>): Document {
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => [Object.hasOwn(names, name) ? names[name] : name, value]),
  )
}

/**
 * Returns the identifiers of a document without duplicates: the entries of `asset_identifiers`, and the identifiers in
 * separate fields.
 */
function identifiersFromV1(document: PlainObject): Identifier[] {
  const identifiers = [
    ...objectsOf(document.asset_identifiers),
    ...objectsOf(document.mac_identifiers).map((mac) => ({ asset_identifier_type: 'MacIdentifier', ...mac })),
    ...singleIdentifier(document.software_identifier, 'SoftwareIdentifier'),
    ...singleIdentifier(document.checksum_identifier, 'ArtifactChecksum'),
    ...singleIdentifier(document.gateway_identifier, 'GatewayIdentifier'),
  ]
  return unitedIdentifiers(identifiers.flatMap(identifierFromV1))
}

function singleIdentifier(identifier: unknown, type: string): PlainObject[] {
  return isObject(identifier) ? [{ asset_identifier_type: type, ...identifier }] : []
}

/** Returns the first mounting location, without its type, and the other locations. */
function splitLocations(location: unknown): [Document | undefined, unknown[] | undefined] {
  if (!Array.isArray(location)) return [undefined, undefined]
  const index = location.findIndex((entry) => isObject(entry) && entry.location_type === 'MountingLocation')
  if (index === -1) return [undefined, location]
  const { location_type: _, ...mounted } = location[index]
  const others = location.toSpliced(index, 1)
  return [mounted, others.length === 0 ? undefined : others]
}

/** Converts a product. In version 1, products and manufacturers have ids, which are derived from their other fields. */
function productToV1(information: PlainObject): Document {
  return mapMembers(information, (value, name) => {
    if (name !== 'manufacturer_product' || !isObject(value)) return value
    const { product_name: called, manufacturer, ...product } = value
    const maker = isObject(manufacturer) ? textOf(manufacturer.name) : null
    return {
      id: textOf(product.product_link) ?? `urn:product:${sha1(`${maker ?? ''}/${textOf(product.product_id) ?? ''}`)}`,
      ...product,
      ...(called === undefined ? {} : { name: called }),
      ...(isObject(manufacturer) ? { manufacturer: { id: sha1(maker ?? ''), ...manufacturer } } : {}),
    }
  })
}

function productFromV1(information: PlainObject): Document {
  const { asset_identifier_type: _, identifier_type: __, identifier_uncertainty: ___, ...own } = information
  return mapMembers(own, (value, name) => {
    if (name !== 'manufacturer_product' || !isObject(value)) return value
    const { id: _, name: called, manufacturer, ...product } = value
    return {
      ...product,
      ...(called === undefined ? {} : { product_name: called }),
      ...(isObject(manufacturer) ? { manufacturer: makerFromV1(manufacturer) } : {}),
    }
  })
}

function makerFromV1({ name }: PlainObject): Document {
  return name === undefined ? {} : { name }
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}

function pointToV1(value: unknown, name: string): unknown {
  if (name !== 'related_connection_points') return value
  return objectsOf(value).map((related) => renameAll(related, { connection_point_id: 'connection_point' }))
}

/** Converts a connection point. Links that use version 1 send the name of the connection point as an annotation. */
function pointFromV1(point: PlainObject): Document {
  const { instance_annotations: annotations, ...own } = point
  const named = objectsOf(annotations).find(({ key }) => key === 'name')
  const fields = mapMembers(own, (value, name) =>
    name === 'related_connection_points'
      ? objectsOf(value).map((related) => renameAll(related, { connection_point: 'connection_point_id' }))
      : value,
  )
  return fields.name === undefined && named !== undefined ? { ...fields, name: named.value } : fields
}

function hasAddress({ connection_point_type: type }: PlainObject): boolean {
  return type !== 'ConnectionPoint'
}

/**
 * Converts a software component. In version 1, a component is either the artifact itself or running software that contains
 * its artifact.
 */
function componentToV1({
  software_component_type: type,
  artifact,
  running_software_id: id,
  ...more
}: PlainObject): Document {
  const inner = isObject(artifact) ? artifactToV1(artifact) : undefined
  if (type !== 'RunningSoftwareComponent') return { ...more, ...(inner ?? { functional_object_type: 'SoftwareAsset' }) }
  return {
    functional_object_type: 'RunningSoftware',
    ...more,
    ...(id === undefined ? {} : { running_sw_id: id }),
    ...(inner === undefined ? {} : { artifact: inner }),
  }
}

function artifactToV1({ asset_identifiers: identifiers, ...artifact }: PlainObject): Document {
  const own = objectsOf(identifiers)
  const software = own.find((identifier) => identifier.asset_identifier_type === 'SoftwareIdentifier')
  return { ...fieldsToV1(artifact, own), ...(software === undefined ? {} : { software_identifier: software }) }
}

function componentFromV1(software: PlainObject): Document {
  const { functional_object_type: type, running_sw_id: id, artifact } = software
  if (type === 'RunningSoftware' || type === 'AssetLink' || type === 'Dcd') {
    return {
      software_component_type: 'RunningSoftwareComponent',
      ...(isObject(artifact) ? { artifact: artifactFromV1(artifact) } : {}),
      ...(id === undefined ? {} : { running_software_id: id }),
    }
  }
  const component = { software_component_type: 'SoftwareArtifactComponent' }
  return identifiersFromV1(software).length === 0 ? component : { ...component, artifact: artifactFromV1(software) }
}

/** Converts an artifact inside an asset. It drops the id and the states, because in version 2 only assets have them. */
function artifactFromV1(artifact: PlainObject): Document {
  const { id: _, management_state: __, reachability_state: ___, ...own } = artifact
  const { functional_object_type: type, ...fields } = fieldsFromV1(own)
  return { functional_object_type: type === 'Gateway' ? type : 'SoftwareArtifact', ...fields }
}

/** Applies a JSON Merge Patch (RFC 7396), the patch format of version 1. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const before = isObject(target) ? target : {}
  const changes = mapMembers(patch, (value, name) => (value === null ? null : mergePatch(before[name], value)))
  return mapMembers({ ...before, ...changes }, (value, name) => (changes[name] === null ? undefined : value))
}
