import type { AssetChange, ChangeGroup, ChangePosition, FieldChange } from '@millwright/api/inventory/changes.ts'
import { findNames } from '../../../platform/access/store.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { isId } from '../../../platform/database/id.ts'
import { findProperties } from '../assets/property-store.ts'
import { type Groups, isReadableGroup } from '../visibility.ts'
import { withoutHiddenAuthors } from '../visibility-store.ts'
import * as store from './change-store.ts'
import { fieldChanges } from './field-changes.ts'

/**
 * Lists of changes. The changes of one operation, such as a scan, are one element at the position of its newest change. A page
 * is read in portions: the positions of the next changes first, then the counts of the operations among them. An operation
 * whose newest change is before the portion was listed on an earlier page and is skipped.
 */

/** The number of positions that one statement reads, and the maximum number of such statements for a page. */
const portion = { keys: 400, statements: 25 } as const

type ListOptions = { before?: ChangePosition; limit: number; isGrouped: boolean }

type ListedChange = store.ChangeKey & { group?: store.ChangeGroupRow }

export type ChangePage = { changes: AssetChange[]; next?: ChangePosition }

/**
 * Returns the next elements, newest first, and the position at which the list continues. A page can have fewer elements than
 * the limit if one operation has very many changes.
 */
export async function listChanges(
  handle: Handle,
  selection: store.ChangeSelection,
  { before, limit, isGrouped }: ListOptions,
): Promise<ChangePage> {
  const listed: ListedChange[] = []
  const known = new Set<string>()
  let position = before
  for (let statements = 0; statements < portion.statements && listed.length < limit; statements++) {
    const size = isGrouped ? portion.keys : limit
    const page = { before: position, limit: size, withoutCauses: [...known] }
    const keys = await store.listChangeKeys(handle, selection, page)
    const groups = isGrouped ? await groupsOf(handle, selection, keys) : new Map<string, store.ChangeGroupRow>()
    for (const key of keys) {
      if (listed.length === limit) break
      position = positionOf(key)
      const { causeId } = key
      if (causeId === null || !isGrouped) listed.push(key)
      else if (!known.has(causeId)) {
        known.add(causeId)
        const group = groups.get(causeId)
        if (group !== undefined && isSamePosition(group, key)) listed.push({ ...key, group })
      }
    }
    if (keys.length < size && isLast(keys, position)) return { changes: await shownChanges(handle, selection, listed) }
  }
  return {
    changes: await shownChanges(handle, selection, listed),
    ...(position === undefined ? {} : { next: position }),
  }
}

function isLast(keys: readonly store.ChangeKey[], position: ChangePosition | undefined): boolean {
  const last = keys.at(-1)
  return last === undefined || (position !== undefined && isSamePosition(last, position))
}

function positionOf({ time, assetId, version }: ChangePosition): ChangePosition {
  return { time, assetId, version }
}

function isSamePosition(a: ChangePosition, b: ChangePosition): boolean {
  return a.assetId === b.assetId && a.version === b.version
}

async function groupsOf(handle: Handle, selection: store.ChangeSelection, keys: readonly store.ChangeKey[]) {
  const causeIds = [...new Set(keys.flatMap(({ causeId }) => causeId ?? []))]
  const rows = causeIds.length === 0 ? [] : await store.describeGroups(handle, selection, causeIds)
  return new Map(rows.map((row) => [row.causeId, row]))
}

async function shownChanges(
  handle: Handle,
  { groups }: store.ChangeSelection,
  listed: readonly ListedChange[],
): Promise<AssetChange[]> {
  if (listed.length === 0) return []
  const rows = await store.readChanges(handle, listed, groups)
  const shown = await describeChanges(handle, rows, groups)
  const byKey = new Map(shown.map((change) => [`${change.assetId} ${change.version}`, change]))
  const ofGroups = listed.flatMap(({ group }) => group?.fields ?? [])
  const names = await namesOf(handle, ofGroups)
  return listed.flatMap(({ assetId, version, group }) => {
    const change = byKey.get(`${assetId} ${version}`)
    if (change === undefined) return []
    if (group === undefined || group.count <= 1) return [change]
    return [{ ...change, group: shownGroup(group, groups, names) }]
  })
}

