import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { isInRanges, numberOfAddress, parseIpRange } from '@millwright/api/ip-range.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { lowestId, lowestIdAt, timeOfId } from '../../../platform/database/id.ts'
import type { Handlers } from '../../../platform/service.ts'
import { countFacet } from '../assets/handlers.ts'
import { selectionOf } from '../assets/selection.ts'
import type { InventoryContext } from '../context.ts'
import { isReadable } from '../relations/relation-store.ts'
import { readableGroups } from '../visibility.ts'
import { describeAssets } from '../visibility-store.ts'
import { itemOrRefusal } from '../writes/item-result.ts'
import { acceptedAnswer } from '../writes/status.ts'
import type { PatchItem } from '../writes/write.ts'
import { listNewAssets, type NewAssetQuery } from './match-store.ts'
import { originOf } from './origin.ts'

type Names = 'matchNewAssets' | 'matchRules' | 'countFacets' | 'readOrigin' | 'triageAssets'

/** The number of assets that one query of `matchNewAssets` reads. */
const matchesRead = 2_000

/** The operations for the inbox service. */
export function triageHandlers(own: InventoryContext): Pick<Handlers<typeof inventory>, Names> {
  const { database, acceptor } = own
  return {
    async matchNewAssets({ body: { data } }, caller) {
      const { runId, after = firstIdOf(runId), ...rule } = data
      const options = { runId, after, limit: matchesRead }
      const { assets, read } = await database.read(caller, (handle) => match(handle, caller, { ...rule, ...options }))
      const last = read.length === matchesRead ? read.at(-1)?.id : undefined
      return {
        data: { assets: assets.map(({ id, name }) => ({ id, name })), ...(last === undefined ? {} : { next: last }) },
      }
    },

    async matchRules({ body: { data } }, caller) {
      return database.read(caller, async (handle) => {
        const matches: { assetId: string; rule: number }[] = []
        let assetIds = data.assetIds
        for (const [rule, conditions] of data.rules.entries()) {
          if (assetIds.length === 0) break
          const options = { assetIds, after: lowestId, limit: assetIds.length }
          const { assets } = await match(handle, caller, { ...conditions, ...options })
          const matched = new Set(assets.map(({ id }) => id))
          for (const assetId of matched) matches.push({ assetId, rule })
          assetIds = assetIds.filter((id) => !matched.has(id))
        }
        return { data: matches }
      })
    },

    async countFacets({ body: { data } }, caller) {
      const { facets, limit, q } = data
      const text = q === undefined ? {} : { q }
      return database.read(caller, async (handle) => {
        const counts: Awaited<ReturnType<typeof countFacet>>[] = []
        for (const { by, filter } of facets)
          counts.push(await countFacet(handle, caller, { by, limit, selected: { filter, ...text } }))
        return { data: counts }
      })
    },

    async readOrigin({ params: { id } }, caller) {
      const origin = await database.read(caller, (handle) => originOf(handle, caller, id))
      if (origin === undefined) throw new Problem('not_found', `Asset ${id} does not exist`)
      return { data: origin }
    },

    async triageAssets({ body: { data }, headers }, caller) {
      const { cause } = data
      const ids = data.assets.map(({ assetId }) => assetId)
      const described = await database.read(caller, (handle) => describeAssets(handle, ids))
      const managed = new Set(described.filter(({ isGatewayOrLink }) => isGatewayOrLink).map((asset) => asset.id))
      const items = await Promise.all(
        data.assets.map(({ assetId, state, accessGroupId, expectedStates, expectedAccessGroupId }) =>
          itemOrRefusal((): PatchItem => {
            if (managed.has(assetId))
              throw new Problem('conflict', 'Gateways and asset links are not in the inbox, so they need no decision')
            return {
              assetId,
              change: 'triage',
              value: state,
              expectedStates,
              ...(accessGroupId === undefined ? {} : { accessGroupId }),
              ...(expectedAccessGroupId === undefined ? {} : { expectedAccessGroupId }),
            }
          }),
        ),
      )
      const payload = { items, single: false, ...(cause === undefined ? {} : { cause }) }
      const id = await acceptor.accept(caller, { kind: 'patch', action: 'inventory.triageAssets', payload })
      return acceptedAnswer(own, caller, { id, prefer: headers.prefer })
    },
  }
}

type RuleMatch = { filter?: string; gatewayId?: string; ranges?: string[] } & NewAssetQuery

/** Returns the new assets that match a rule, and the assets that were read to find them. */
async function match(handle: Handle, caller: Caller, { filter, ranges = [], ...query }: RuleMatch) {
  const isInRange = rangeCheck(ranges)
  const { gatewayId } = query
  // A gateway that the caller cannot read must not show which assets it found.
  if (gatewayId !== undefined && !(await isReadable(handle, { id: gatewayId, groups: readableGroups(caller) })))
    return { assets: [], read: [] }
  const selection = await selectionOf(handle, filter === undefined ? {} : { filter }, caller)
  const read = await listNewAssets(handle, selection, query)
  return { assets: read.filter(({ addresses }) => isInRange(addresses)), read }
}

/** The largest difference between the clocks of two processes for which the assets of a run are found. */
const clockDifferenceMs = 3_600_000

/**
 * Returns an id before the ids of all assets that a run created. Ids ascend with time, so the query reads only the assets
 * that were created after the start of the run, and not the whole inbox.
 */
function firstIdOf(runId: string | undefined): string {
  return runId === undefined ? lowestId : lowestIdAt(timeOfId(runId) - clockDifferenceMs)
}

/** Returns a function that checks whether one of the addresses is in one of the ranges. Without ranges, all are. */
function rangeCheck(texts: readonly string[]): (addresses: readonly string[]) => boolean {
  if (texts.length === 0) return () => true
  const ranges = texts.map((text) => {
    const range = parseIpRange(text)
    if (range === undefined)
      throw new Problem('invalid_range', `"${text}" is not a range. Use 10.0.0.0/24 or 10.0.0.1-10.0.0.20`)
    return range
  })
  return (addresses) =>
    addresses.some((address) => {
      const number = numberOfAddress(address)
      return number !== undefined && isInRanges(ranges, number)
    })
}
