import type { Api } from '../../../app/api/client.ts'
import { quoted } from '../filter/filter-conditions.ts'
import { type Asset, customValue, nameOf, textAt } from '../model/asset.ts'
import { type AcceptedWrite, type BulkOutcome, bulkHeaders, writeInBulk } from './bulk-result.ts'

/** This file reads and writes one field of many assets: for the preview of a change, for the change, and for its undo. */

export type BulkField = 'management_state' | 'access_group' | 'responsible' | `property:${string}`

/** The value of an asset before a change. It is undefined if the asset has no value. */
export type CurrentValue = { id: string; name: string; value: string | undefined }

/** The number of assets in one request. The filter language limits the length of a filter. */
const readSize = 50

const paths = {
  management_state: 'management_state/state_value',
  access_group: 'access_group',
  responsible: 'responsible',
} as const

export type ReadOptions = { field: BulkField; ids: readonly string[]; signal?: AbortSignal }

/** Reads the values of a field. Assets that were deleted in the meantime are left out. */
export async function readValues(
  api: Api,
  { field, ids, signal }: ReadOptions,
  onProgress?: (done: number) => void,
): Promise<CurrentValue[]> {
  const values: CurrentValue[] = []
  const key = propertyKey(field)
  for (let at = 0; at < ids.length; at += readSize) {
    const some = ids.slice(at, at + readSize)
    const query = {
      limit: readSize,
      count: false,
      fields: `id,name,connection_points,${key === undefined ? field : 'custom_properties'}`,
      filter: `id in (${some.map(quoted).join(',')})`,
    }
    const { data } = await api.inventory.listAssets({ query, ...(signal && { signal }) })
    for (const asset of data as Asset[]) {
      const value = key === undefined ? textAt(asset, paths[field as keyof typeof paths]) : customValue(asset, key)
      values.push({ id: asset.id, name: nameOf(asset), value: value === '' ? undefined : value })
    }
    onProgress?.(Math.min(ids.length, at + some.length))
  }
  return values
}

/** Returns the key of a custom property, or undefined for another field. */
export function propertyKey(field: BulkField): string | undefined {
  return field.startsWith('property:') ? field.slice('property:'.length) : undefined
}

export type ChangeGroup = { before: string | undefined; assets: readonly CurrentValue[] }

/** Returns the assets that a change affects, grouped by their current value. The largest group is the first. */
export function changeGroups(values: readonly CurrentValue[], target: string | undefined): ChangeGroup[] {
  const groups = Map.groupBy(
    values.filter(({ value }) => value !== target),
    ({ value }) => value,
  )
  return [...groups]
    .map(([before, assets]) => ({ before, assets }))
    .toSorted((one, other) => other.assets.length - one.assets.length)
}

export type NewValue = { id: string; value: string | undefined }

/** Writes a value for each asset. A custom property without a value is removed. */
export async function writeValues(
  api: Api,
  { field, values }: { field: BulkField; values: readonly NewValue[] },
  onProgress: (done: number) => void = () => {},
): Promise<BulkOutcome> {
  const byId = new Map(values.map(({ id, value }) => [id, value]))
  const [removed, set] = [true, false].map((isRemoved) =>
    values.filter(({ value }) => (value === undefined) === isRemoved).map(({ id }) => id),
  ) as [string[], string[]]
  const first = await writeInBulk({ ids: set, write: setter(api, field, byId), onProgress })
  const key = propertyKey(field)
  if (key === undefined || removed.length === 0) return first
  const second = await writeInBulk({
    ids: removed,
    write: (ids) =>
      api.inventory.deletePropertyValues({
        headers: bulkHeaders,
        body: { data: ids.map((id) => ({ asset_id: id, key })) },
      }),
    onProgress: (done) => onProgress(set.length + done),
  })
  return { done: first.done + second.done, failures: [...first.failures, ...second.failures] }
}

function setter(
  api: Api,
  field: BulkField,
  values: ReadonlyMap<string, string | undefined>,
): (ids: string[]) => Promise<AcceptedWrite> {
  const headers = bulkHeaders
  const newValue = (id: string) => values.get(id) ?? ''
  if (field === 'management_state') {
    return (ids) =>
      api.inventory.setManagementStates({
        headers,
        body: { data: ids.map((id) => ({ asset_id: id, state_value: newValue(id) as 'regarded' })) },
      })
  }
  if (field === 'access_group') {
    return (ids) =>
      api.inventory.setAccessGroups({
        headers,
        body: { data: ids.map((id) => ({ asset_id: id, access_group: newValue(id) })) },
      })
  }
  if (field === 'responsible') {
    return (ids) =>
      api.inventory.setResponsibles({
        headers,
        body: { data: ids.map((id) => ({ asset_id: id, responsible: newValue(id) })) },
      })
  }
  const key = propertyKey(field) ?? ''
  return (ids) =>
    api.inventory.setPropertyValues({
      headers,
      body: { data: ids.map((id) => ({ asset_id: id, key, value: newValue(id) })) },
    })
}

/**
 * Restores the values before a change. An asset whose value was changed again in the meantime keeps its value, and is
 * counted as `kept`.
 */
export async function restoreValues(
  api: Api,
  { field, before, target }: { field: BulkField; before: readonly NewValue[]; target: string | undefined },
): Promise<{ restored: number; kept: number }> {
  const now = await readValues(api, { field, ids: before.map(({ id }) => id) })
  const unchanged = new Set(now.filter(({ value }) => value === target).map(({ id }) => id))
  const { done } = await writeValues(api, { field, values: before.filter(({ id }) => unchanged.has(id)) })
  return { restored: done, kept: before.length - done }
}
