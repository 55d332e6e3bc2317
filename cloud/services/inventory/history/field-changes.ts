import { isDeepStrictEqual } from 'node:util'
import { firmwareVersionOf, softwareOf } from '@millwright/api/asset-firmware.ts'
import type { FieldChange } from '@millwright/api/inventory/changes.ts'
import { addressesOf } from '../assets/address.ts'
import { stateOf, stateValueOf } from '../assets/asset.ts'
import { isObject, objectsOf, type PlainObject, textOf } from '../assets/document.ts'

/**
 * The short form of a change: the fields that people look for, each with its value before and after the change. It is computed
 * when the change is written, so that lists of changes need no documents. Values are texts. A field with a value that is not a
 * short text has no values.
 */

/** The maximum number of fields of a change, and the maximum length of a value. */
const limits = { fields: 12, text: 160 } as const

/** The state of an asset before or after a change. */
export type AssetState = { accessGroupId: string; document: PlainObject }

type Value = string | null | undefined

/** The fields of a document from which a shown field is read, and how it is read. */
const shownFields: Readonly<Record<string, (document: PlainObject) => Value>> = {
  firmware: firmwareVersionOf,
  name: ({ name }) => textOf(name),
  description: ({ description }) => textOf(description),
  management_state: (document) => stateValueOf(document, 'management_state'),
  reachability_state: (document) => stateValueOf(document, 'reachability_state'),
  trust_state: (document) => stateValueOf(document, 'trust_state'),
  responsible: ({ responsible }) => textOf(responsible),
  operating_mode: ({ operating_mode: mode }) => (isObject(mode) ? textOf(mode.mode_name) : null),
  type: ({ functional_object_type: type }) => textOf(type),
  serial_number: (document) => textOf(instanceOf(document).serial_number),
  manufacturer: (document) => textOf(member(productOf(document), 'manufacturer').name),
  product_name: (document) => textOf(productOf(document).product_name),
  product_id: (document) => textOf(productOf(document).product_id),
  product_version: (document) => textOf(productOf(document).product_version),
  addresses: (document) =>
    addressesOf(document)
      .filter(({ kind }) => kind !== 'mac')
      .map(({ address }) => address)
      .join(', ') || null,
}

/** The fields of a document that `shownFields` reads completely. The others are listed without values. */
const readCompletely = new Set([
  'name',
  'description',
  'management_state',
  'reachability_state',
  'trust_state',
  'responsible',
  'functional_object_type',
  'custom_properties',
  'created_timestamp',
  'last_modified_timestamp',
])

/** For each field of a document, the shown fields that are read from it. If one of them changed, the field itself is not listed. */
const partsOf: Readonly<Record<string, readonly string[]>> = {
  software_components: ['firmware'],
  operating_mode: ['operating_mode'],
  product_instance_information: ['serial_number', 'manufacturer', 'product_name', 'product_id', 'product_version'],
  connection_points: ['addresses'],
}

/** Returns the short form of a change of an asset. The access group comes first, with the ids of the groups as values. */
export function fieldChanges(before: AssetState, after: AssetState): FieldChange[] {
  const changes: FieldChange[] = []
  const add = (field: string, from: Value, to: Value) => {
    if ((from ?? null) !== (to ?? null)) changes.push(changeOf(field, from, to))
  }
  add('access_group', before.accessGroupId, after.accessGroupId)
  const [old, current] = [before.document, after.document]
  for (const [field, read] of Object.entries(shownFields)) add(field, read(old), read(current))
  const outage = changes.find(({ field }) => field === 'reachability_state')
  const since = outageSince(old, current)
  if (outage !== undefined && since !== undefined) outage.since = since
  add('software_components', otherSoftware(old, current), otherSoftware(current, old))
  for (const { key, from, to } of propertyChanges(old, current)) add(`custom_properties/${key}`, from, to)
  const shown = new Set(changes.map(({ field }) => field))
  for (const name of new Set([...Object.keys(old), ...Object.keys(current)])) {
    if (readCompletely.has(name) || [name, ...(partsOf[name] ?? [])].some((part) => shown.has(part))) continue
    if (!isDeepStrictEqual(old[name], current[name])) changes.push({ field: name })
  }
  return changes.slice(0, limits.fields)
}

/** Returns the time since which an asset does not respond, or did not respond before a change. */
function outageSince(...documents: readonly PlainObject[]): string | undefined {
  return documents
    .map((document) => stateOf(document, 'reachability_state'))
    .find((state) => state?.state_value === 'failed')?.state_timestamp
}

/** Returns the short form of a deletion: the name and the type that the asset had. */
export function deletedFields({ document }: Pick<AssetState, 'document'>): FieldChange[] {
  return ['name', 'type'].map((field) => changeOf(field, shownFields[field]?.(document), null))
}

function changeOf(field: string, before: Value, after: Value): FieldChange {
  return { field, ...(before ? { before: shortened(before) } : {}), ...(after ? { after: shortened(after) } : {}) }
}

function shortened(value: string): string {
  return value.length <= limits.text ? value : `${value.slice(0, limits.text - 1)}…`
}

/** Returns the names and versions of the software of a document that the other document does not have, without firmware. */
function otherSoftware(document: PlainObject, other: PlainObject): string | null {
  const namesOf = (one: PlainObject) => softwareOf(one).map(({ name, version }) => `${name} ${version}`)
  const others = new Set(namesOf(other))
  return (
    namesOf(document)
      .filter((name) => !others.has(name))
      .join(', ') || null
  )
}

function propertyChanges(before: PlainObject, after: PlainObject) {
  const valuesOf = ({ custom_properties: values }: PlainObject) =>
    new Map(objectsOf(values).map(({ key, value }) => [String(key), textOf(value)]))
  const [old, current] = [valuesOf(before), valuesOf(after)]
  return [...new Set([...old.keys(), ...current.keys()])].map((key) => ({
    key,
    from: old.get(key),
    to: current.get(key),
  }))
}

function instanceOf(document: PlainObject): PlainObject {
  return member(document, 'product_instance_information')
}

function productOf(document: PlainObject): PlainObject {
  return member(instanceOf(document), 'manufacturer_product')
}

function member(object: PlainObject, name: string): PlainObject {
  const value = object[name]
  return isObject(value) ? value : {}
}
