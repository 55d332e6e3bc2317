import { isDeepStrictEqual } from 'node:util'
import { firmwareVersionOf, isFirmware, isSoftwareIdentifier } from '@millwright/api/asset-firmware.ts'
import { assetLimits, assetTypeOf, baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { FieldError } from '@millwright/api/problem.ts'
import { versionSortKey } from '@millwright/api/version-order.ts'
import { storableText } from '../../../platform/database/json.ts'
import { normalise } from '../identity/identifier.ts'
import type { AssetColumns } from './asset-store.ts'
import {
  compareNames,
  type Document,
  escapedPointer,
  inOrder,
  isObject,
  mapMembers,
  objectsOf,
  ordered,
  outOfBounds,
  type PlainObject,
  setMember,
  textOf,
} from './document.ts'
import { matchEntries } from './list-entries.ts'

export type StateName = 'management_state' | 'reachability_state' | 'trust_state'
export type State = { state_value: string; state_timestamp: string }

/** The fields that `POST /assets` cannot write. The value describes how each field is written instead. */
const unwritable: Readonly<Record<string, string>> = {
  id: 'the platform sets this field',
  custom_properties: 'use PATCH /asset-property-values',
  management_state: 'use PATCH /assets/{id}/management-state',
  reachability_state: 'use PATCH /assets/{id}/reachability-state',
  trust_state: 'use PATCH /assets/{id}/trust-state',
  responsible: 'use PATCH /assets/{id}/responsible',
  created_timestamp: 'the platform sets this field',
  last_modified_timestamp: 'the platform sets this field',
}

/**
 * `firstFields` and `lastFields` define the order of the fields of a stored document. Fields that a tenant's schema adds
 * come between the two lists.
 */
const firstFields = [
  'functional_object_type',
  'functional_object_schema_url',
  'name',
  'description',
  'product_instance_information',
  'connection_points',
  'software_components',
  'asset_links',
  'is_firmware',
  'asset_operations',
  'location',
  'operating_mode',
  'instance_annotations',
]
const lastFields = [
  'custom_properties',
  'management_state',
  'reachability_state',
  'trust_state',
  'responsible',
  'created_timestamp',
  'last_modified_timestamp',
]

const ownFields = new Set([...firstFields, ...lastFields])

/**
 * Returns the document in canonical form, without fields that are null. Equal documents have equal JSON text. The
 * members of the last fields are not sorted, because only the service writes these fields, always in the same order.
 */
export function canonical(document: PlainObject): Document {
  const result: Document = {}
  const add = (name: string, value: unknown) => {
    if (value !== undefined && value !== null) setMember(result, name, value)
  }
  for (const name of firstFields) add(name, ordered(document[name]))
  const others = Object.keys(document).filter((name) => !ownFields.has(name))
  for (const name of others.sort(compareNames)) add(name, ordered(document[name]))
  for (const name of lastFields) add(name, document[name])
  return result
}

/**
 * Normalises a sent asset: its type names, its identifiers, and text that the database cannot store. Null values stay only
 * at the top level, where null clears a field. Fields that cannot be written are reported as faults and left out.
 */
export function normaliseAsset(sent: PlainObject): { document: Document; faults: FieldError[] } {
  const faults: FieldError[] = []
  const document = mapMembers(sent, (value, name) => {
    const fault = faultOf(name, value)
    if (fault === undefined) return normalisedField(value, name)
    faults.push(fault)
    return undefined
  })
  return { document, faults }
}

/** The limits of one field. They are far above the size of real assets and small enough to process. */
const fieldBounds = { depth: 16, entries: assetLimits.entries, values: 20_000 } as const

function faultOf(field: string, value: unknown): FieldError | undefined {
  if (Object.hasOwn(unwritable, field)) {
    return {
      pointer: `/${field}`,
      code: 'unknown',
      detail: `cannot be written with this request: ${unwritable[field]}`,
    }
  }
  if (typeof value !== 'object') return undefined
  const fault = outOfBounds(value, fieldBounds)
  if (fault === undefined) return undefined
  return { pointer: `/${escapedPointer(field)}${fault.pointer}`, code: 'too_large', detail: fault.detail }
}

function normalisedField(value: unknown, name: string): unknown {
  if (name === 'functional_object_type') return assetTypeOf(value) ?? plain(value)
  if (!Array.isArray(value)) return plain(value)
  if (name === 'asset_identifiers') return value.map((entry) => (isObject(entry) ? normalise(entry) : plain(entry)))
  if (name === 'location') return value.map((entry) => withLocationType(plain(entry)))
  return value.map(plain)
}

function plain(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  return inOrder(value, compareNames, (member, name) => (member === null ? undefined : normalisedField(member, name)))
}

/** The types of a location, each with the fields from which the type is recognised. */
const locationFields: readonly (readonly [string, readonly string[]])[] = [
  ['Akz', ['plant_designation']],
  ['Okz', ['location_identifier']],
  ['GeoLocation', ['latitude', 'longitude', 'elevation']],
  ['MountingLocation', ['station_number', 'slot_name', 'slot_number', 'subslot_number']],
  ['PostalAddress', ['street', 'postal_code', 'city', 'region', 'country']],
]

/**
 * Adds the type of a location if it is missing, because some links do not send the type. The fields of the location
 * determine the type.
 */
function withLocationType(location: unknown): unknown {
  if (!isObject(location) || location.location_type !== undefined) return location
  const [type = 'AssetLocation'] = locationFields.find(([, fields]) => fields.some((name) => name in location)) ?? []
  return ordered({ location_type: type, ...location })
}

/**
 * The fields that are not part of the stored document: identifiers and relations have their own tables, and the access
 * group is a column.
 */
const storedElsewhere = new Set(['asset_identifiers', 'asset_relations', 'access_group'])

/** Returns the document to store for a new asset. */
export function createdDocument(
  sent: PlainObject,
  { responsible, now }: { responsible: string; now: string },
): Document {
  const defaults = {
    functional_object_schema_url: baseSchemaUrl,
    custom_properties: [],
    management_state: state('unknown', now),
    reachability_state: state('unknown', now),
    responsible,
    created_timestamp: now,
    last_modified_timestamp: now,
  }
  return mergeAsset(defaults, sent)
}

/** Replaces stored fields with the sent ones; null clears a field. List entries that are already stored keep their ids. */
export function mergeAsset(stored: PlainObject, sent: PlainObject): Document {
  const merged: Document = { ...stored }
  for (const name of Object.keys(sent)) {
    if (!storedElsewhere.has(name) && !Object.hasOwn(unwritable, name))
      setMember(merged, name, matchEntries(name, stored[name], sent[name]))
  }
  if (merged.functional_object_type === 'Gateway' && !merged.trust_state) {
    merged.trust_state = state('pending', String(merged.created_timestamp))
  }
  return canonical(merged)
}

/** Returns the document in the shape that a client sends. Schemas validate this shape. */
export function writeShape(stored: PlainObject): Document {
  return mapMembers(stored, (value, name) => (Object.hasOwn(unwritable, name) ? undefined : value))
}

/** Returns whether two documents are equal apart from their timestamps. */
export function isSame(a: PlainObject, b: PlainObject): boolean {
  return isDeepStrictEqual(withoutTimes(a), withoutTimes(b))
}

const stateNames: readonly StateName[] = ['management_state', 'reachability_state', 'trust_state']

function withoutTimes(document: PlainObject): PlainObject {
  const states = stateNames.map((name) => [name, stateOf(document, name)?.state_value])
  return {
    ...document,
    ...Object.fromEntries(states),
    created_timestamp: undefined,
    last_modified_timestamp: undefined,
  }
}

function state(value: string, at: string): State {
  return { state_value: value, state_timestamp: at }
}

export function stateOf(document: PlainObject, name: StateName): State | undefined {
  const state = document[name]
  return isObject(state) ? (state as State) : undefined
}

export function setState(
  document: PlainObject,
  { state: name, value, now }: { state: StateName; value: string; now: string },
): Document {
  return canonical({ ...document, [name]: state(value, now) })
}

export function stateValueOf(document: PlainObject, name: StateName): string | undefined {
  return stateOf(document, name)?.state_value
}

/** Sets the version of a gateway. It is stored as the product version, because a gateway is software. */
export function setGatewayVersion(document: PlainObject, version: string): Document {
  const instance = objectOf(document.product_instance_information)
  const product = { ...objectOf(instance.manufacturer_product), product_version: version }
  return canonical({ ...document, product_instance_information: { ...instance, manufacturer_product: product } })
}

/** Sets the value of a custom property. The value is already checked and converted to text. */
export function setPropertyValue(document: PlainObject, { key, value }: { key: string; value: string }): Document {
  const others = objectsOf(document.custom_properties).filter((property) => property.key !== key)
  const properties = [...others, { key, value }].toSorted((a, b) => (String(a.key) < String(b.key) ? -1 : 1))
  return canonical({ ...document, custom_properties: properties })
}

/** Replaces the values of all custom properties. */
export function setPropertyValues(document: PlainObject, values: readonly { key: string; value: string }[]): Document {
  const properties = [...new Map(values.map(({ key, value }) => [key, { key, value }])).values()]
  return canonical({ ...document, custom_properties: properties.toSorted((a, b) => (a.key < b.key ? -1 : 1)) })
}

export function removePropertyValue(document: PlainObject, key: string): Document {
  const properties = objectsOf(document.custom_properties).filter((property) => property.key !== key)
  return canonical({ ...document, custom_properties: properties })
}

/** Returns the values of the columns by which lists are filtered and sorted. */
export function columnsOf(document: PlainObject): AssetColumns {
  const instance = objectOf(document.product_instance_information)
  const product = objectOf(instance.manufacturer_product)
  const management = stateOf(document, 'management_state')
  const reachability = stateOf(document, 'reachability_state')
  const trust = stateOf(document, 'trust_state')
  const firmware = firmwareVersionOf(document)
  return {
    type: textOf(document.functional_object_type) ?? 'Asset',
    schema_url: textOf(document.functional_object_schema_url) ?? baseSchemaUrl,
    name: textOf(document.name),
    description: textOf(document.description),
    serial_number: textOf(instance.serial_number),
    product_id: textOf(product.product_id),
    product_version: textOf(product.product_version),
    product_name: textOf(product.product_name),
    product_family: textOf(product.product_family),
    manufacturer: textOf(objectOf(product.manufacturer).name),
    firmware_version: firmware,
    firmware_order: firmware === null ? null : versionSortKey(firmware),
    operating_mode: textOf(objectOf(document.operating_mode).mode_name),
    management_state: management?.state_value ?? 'unknown',
    management_state_at: management?.state_timestamp ?? null,
    reachability_state: reachability?.state_value ?? 'unknown',
    reachability_state_at: reachability?.state_timestamp ?? null,
    trust_state: trust?.state_value ?? null,
    trust_state_at: trust?.state_timestamp ?? null,
    responsible: textOf(document.responsible) ?? '',
  }
}

function objectOf(value: unknown): PlainObject {
  return isObject(value) ? value : {}
}

type Firmware = { name?: string; version: string }

/**
 * Sets the version of the firmware component with this name. If no component has the name, sets the version of the
 * first firmware component. If the asset has no firmware component, adds one.
 */
export function setFirmware(document: PlainObject, firmware: Firmware): Document {
  const components = objectsOf(document.software_components)
  const candidates = components.filter(isFirmware)
  const chosen = candidates.find((component) => softwareNameOf(component) === firmware.name) ?? candidates[0]
  const next =
    chosen === undefined
      ? [...components, firmwareComponent({}, firmware)]
      : components.map((component) => (component === chosen ? firmwareComponent(component, firmware) : component))
  return canonical({ ...document, software_components: next })
}

function softwareNameOf(component: PlainObject): string | undefined {
  const identifier = objectsOf(objectOf(component.artifact).asset_identifiers).find(isSoftwareIdentifier)
  return textOf(identifier?.name) ?? undefined
}

function firmwareComponent(component: PlainObject, { name, version }: Firmware): PlainObject {
  const artifact = objectOf(component.artifact)
  const identifiers = objectsOf(artifact.asset_identifiers)
  const before = identifiers.find(isSoftwareIdentifier)
  if (before?.version === version && (name ?? before.name) === before.name) return component
  const identifier = {
    ...before,
    asset_identifier_type: 'SoftwareIdentifier',
    name: name ?? textOf(before?.name) ?? textOf(artifact.name) ?? 'firmware',
    version,
  }
  return {
    software_component_type: 'SoftwareArtifactComponent',
    ...component,
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      functional_object_schema_url: baseSchemaUrl,
      ...artifact,
      is_firmware: true,
      asset_identifiers:
        before === undefined
          ? [...identifiers, identifier]
          : identifiers.map((other) => (other === before ? identifier : other)),
    },
  }
}
