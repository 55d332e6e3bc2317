import { discovery } from '@millwright/api/discovery.ts'
import { type FacetValue, type inbox, inboxLimits, type Scan } from '@millwright/api/inbox.ts'
import { facetProperties, type InboxFacet, inboxFacets, inboxFilter } from '@millwright/api/inbox-filter.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { proposalsFor } from './proposals.ts'

type Names = 'readInboxFacets' | 'readInboxAsset'

export function inboxAssetHandlers(context: Context): Pick<Handlers<typeof inbox>, Names> {
  const { peers } = context
  return {
    async readInboxFacets({ query: { q, ...conditions } }, caller) {
      const facets = inboxFacets.map((facet) => ({
        by: facetProperties[facet],
        filter: inboxFilter({ ...conditions, [facet]: undefined }),
      }))
      const limit = inboxLimits.facetValues
      const { data: counts } = await peers(inventory, caller).countFacets({
        body: { data: { facets, limit, ...(q === undefined ? {} : { q }) } },
      })
      const values = (facet: InboxFacet): FacetValue[] => counts[inboxFacets.indexOf(facet)] ?? []
      return {
        data: {
          scan: await namedScans(context, caller, values('scan')),
          subnet: values('subnet'),
          manufacturer: values('manufacturer'),
          family: values('family'),
          type: values('type'),
          confidence: values('confidence'),
        },
      }
    },

    async readInboxAsset({ params: { id } }, caller) {
      const { data: origin } = await peers(inventory, caller).readOrigin({ params: { id } })
      const runIds = origin.runId === undefined ? [] : [origin.runId]
      const scan = (await scansOf(context, caller, runIds)).get(origin.runId ?? '')
      const isNew = origin.managementState === 'unknown'
      const proposal = isNew ? (await proposalsFor(context, caller, [id])).get(id) : undefined
      return { data: { ...origin, ...(scan && { scan }), ...(proposal && { proposal }) } }
    },
  }
}

/**
 * Adds the names of scans to the values of a facet, newest scan first. Scans that the caller cannot read have no name. The
 * last value counts the assets without a scan. Ids of runs ascend with time.
 */
async function namedScans(context: Context, caller: Caller, values: readonly FacetValue[]): Promise<FacetValue[]> {
  const ids = values.flatMap(({ value }) => value ?? [])
  const scans = await scansOf(context, caller, ids)
  return values
    .map(({ value, count }) => {
      const scan = scans.get(value ?? '')
      return { value, count, ...(scan && { scan }) }
    })
    .toSorted((one, other) => ((one.value ?? '') < (other.value ?? '') ? 1 : -1))
}

/** Returns the scans that the caller can read, by the id of the run. */
async function scansOf({ peers }: Context, caller: Caller, ids: readonly string[]): Promise<Map<string, Scan>> {
  if (ids.length === 0) return new Map()
  const { data: runs } = await peers(discovery, caller).describeRuns({ body: { data: { ids: [...ids] } } })
  const gatewayIds = [...new Set(runs.map(({ gatewayId }) => gatewayId))]
  const gateways =
    gatewayIds.length === 0
      ? []
      : (await peers(inventory, systemCaller(caller)).describeGateways({ body: { data: { ids: gatewayIds } } })).data
  const names = new Map(gateways.map(({ id, name }) => [id, name]))
  return new Map(
    runs.map(({ id, gatewayId, ...run }) => {
      const gatewayName = names.get(gatewayId)
      return [id, { ...run, ...(gatewayName ? { gatewayName } : {}) }]
    }),
  )
}
