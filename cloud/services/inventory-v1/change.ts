import { isDeepStrictEqual } from 'node:util'
import { parentPredicates } from '@millwright/api/asset-columns.ts'
import { assetLimits } from '@millwright/api/asset-schema.ts'
import { managementStates, reachabilityStates, trustStates } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import {
  type Document,
  isObject,
  mapMembers,
  objectsOf,
  outOfBounds,
  type PlainObject,
  textOf,
} from '../../platform/plain-object.ts'
import type { ParsedDocument } from './asset.ts'
import { unitedIdentifiers } from './identifier.ts'

/**
 * Conversion of a complete document of version 1 to a write of version 2. Some fields of the document are written
 * separately in version 2.
 */

const states = {
  management_state: managementStates,
  reachability_state: reachabilityStates,
  trust_state: trustStates,
} as const
export type StateName = keyof typeof states
const stateNames = Object.keys(states) as StateName[]

/** The fields that are not part of the asset write: they are written separately, or the service sets them. */
const separateFields: readonly string[] = [
  ...stateNames,
  'id',
  'custom_properties',
  'responsible',
  'created_timestamp',
  'last_modified_timestamp',
]

/** The fields that every write must contain. */
const requiredFields: readonly string[] = ['functional_object_type', 'functional_object_schema_url']

/** Returns the asset of a sent document in the form in which version 2 accepts assets. */
export function writtenAsset({ asset, identifiers }: ParsedDocument): Document {
  return { ...ownFields(asset), asset_identifiers: identifiers }
}

/**
 * Returns the asset write that changes one document to another. It contains the changed fields, null for each removed
 * field, the required fields and the identifiers of both documents.
 */
export function changedAsset(before: ParsedDocument, after: ParsedDocument): Document {
  const [oldFields, newFields] = [ownFields(before.asset), ownFields(after.asset)]
  const cleared = mapMembers(oldFields, (_, name) => (Object.hasOwn(newFields, name) ? undefined : null))
  const changed = mapMembers(newFields, (value, name) =>
    isDeepStrictEqual(value, oldFields[name]) ? undefined : value,
  )
  const required = mapMembers(newFields, (value, name) => (requiredFields.includes(name) ? value : undefined))
  const identifiers = unitedIdentifiers([...before.identifiers, ...after.identifiers])
  return { ...required, ...cleared, ...changed, asset_identifiers: identifiers }
}

function ownFields(asset: PlainObject): Document {
  return mapMembers(asset, (value, name) => (separateFields.includes(name) ? undefined : value))
}

/** The limits of a document. They are far above the size of real assets and small enough to process. */
const bounds = { depth: 20, entries: assetLimits.entries, values: 100_000 } as const

export function requireBounded(document: PlainObject): void {
  const fault = outOfBounds(document, bounds)
  if (fault === undefined) return
  const { pointer, detail } = fault
  throw new Problem('invalid_asset', `${pointer} ${detail}`, { errors: [{ pointer, code: 'too_large', detail }] })
}

/**
 * Requires that each state has an allowed value. The pointer of the field error refers to the document of version 1.
 */
export function requireKnownStates(asset: PlainObject): void {
  for (const name of stateNames) {
    const value = stateIn(asset[name])
    const allowed: readonly string[] = states[name]
    if (value === null || allowed.includes(value)) continue
    const pointer = `/${name === 'trust_state' ? 'trust_established_state' : name}/state_value`
    const detail = `must be one of ${allowed.join(', ')}`
    throw new Problem('invalid_asset', `${pointer} ${detail}`, { errors: [{ pointer, code: 'enum', detail }] })
  }
}

/** The fields that can be changed but not cleared. */
const permanentFields = [
  'zone',
  'responsible',
  'management_state',
  'reachability_state',
  'trust_established_state',
] as const

/** Refuses a patch that clears a permanent field. */
export function requireNotCleared(before: PlainObject, patch: PlainObject): void {
  const cleared = permanentFields.filter((name) => patch[name] === null && before[name] !== undefined)
  if (cleared.length === 0) return
  const errors = cleared.map((name) => ({
    pointer: `/${name}`,
    code: 'kept',
    detail: 'can be changed, but not cleared',
  }))
  throw new Problem('invalid_asset', `/${cleared.join(', /')} can be changed, but not cleared`, { errors })
}

/**
 * Returns the fields of a document that are written in addition to the asset: states, responsible person, property values
 * and parent. With `before` (a PATCH), the result contains only fields that differ, because another request may have
 * changed the other fields meanwhile. A missing parent or property is then removed. Without `before` (a POST), the result
 * contains only fields that were sent. Other fields stay unchanged.
 */
export function otherFields({ asset, parentId }: ParsedDocument, before?: ParsedDocument) {
  const current = before?.asset ?? {}
  const changedStates = stateNames.flatMap((name) => {
    const value = stateIn(asset[name])
    return value === null || value === stateIn(current[name]) ? [] : [[name, value] as const]
  })
  const { responsible } = asset
  const hasValues = before === undefined ? asset.custom_properties !== undefined : hasOtherValues(asset, current)
  return {
    states: Object.fromEntries(changedStates) as { [Name in StateName]?: (typeof states)[Name][number] },
    ...(typeof responsible === 'string' && responsible !== current.responsible ? { responsible } : {}),
    ...(hasValues ? { properties: valuesIn(asset) } : {}),
    ...(parentId === before?.parentId
      ? {}
      : { partOf: { asset: parentId ?? null, predicates: [...parentPredicates] } }),
  }
}

function hasOtherValues(asset: PlainObject, current: PlainObject): boolean {
  return !isDeepStrictEqual(valuesIn(asset), valuesIn(current))
}

function stateIn(state: unknown): string | null {
  return isObject(state) ? textOf(state.state_value) : null
}

function valuesIn({ custom_properties: properties }: PlainObject): { key: string; value: string }[] {
  return objectsOf(properties).map(({ key, value }) => ({ key: String(key), value: String(value) }))
}
