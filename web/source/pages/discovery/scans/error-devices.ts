import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { useQueries, useQuery } from '@tanstack/react-query'
import type { Output } from '../../../app/api/client.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { type Asset, nameOf } from '../../assets/model/asset.ts'
import { addressesOf, addressesWithoutAsset, assetsByAddress } from './error-addresses.ts'
import { unauthenticated } from './error-cause.ts'

/** The number of addresses or names per request. More do not fit into a filter. */
const addressesPerRequest = 50

const shownFields = 'id,name,connection_points,product_instance_information'

/** The assets at the addresses of devices, by address. `absent` contains the addresses that no asset has. */
type AssetsAt = { assets: ReadonlyMap<string, Asset>; absent: ReadonlySet<string> }

/**
 * Loads the assets that have the addresses of devices with errors, by address. An address that several assets have, or that only
 * assets have which the user cannot read, is left out.
 */
export function useAssetsAt(errors: readonly DeviceError[]): AssetsAt {
  return useAssetsOfAddresses(addressesOf(errors))
}

/** Loads the assets that have these IPv4 addresses, as `useAssetsAt` does. */
export function useAssetsOfAddresses(addresses: readonly string[]): AssetsAt {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const chunks = chunksOf(addresses)
  return useQueries({
    queries: chunks.map((chunk) => {
      const filter = `connection_points/any(c: c/ipv4_address in (${chunk.map((each) => `'${each}'`).join(', ')}))`
      const input = { query: { filter, fields: shownFields, limit: 2 * addressesPerRequest } }
      return { ...query(['inventory', 'listAssets'], input), enabled: canRead }
    }),
    combine: (results) => {
      const assets = results.flatMap(({ data }) => (data?.data ?? []) as Asset[])
      const loaded = chunks.filter((_, index) => {
        const page = results[index]?.data
        return page !== undefined && page.data.length >= (page.meta.totalElements ?? 0)
      })
      return { assets: assetsByAddress(assets), absent: addressesWithoutAsset(loaded.flat(), assets) }
    },
  })
}

/** The credentials that a device rejected at the latest login. */
export type RejectedCredentials = Output<'credentials', 'listRefusals'>['data']

/** Returns the credentials of the asset link of a scan that the devices of errors rejected at the latest login, by address. */
export function useRejectedCredentials(
  { assetLinkId, gatewayId }: Discovery,
  errors: readonly DeviceError[],
): ReadonlyMap<string, RejectedCredentials> {
  const query = useOperationQuery()
  const canRead = usePermission('glb_credential_read')
  const addresses = addressesOf(errors.filter(({ code }) => code === unauthenticated))
  return useQueries({
    queries: chunksOf(addresses).map((chunk) => {
      const input = { query: { gatewayId, resourceIdentifier: assetLinkId, addresses: chunk.join(',') } }
      return { ...query(['credentials', 'listRefusals'], input, { live: ['credentials'] }), enabled: canRead }
    }),
    combine: (results) =>
      Map.groupBy(
        results.flatMap(({ data }) => data?.data ?? []),
        ({ address }) => address,
      ),
  })
}

/** The number of missing devices that are compared with the errors of a run. */
const comparedMissing = 100

/** The times at which missing devices were last found, by asset, and whether these are all missing devices of the run. */
export type MissingDevices = { lastFound: ReadonlyMap<string, string | undefined>; isComplete: boolean }

/** Loads the devices that are missing since a run. */
export function useMissing({ jobId }: Discovery, { id, gone }: DiscoveryRun): MissingDevices {
  const query = useOperationQuery()
  const input = { params: { jobId }, query: { run: id, outcome: 'gone' as const, limit: comparedMissing } }
  const { data } = useQuery({ ...query(['discovery', 'getReport'], input, { live: ['discovery'] }), enabled: gone > 0 })
  const findings = data?.data.findings ?? []
  return {
    lastFound: new Map(findings.map(({ assetId, lastFoundTimestamp }) => [assetId, lastFoundTimestamp])),
    isComplete: data !== undefined && findings.length >= gone,
  }
}

/** Returns the assets with these names. A name that several assets have is left out. */
export function useAssetsNamed(names: readonly string[]): ReadonlyMap<string, Asset> {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  return useQueries({
    queries: chunksOf([...new Set(names)]).map((chunk) => {
      const filter = `name in (${chunk.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ')})`
      const input = { query: { filter, fields: shownFields, limit: 2 * addressesPerRequest } }
      return { ...query(['inventory', 'listAssets'], input), enabled: canRead }
    }),
    combine: (results) => {
      const assets = results.flatMap(({ data }) => (data?.data ?? []) as Asset[])
      const groups = Map.groupBy(assets, nameOf)
      return new Map(
        [...groups].flatMap(([name, [asset, ...others]]) =>
          asset && others.length === 0 ? [[name, asset] as const] : [],
        ),
      )
    },
  })
}

/** Returns the elements in chunks for one request each. */
export function chunksOf<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / addressesPerRequest) }, (_, index) =>
    all.slice(index * addressesPerRequest, (index + 1) * addressesPerRequest),
  )
}
