import { useEffect, useMemo, useRef, useState } from 'react'
import type { Api } from '../../../app/api/client.ts'
import { useLiveEvents } from '../../../app/live/live-queries.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import type { Asset } from '../model/asset.ts'
import { type AssetPage, AssetPages, type LoadPage, pageSize } from './asset-pages.ts'
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
  /** An onboarding rule. The list then contains the new assets for which it proposes a target, without the other conditions. */
  proposedBy?: string | undefined
}

/**
 * The minimum time between two refreshes of the visible rows. It limits the number of requests, because a scan changes
 * thousands of assets per minute.
 */
const refreshIntervalMs = 2_000

/** Loads a list of assets while the user scrolls. Events about assets refresh the list. */
export function useAssetList({
  filter,
  q,
  caseInsensitive,
  sort,
  fields,
  scope,
  proposedBy,
}: AssetListOptions): AssetPages {
  const api = useApi()
  const [, setVersion] = useState(0)
  const fieldList = fields.join(',')
  const scopeText = JSON.stringify(scope ?? {})
  const pages = useMemo(() => {
    const requested = fieldList.split(',')
    const hasLastChange = requested.includes(lastChangeField)
    const shownFields = requested.filter((field) => field !== lastChangeField)
    const loadPage: LoadPage = async ({ cursor, offset, count, signal }) => {
      if (proposedBy !== undefined)
        return loadProposed(api, { ruleId: proposedBy, offset, fields: shownFields, signal })
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
  }, [api, filter, q, caseInsensitive, sort, fieldList, scopeText, proposedBy])
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

type ProposedOptions = { ruleId: string; offset: number; fields: readonly string[]; signal: AbortSignal }

/** Loads a page of the new assets for which a rule proposes a target. */
async function loadProposed(api: Api, { ruleId, offset, fields, signal }: ProposedOptions): Promise<AssetPage> {
  const page = { params: { id: ruleId }, query: { limit: pageSize, offset }, signal }
  const { data: proposed, meta } = await api.inbox.listProposedAssets(page)
  const total = meta.totalElements
  if (proposed.length === 0) return { rows: [], total, nextCursor: undefined }
  const ids = proposed.map(({ id }) => `'${id}'`).join(',')
  const query = { limit: pageSize, count: false, fields: fields.join(','), filter: `id in (${ids})` }
  const input = { query, signal }
  const { data } = await api.inventory.listAssets(input)
  const byId = new Map((data as Asset[]).map((asset) => [asset.id, asset]))
  return { rows: proposed.flatMap(({ id }) => byId.get(id) ?? []), total, nextCursor: undefined }
}

/** The fields of the name and of the class, which each table of assets shows. */
const nameFields = ['id', 'name', 'connection_points', 'functional_object_type', 'product_instance_information']

/** The fields from which the table derives the condition of an asset. */
export const conditionFields = ['reachability_state', 'operating_mode', 'software_components']

/** Returns the fields to request from the API: the fields of the columns, the id, and the fields of the name. */
export function fieldsFor(fields: Iterable<string>): string[] {
  return [...new Set([...nameFields, ...fields])].toSorted()
}
