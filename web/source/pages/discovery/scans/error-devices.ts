import type { Discovery } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import type { Asset } from '../../assets/model/asset.ts'
import { addressesOf, assetsByAddress, containsAddress } from './error-addresses.ts'
import { unauthenticated } from './error-cause.ts'

/** The number of addresses per request. More addresses do not fit into a filter. */
const addressesPerRequest = 50

/**
 * Loads the assets that have the addresses of devices with errors, by address. An address that several assets have, or that only
 * assets have which the user cannot read, is left out.
 */
export function useAssetsAt(errors: readonly DeviceError[]): ReadonlyMap<string, Asset> {
  return useAssetsOfAddresses(addressesOf(errors))
}

/** Loads the assets that have these IPv4 addresses, as `useAssetsAt` does. */
export function useAssetsOfAddresses(addresses: readonly string[]): ReadonlyMap<string, Asset> {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const chunks = Array.from({ length: Math.ceil(addresses.length / addressesPerRequest) }, (_, index) =>
    addresses.slice(index * addressesPerRequest, (index + 1) * addressesPerRequest),
  )
  return useQueries({
    queries: chunks.map((chunk) => {
      const filter = `connection_points/any(c: c/ipv4_address in (${chunk.map((each) => `'${each}'`).join(', ')}))`
      const input = { query: { filter, fields: 'id,name,connection_points', limit: 2 * addressesPerRequest } }
      return { ...query(['inventory', 'listAssets'], input), enabled: canRead }
    }),
    combine: (results) => assetsByAddress(results.flatMap(({ data }) => (data?.data ?? []) as Asset[])),
  })
}

/** Above this number of candidates, the page does not determine which credentials a device rejected. */
const maxCandidates = 5

/** Matches the problem of a device that rejected exactly one credential. */
const oneRejected = /\b1 credential was rejected\b/

/** Returns the ids of the credentials that devices rejected, by address. Devices that rejected several credentials are left out. */
export function useRejectedCredentials(
  { assetLinkId, gatewayId }: Discovery,
  errors: readonly DeviceError[],
): ReadonlyMap<string, string> {
  const query = useOperationQuery()
  const canRead = usePermission('glb_credential_read')
  const rejected = errors.filter(({ code, description }) => code === unauthenticated && oneRejected.test(description))
  const addresses = addressesOf(rejected)
  const input = { query: { resourceIdentifier: assetLinkId, limit: 100 } }
  const instances = useQuery({
    ...query(['credentials', 'listInstances'], input),
    enabled: canRead && addresses.length > 0,
  })
  const candidates = (instances.data?.data ?? []).filter(
    ({ logins, metadata }) => logins.refused > 0 && addresses.some((each) => containsAddress(metadata.ipRanges, each)),
  )
  const isKnown = candidates.length <= maxCandidates
  return useQueries({
    queries: (isKnown ? candidates : []).map(({ id }) =>
      query(['credentials', 'readInstanceUsage'], { params: { instanceId: id } }),
    ),
    combine: (results) => {
      const refusals = results.flatMap(({ data }, index) =>
        (data?.data.associations ?? [])
          .filter((each) => each.gatewayId === gatewayId && each.lastFailedTimestamp !== undefined)
          .map(({ address }) => [address, candidates[index]?.id ?? ''] as const),
      )
      const isLoaded = results.every(({ data }) => data !== undefined)
      const groups = Map.groupBy(refusals, ([address]) => address)
      return new Map(
        addresses.flatMap((address) => {
          const group = groups.get(address) ?? []
          return isLoaded && group.length === 1 ? group : []
        }),
      )
    },
  })
}
