import { useEffect, useMemo, useRef, useState } from 'react'
import { useLiveEvents } from '../../../app/live/live-queries.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import type { Asset } from '../model/asset.ts'
import { AssetPages, type LoadPage, pageSize } from './asset-pages.ts'
import { lastChangeField, withLastChanges } from './last-change.ts'

/**
 * `NodeScope` limits a list of assets: to the assets of a hierarchy node, or to the assets that have no node in a
 * hierarchy.
 */
export type NodeScope = { hierarchyNode: string; includeBelow: boolean } | { unassignedIn: string }

export type AssetListOptions = {
  filter: string
  q: string
  /** Whether the filter ignores case. */
  caseInsensitive?: boolean
  sort: string
  fields: readonly string[]
  scope?: NodeScope | undefined
}

/**
 * The minimum time between two refreshes of the visible rows. It limits the number of requests, because a scan changes
 * thousands of assets per minute.
 */
const refreshIntervalMs = 2_000

/** Loads a list of assets while the user scrolls. Events about assets refresh the list. */
export function useAssetList({ filter, q, caseInsensitive, sort, fields, scope }: AssetListOptions): AssetPages {
  const api = useApi()
  const [, setVersion] = useState(0)
  const fieldList = fields.join(',')
  const scopeText = JSON.stringify(scope ?? {})
  const pages = useMemo(() => {
    const requested = fieldList.split(',')
    const hasLastChange = requested.includes(lastChangeField)
    const shownFields = requested.filter((field) => field !== lastChangeField)
    const loadPage: LoadPage = async ({ cursor, offset, count, signal }) => {
      const query = {
        limit: pageSize,
        fields: shownFields.join(','),
        count,
        ...(offset > 0 && { offset }),
        ...(cursor !== undefined && { cursor }),
        ...(filter !== '' && { filter }),
        ...(caseInsensitive && { caseInsensitive }),
        ...(q !== '' && { q }),
        ...(sort !== '' && { sort }),
        ...(JSON.parse(scopeText) as Partial<NodeScope>),
      }
      const input = { query, signal }
      const { data, meta } = await api.inventory.listAssets(input)
      const rows = hasLastChange ? await withLastChanges(api, data as Asset[]) : (data as Asset[])
      return { rows, total: meta.totalElements, nextCursor: meta.nextCursor }
    }
    return new AssetPages(loadPage, () => setVersion((version) => version + 1))
  }, [api, filter, q, caseInsensitive, sort, fieldList, scopeText])
  useEffect(() => () => pages.stop(), [pages])
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // A list of a node is also refreshed on relation events, because the assignment of an asset to a node is a relation.
  useLiveEvents(scope === undefined ? ['inventory.asset'] : ['inventory.asset', 'inventory.relation'], () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      pages.refresh()
    }, refreshIntervalMs)
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  return pages
}

/** The fields of the name and of the class, which each table of assets shows. */
const nameFields = ['id', 'name', 'connection_points', 'functional_object_type', 'product_instance_information']

/** The fields from which the table derives the condition of an asset. */
export const conditionFields = ['reachability_state', 'operating_mode', 'software_components']

/** Returns the fields to request from the API: the fields of the columns, the id, and the fields of the name. */
export function fieldsFor(fields: Iterable<string>): string[] {
  return [...new Set([...nameFields, ...fields])].toSorted()
}