/** Returns the counts of an operation. A caller with access to some groups does not see values from before the changes. */
function shownGroup(row: store.ChangeGroupRow, groups: Groups, names: FieldNames): ChangeGroup {
  const { created, updated, deleted, firstTime } = row
  const isCapped = row.count > store.groupLimits.counted
  const fields = (row.fields ?? []).map(({ count, ...change }) => {
    const { before, ...named } = withNames(withoutNulls(change), names)
    return { ...named, ...(before === undefined || groups !== null ? {} : { before }), count }
  })
  const count = Math.min(row.count, store.groupLimits.counted)
  return { count, isCapped, created, updated, deleted, firstTime, names: row.names ?? [], fields }
}

function withoutNulls({ field, before, after }: { field: string; before?: string | null; after?: string | null }) {
  return { field, ...(before ? { before } : {}), ...(after ? { after } : {}) }
}

/** Returns changes in the form of the API, with the names of their fields, and without authors that the caller cannot read. */
export async function describeChanges(
  handle: Handle,
  rows: readonly store.ChangeRow[],
  groups: Groups,
): Promise<AssetChange[]> {
  const readable = await withoutHiddenAuthors(handle, rows, groups)
  const short = readable.map((row) => ({ row, changes: readableFields(shortForm(row), groups) }))
  const names = await namesOf(
    handle,
    short.flatMap(({ changes }) => changes),
  )
  return short.map(({ row, changes }) => shownChange(row, { changes, names }))
}

/** Returns the short form of a change. It is computed from the documents if the change was written without one. */
function shortForm(row: store.ChangeRow): FieldChange[] {
  const { change, changes, before, beforeGroupId, after, accessGroupId } = row
  if (change === 'created' || change === 'deleted') return []
  if (changes !== null) return changes
  if (before === null || after === null || beforeGroupId === null) return []
  return fieldChanges({ accessGroupId: beforeGroupId, document: before }, { accessGroupId, document: after })
}

/** Hides the values from before a change that moved the asset out of an access group that the caller cannot read. */
function readableFields(changes: readonly FieldChange[], groups: Groups): readonly FieldChange[] {
  const move = changes.find(({ field }) => field === 'access_group')
  if (groups === null || move?.before === undefined || isReadableGroup(groups, move.before)) return changes
  return [{ field: 'access_group', ...(move.after === undefined ? {} : { after: move.after }) }]
}

function shownChange(
  row: store.ChangeRow,
  { changes, names }: { changes: readonly FieldChange[]; names: FieldNames },
): AssetChange {
  const { assetId, version, time, change, name, type, principal, principalName, sourceType, sourceValue } = row
  const { causeKind, causeId, causeName } = row
  return {
    assetId,
    version,
    time,
    change,
    name: name ?? row.changes?.find(({ field }) => field === 'name')?.before ?? null,
    type,
    principal,
    principalName,
    source: { type: sourceType, ...(sourceValue === null ? {} : { value: sourceValue }) },
    changes: changes.map((one) => withNames(one, names)),
    ...(causeKind === null || causeId === null
      ? {}
      : { cause: { kind: causeKind, id: causeId, ...(causeName === null ? {} : { name: causeName }) } }),
  }
}

/** The names of access groups and custom properties by id. */
type FieldNames = { groups: ReadonlyMap<string, string>; properties: ReadonlyMap<string, { name: string }> }

const propertyPrefix = 'custom_properties/'

async function namesOf(handle: Handle, changes: readonly FieldChange[]): Promise<FieldNames> {
  const moves = changes.filter(({ field }) => field === 'access_group')
  const groupIds = moves.flatMap(({ before, after }) => [before, after]).filter((id) => id !== undefined)
  const keys = changes
    .filter(({ field }) => field.startsWith(propertyPrefix))
    .map(({ field }) => field.slice(propertyPrefix.length))
    .filter(isId)
  return {
    groups: await findNames(handle, [...new Set(groupIds)]),
    properties: keys.length === 0 ? new Map() : await findProperties(handle, [...new Set(keys)]),
  }
}

/** Replaces the ids of access groups and custom properties by their names. */
function withNames(change: FieldChange, { groups, properties }: FieldNames): FieldChange {
  const { field, before, after } = change
  if (field === 'access_group') {
    const [from, to] = [groups.get(before ?? ''), groups.get(after ?? '')]
    return { field, ...(from === undefined ? {} : { before: from }), ...(to === undefined ? {} : { after: to }) }
  }
  const property = properties.get(field.slice(propertyPrefix.length))
  return property === undefined ? change : { ...change, field: `${propertyPrefix}${property.name}` }
}
