import { isDeepStrictEqual } from 'node:util'
import { assetLimits } from '@millwright/api/asset-schema.ts'
import { managementStates, reachabilityStates, trustStates } from '@millwright/api/inventory.ts'
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
import { type ParsedDocument, parentPredicates } from './asset.ts'
import { unitedIdentifiers } from './identifier.ts'

/** Version 1 writes an asset as a whole; since version 2 some of its fields are written by ways of their own. */

const states = {
  management_state: managementStates,
  reachability_state: reachabilityStates,
  trust_state: trustStates,
} as const
export type StateName = keyof typeof states
const stateNames = Object.keys(states) as StateName[]

/** What is written by other ways, or not at all. */
const apart: readonly string[] = [
  ...stateNames,
  'id',
  'custom_properties',
  'responsible',
  'created_timestamp',
  'last_modified_timestamp',
]

/** Without these no write says what it is about. */
const always: readonly string[] = ['functional_object_type', 'functional_object_schema_url']

/** The asset of a document that was sent, as version 2 takes it. */
export function writtenAsset({ asset, identifiers }: ParsedDocument): Document {
  return { ...ownFields(asset), asset_identifiers: identifiers }
}

/** What makes an asset of what it was into what it is to be. */
export function changedAsset(before: ParsedDocument, after: ParsedDocument): Document {
  const [was, is] = [ownFields(before.asset), ownFields(after.asset)]
  const cleared = mapMembers(was, (_, name) => (Object.hasOwn(is, name) ? undefined : null))
  const changed = mapMembers(is, (value, name) => (isDeepStrictEqual(value, was[name]) ? undefined : value))
  const about = mapMembers(is, (value, name) => (always.includes(name) ? value : undefined))
  const identifiers = unitedIdentifiers([...before.identifiers, ...after.identifiers])
  return { ...about, ...cleared, ...changed, asset_identifiers: identifiers }
}

function ownFields(asset: PlainObject): Document {
  return mapMembers(asset, (value, name) => (apart.includes(name) ? undefined : value))
}

/** Far more than any asset has, and little enough to look at. */
const bounds = { depth: 20, entries: assetLimits.entries, values: 100_000 } as const

export function requireBounded(document: PlainObject): void {
  const fault = outOfBounds(document, bounds)
  if (fault === undefined) return
  const { pointer, detail } = fault
  throw new Problem('invalid_asset', `${pointer} ${detail}`, { errors: [{ pointer, code: 'too_large', detail }] })
}

/** A state that there is not is told by its name in version 1. */
export function requireKnownStates(asset: PlainObject): void {
  for (const name of stateNames) {
    const value = stateIn(asset[name])
    const known: readonly string[] = states[name]
    if (value === null || known.includes(value)) continue
    const pointer = `/${name === 'trust_state' ? 'trust_established_state' : name}/state_value`
    const detail = `must be one of ${known.join(', ')}`
    throw new Problem('invalid_asset', `${pointer} ${detail}`, { errors: [{ pointer, code: 'enum', detail }] })
  }
}

/** What every asset has, or keeps once it has it. */
const kept = ['zone', 'responsible', 'management_state', 'reachability_state', 'trust_established_state'] as const

/** What a patch would take away must be something that can go. */
export function requireNotCleared(before: PlainObject, patch: PlainObject): void {
  const taken = kept.filter((name) => patch[name] === null && before[name] !== undefined)
  if (taken.length === 0) return
  const errors = taken.map((name) => ({ pointer: `/${name}`, code: 'kept', detail: 'can be changed, but not cleared' }))
  throw new Problem('invalid_asset', `/${taken.join(', /')} can be changed, but not cleared`, { errors })
}

/**
 * What a document says besides the asset itself: its states, who is responsible, property values, what it is part of.
 * Where it is known what was before, the document is the whole: what it does not say any more is gone, and what it says as
 * before is not said again, for it may have been changed by others meanwhile. What stays unsaid may be there all the same,
 * for others: it is not touched.
 */
export function otherFields({ asset, parentId }: ParsedDocument, before?: ParsedDocument) {
  const was = before?.asset ?? {}
  const said = stateNames.flatMap((name) => {
    const value = stateIn(asset[name])
    return value === null || value === stateIn(was[name]) ? [] : [[name, value] as const]
  })
  const { responsible } = asset
  const hasOther = before === undefined ? asset.custom_properties !== undefined : hasOtherValues(asset, was)
  return {
    states: Object.fromEntries(said) as { [Name in StateName]?: (typeof states)[Name][number] },
    ...(typeof responsible === 'string' && responsible !== was.responsible ? { responsible } : {}),
    ...(hasOther ? { properties: valuesIn(asset) } : {}),
    ...(parentId === before?.parentId
      ? {}
      : { partOf: { asset: parentId ?? null, predicates: [...parentPredicates] } }),
  }
}

function hasOtherValues(asset: PlainObject, was: PlainObject): boolean {
  return !isDeepStrictEqual(valuesIn(asset), valuesIn(was))
}

function stateIn(state: unknown): string | null {
  return isObject(state) ? textOf(state.state_value) : null
}

function valuesIn({ custom_properties: properties }: PlainObject): { key: string; value: string }[] {
  return objectsOf(properties).map(({ key, value }) => ({ key: String(key), value: String(value) }))
}
