import { useEffect, useMemo, useRef, useState } from 'react'
import { useLive } from '../../../app/live/live-queries.ts'
import { useApi } from '../../../app/session/user-context.tsx'
import type { Asset } from '../model/asset.ts'
import { type Ask, AssetPages, pageSize } from './asset-pages.ts'

export type ListQuestion = { filter: string; q: string; sort: string; fields: readonly string[] }

/** During a scan thousands of assets change in a minute: what is in sight follows at this pace. */
const renewEveryMs = 2_000

/** A list of assets of any length, read as it is looked at, following what changes. */
export function useAssetList({ filter, q, sort, fields }: ListQuestion): AssetPages {
  const api = useApi()
  const [, setVersion] = useState(0)
  const wanted = fields.join(',')
  const pages = useMemo(() => {
    const ask: Ask = async ({ cursor, offset, count, signal }) => {
      const query = {
        limit: pageSize,
        fields: wanted,
        count,
        ...(offset > 0 && { offset }),
        ...(cursor !== undefined && { cursor }),
        ...(filter !== '' && { filter }),
        ...(q !== '' && { q }),
        ...(sort !== '' && { sort }),
      }
      const given = { query, signal }
      const { data, meta } = await api.inventory.listAssets(given)
      return { rows: data as Asset[], total: meta.totalElements, nextCursor: meta.nextCursor }
    }
    return new AssetPages(ask, () => setVersion((version) => version + 1))
  }, [api, filter, q, sort, wanted])
  useEffect(() => () => pages.stop(), [pages])
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useLive(['inventory.asset'], () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      pages.renew()
    }, renewEveryMs)
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  return pages
}

/** The fields that columns need: lists stay small. */
export function fieldsFor(fields: Iterable<string>): string[] {
  return [...new Set(['id', 'name', ...fields])].toSorted()
}
