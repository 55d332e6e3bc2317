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
import type { Told } from './asset.ts'
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
export function writtenAsset({ asset, identifiers }: Told): Document {
  return { ...ownFields(asset), asset_identifiers: identifiers }
}

/** What makes an asset of what it was into what it is to be; nothing when that is the same. */
export function changedAsset(before: Told, after: Told): Document | undefined {
  const [was, is] = [ownFields(before.asset), ownFields(after.asset)]
  const cleared = mapMembers(was, (_, name) => (Object.hasOwn(is, name) ? undefined : null))
  const changed = mapMembers(is, (value, name) => (isDeepStrictEqual(value, was[name]) ? undefined : value))
  const identifiers = unitedIdentifiers([...before.identifiers, ...after.identifiers])
  const isSame = identifiers.length === before.identifiers.length
  if (isSame && Object.keys(cleared).length === 0 && Object.keys(changed).length === 0) return undefined
  const about = mapMembers(is, (value, name) => (always.includes(name) ? value : undefined))
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

/** Said before anything is written: a state is written after the asset, which would then be there already. */
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

/** States that are to be others than they were. */
export function changedStates(before: PlainObject, after: PlainObject): { name: StateName; value: string }[] {
  return stateNames.flatMap((name) => {
    const value = stateIn(after[name])
    return value === null || value === stateIn(before[name]) ? [] : [{ name, value }]
  })
}

function stateIn(state: unknown): string | null {
  return isObject(state) ? textOf(state.state_value) : null
}

type PropertyChanges = { set: { key: string; value: string }[]; removed: string[] }

/** Values of custom properties that are to be others than they were. */
export function changedProperties(before: PlainObject, after: PlainObject): PropertyChanges {
  const [was, is] = [valuesIn(before), valuesIn(after)]
  return {
    set: [...is].flatMap(([key, value]) => (was.get(key) === value ? [] : [{ key, value }])),
    removed: [...was.keys()].filter((key) => !is.has(key)),
  }
}

function valuesIn({ custom_properties: properties }: PlainObject): Map<string, string> {
  return new Map(objectsOf(properties).map(({ key, value }) => [String(key), String(value)]))
}
