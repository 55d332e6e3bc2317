import { restKey, type TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import { quoted } from '../assets/filter/filter-conditions.ts'
import { changeCount } from './change-counts.ts'
import { rootKey } from './map/scene-keys.ts'
import type { MapQuery } from './map-data.ts'
import { spanFor } from './timeline-scale.ts'

/** The pages that list the assets and the changes of a group. */

type AssetListLink = { to: string; search: { filter?: string } & Record<string, unknown> }

/** Returns the same list with a further condition. */
export function withFilter(list: AssetListLink | undefined, filter: string): AssetListLink | undefined {
  if (list === undefined) return undefined
  const { filter: own, ...search } = list.search
  return { to: list.to, search: { ...search, filter: own === undefined ? filter : `${own} and ${filter}` } }
}

/** Returns the selection of the activity with the compared time, and with the node if the group is one. */
export function activityOf({ by, since, at }: MapQuery, place: string): Record<string, string | undefined> {
  const node = by === 'hierarchy' && place !== rootKey && place !== restKey ? place : undefined
  const span = spanFor(since === undefined ? undefined : Date.parse(since), Date.now())
  return { range: span === 'hour' ? 'day' : span, from: since, to: at ?? new Date().toISOString(), node }
}

type Differences = { place: string; changes: TopologyGroup['changes'] }

/**
 * Returns the page that lists the assets of a group that differ now from an earlier time. There is none if the list would contain other
 * assets: removed assets are not listed, and a list has the current assets.
 */
export function differencesOf(query: MapQuery, { place, changes }: Differences): AssetListLink | undefined {
  const { by, since, at } = query
  const isListed = since !== undefined && at === undefined && changes.removed === 0 && changeCount(changes) > 0
  if (!isListed || (place !== rootKey && by !== 'hierarchy')) return undefined
  return withFilter(listOf(query, place), `last_modified_timestamp gt ${quoted(since)}`)
}

/** Returns the page that lists the assets of a group. There is none for switches. */
export function listOf({ by, hierarchy, q }: MapQuery, place: string): AssetListLink | undefined {
  const words = q === undefined ? {} : { q }
  if (place === rootKey) return { to: '/assets', search: words }
  if (by === 'hierarchy')
    return {
      to: '/hierarchy',
      search: { hierarchy, node: place === restKey ? 'unassigned' : place, below: 'yes', ...words },
    }
  if (by !== 'subnet' || !/^[0-9.]+\/(?:8|16|24)$/.test(place)) return undefined
  const numbers = place.split('.').slice(0, Number(place.split('/')[1]) / 8)
  const filter = `connection_points/any(c: startswith(c/ipv4_address, '${numbers.join('.')}.'))`
  return { to: '/assets', search: { filter, ...words } }
}
