import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { useQueries, useQuery } from '@tanstack/react-query'
import type { Output } from '../../../app/api/client.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { type Asset, nameOf } from '../../assets/model/asset.ts'
import { addressesOf, addressesWithoutAsset, assetsByAddress } from './error-addresses.ts'
import { unauthenticated } from './error-cause.ts'
import { missingWithError } from './missing-errors.ts'

/** The number of addresses, names or ids per request. More do not fit into a filter. */
const valuesPerRequest = 50

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
      const input = { query: { filter, fields: shownFields, limit: 2 * valuesPerRequest } }
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
  { assetLinkId, gatewayId }: Pick<Discovery, 'assetLinkId' | 'gatewayId'>,
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

/** The number of missing devices, and of errors, that are compared with each other. */
const comparedMissing = 100

export type MissingDevices = {
  /** The times at which missing devices were last found, by asset. */
  lastFound: ReadonlyMap<string, string | undefined>
  /** The number of missing devices with an error of the run, or undefined while not all missing devices and errors are known. */
  withError: number | undefined
}

const noFindings: readonly { assetId: string; lastFoundTimestamp?: string }[] = []

/** Loads the missing devices of a run with errors, and compares them with the errors. */
export function useMissing({ jobId }: Discovery, run: DiscoveryRun | undefined): MissingDevices {
  const query = useOperationQuery()
  const { id = '', gone = 0, errors = 0 } = run ?? {}
  const input = { params: { jobId }, query: { run: id, outcome: 'gone' as const, limit: comparedMissing } }
  const { data } = useQuery({
    ...query(['discovery', 'getReport'], input, { live: ['discovery'] }),
    enabled: gone > 0 && errors > 0,
  })
  const missing = data?.data.findings ?? noFindings
  const assets = useAssetsById(missing.map(({ assetId }) => assetId))
  return {
    lastFound: new Map(missing.map(({ assetId, lastFoundTimestamp }) => [assetId, lastFoundTimestamp])),
    withError:
      data === undefined
        ? undefined
        : missingWithError({
            missing,
            gone,
            errors: data.data.errors,
            totalErrors: data.data.totalErrors,
            assets,
          }),
  }
}

const findingFields =
  'id,name,functional_object_type,connection_points,product_instance_information,software_components'

/** Loads assets by id. Assets that were deleted, or that the user cannot read, are left out. */
export function useAssetsById(ids: readonly string[]): ReadonlyMap<string, Asset> {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  return useQueries({
    queries: chunksOf(ids).map((chunk) => {
      const filter = `id in (${chunk.map((id) => `'${id}'`).join(', ')})`
      const input = { query: { filter, fields: findingFields, limit: valuesPerRequest } }
      return { ...query(['inventory', 'listAssets'], input), enabled: canRead }
    }),
    combine: (results) =>
      new Map(results.flatMap(({ data }) => (data?.data ?? []) as Asset[]).map((asset) => [asset.id, asset])),
  })
}

/** Returns the assets with these names. A name that several assets have is left out. */
export function useAssetsNamed(names: readonly string[]): ReadonlyMap<string, Asset> {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  return useQueries({
    queries: chunksOf([...new Set(names)]).map((chunk) => {
      const filter = `name in (${chunk.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ')})`
      const input = { query: { filter, fields: shownFields, limit: 2 * valuesPerRequest } }
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
  return Array.from({ length: Math.ceil(all.length / valuesPerRequest) }, (_, index) =>
    all.slice(index * valuesPerRequest, (index + 1) * valuesPerRequest),
  )
}
