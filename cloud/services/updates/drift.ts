import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { DriftProduct, OutdatedVersion, updates } from '@millwright/api/updates.ts'
import { compareVersions } from '@millwright/api/version-order.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { listUsableFirmware } from './artefact-store.ts'
import type { InstallableArtefact } from './compatibility.ts'
import { usabilityProblem } from './signatures.ts'
import { readSettings } from './trust-anchor-store.ts'

/** The firmware versions in use, by product. The inventory stores their counts, so no assets are read. */

/** A version is an outlier if at most this part of the devices of its product have it. */
const outlierShare = 0.05

export function driftHandlers(context: Context): Pick<Handlers<typeof updates>, 'listDrift' | 'listOutdatedVersions'> {
  return {
    async listDrift({ query: { limit = 50, offset = 0, q = '', withGateways = false } }, caller) {
      const client = context.peers(inventory, caller)
      const [{ data: counted }, { data: found }, artefacts] = await Promise.all([
        client.countProductVersions({}),
        withGateways ? client.countFoundVersions({}) : { data: undefined },
        usableFirmware(context, caller),
      ])
      const all = driftOf(counted, artefacts)
      const products = found === undefined ? all : withGatewayCounts(all, found)
      const text = q.trim().toLowerCase()
      const matching = products.filter(({ manufacturer, product, productName = '' }) =>
        [manufacturer, product, productName].some((each) => each.toLowerCase().includes(text)),
      )
      const data = matching.slice(offset, offset + limit)
      return { data, meta: { totalElements: matching.length, elements: data.length, offset } }
    },

    async listOutdatedVersions(_request, caller) {
      const { data: counted } = await context.peers(inventory, caller).countProductVersions({})
      return { data: outdatedVersions(counted, await usableFirmware(context, caller)) }
    },
  }
}

function usableFirmware({ database }: Context, caller: Caller): Promise<InstallableArtefact[]> {
  return database.read(caller, async (handle) => {
    const options = { ...(await readSettings(handle)), at: new Date() }
    return (await listUsableFirmware(handle)).filter((row) => usabilityProblem(row, options) === undefined)
  })
}

export type ProductVersionCount = {
  manufacturer: string
  productId?: string | undefined
  productName?: string | undefined
  firmwareVersion?: string | undefined
  devices: number
}

/** Returns the versions that `driftOf` counts as outdated, with the texts of the assets. */
export function outdatedVersions(
  counted: readonly ProductVersionCount[],
  artefacts: readonly InstallableArtefact[],
): OutdatedVersion[] {
  const newest = new Map(
    driftOf(counted, artefacts).map(({ manufacturer, product, newestKnown }) => [
      keyOf(manufacturer, product),
      newestKnown,
    ]),
  )
  return counted.flatMap(({ manufacturer, productId, productName, firmwareVersion }) => {
    const newestKnown = newest.get(keyOf(manufacturer, productId ?? productName ?? ''))
    if (firmwareVersion === undefined || newestKnown === undefined) return []
    if (compareVersions(firmwareVersion, newestKnown) >= 0) return []
    return [
      {
        manufacturer,
        ...(productId === undefined ? {} : { productId }),
        ...(productName === undefined ? {} : { productName }),
        firmwareVersion,
      },
    ]
  })
}

/** Adds to each product the number of outdated devices that an asset link has found. `found` counts the devices with a link. */
export function withGatewayCounts(
  products: readonly DriftProduct[],
  found: readonly ProductVersionCount[],
): DriftProduct[] {
  const groups = Map.groupBy(found, ({ manufacturer, productId, productName }) =>
    keyOf(manufacturer, productId ?? productName ?? ''),
  )
  return products.map((product) => {
    const { manufacturer, newestKnown } = product
    const outdated = (groups.get(keyOf(manufacturer, product.product)) ?? []).filter(
      ({ firmwareVersion }) =>
        firmwareVersion !== undefined && newestKnown !== undefined && compareVersions(firmwareVersion, newestKnown) < 0,
    )
    return { ...product, outdatedWithGateway: outdated.reduce((sum, { devices }) => sum + devices, 0) }
  })
}

/**
 * Groups counts by manufacturer and product. Products with most outdated devices come first. Letter case of names does not
 * matter.
 */
export function driftOf(
  counted: readonly ProductVersionCount[],
  artefacts: readonly InstallableArtefact[],
): DriftProduct[] {
  const newest = new Map<string, InstallableArtefact>()
  for (const artefact of artefacts) {
    for (const product of artefact.products) {
      const key = keyOf(artefact.manufacturer, product)
      const known = newest.get(key)
      if (known === undefined || compareVersions(artefact.version, known.version) > 0) newest.set(key, artefact)
    }
  }
  const groups = Map.groupBy(counted, ({ manufacturer, productId, productName }) =>
    keyOf(manufacturer, productId ?? productName ?? ''),
  )
  const products = [...groups.values()].map((rows) => {
    const names = rows.flatMap(({ manufacturer, productId, productName }) =>
      [productId, productName].flatMap((name) => (name === undefined ? [] : [keyOf(manufacturer, name)])),
    )
    const candidates = [...new Set(names)].flatMap((key) => newest.get(key) ?? [])
    return productOf(rows, candidates)
  })
  return products.toSorted(
    (one, other) =>
      other.outdated - one.outdated || other.devices - one.devices || (titleOf(one) < titleOf(other) ? -1 : 1),
  )
}

function productOf(rows: readonly ProductVersionCount[], artefacts: readonly InstallableArtefact[]): DriftProduct {
  const [mostCommon] = rows.toSorted((one, other) => other.devices - one.devices)
  const devices = rows.reduce((sum, row) => sum + row.devices, 0)
  const versions = versionsOf(rows, devices)
  const inUse = versions.flatMap(({ version }) => version ?? [])
  const [artefact] = artefacts.toSorted((one, other) => compareVersions(other.version, one.version))
  const [newestInUse] = inUse
  const isFromArtefact =
    artefact !== undefined && (newestInUse === undefined || compareVersions(artefact.version, newestInUse) >= 0)
  const newestKnown = isFromArtefact ? artefact.version : newestInUse
  const productName = rows.find((row) => row.productName !== undefined)?.productName
  return {
    manufacturer: mostCommon?.manufacturer ?? '',
    product: mostCommon?.productId ?? mostCommon?.productName ?? '',
    ...(productName === undefined ? {} : { productName }),
    devices,
    versions,
    ...(newestKnown === undefined ? {} : { newestKnown }),
    ...(isFromArtefact ? { newestArtefactId: artefact.id } : {}),
    outdated: versions
      .filter(
        ({ version }) => version !== null && newestKnown !== undefined && compareVersions(version, newestKnown) < 0,
      )
      .reduce((sum, version) => sum + version.devices, 0),
  }
}

/** Returns the versions in use, newest first, and unknown versions last. Equal versions are one, in the most common form. */
function versionsOf(rows: readonly ProductVersionCount[], total: number): DriftProduct['versions'] {
  const versions: { version: string | null; devices: number; mostCommon: number }[] = []
  const sorted = rows.toSorted((one, other) => order(one.firmwareVersion, other.firmwareVersion))
  for (const { firmwareVersion = null, devices } of sorted) {
    const last = versions.at(-1)
    if (last === undefined || order(last.version, firmwareVersion) !== 0) {
      versions.push({ version: firmwareVersion, devices, mostCommon: devices })
      continue
    }
    last.devices += devices
    if (devices <= last.mostCommon) continue
    last.version = firmwareVersion
    last.mostCommon = devices
  }
  return versions.map(({ version, devices }) => ({
    version,
    devices,
    isOutlier: version !== null && versions.length > 1 && devices <= total * outlierShare,
  }))
}

function order(one: string | null | undefined, other: string | null | undefined): number {
  const [isMissing, isOtherMissing] = [one === undefined || one === null, other === undefined || other === null]
  if (isMissing || isOtherMissing) return Number(isMissing) - Number(isOtherMissing)
  return compareVersions(other ?? '', one ?? '')
}

/** Returns the key of a product. Letter case does not matter. */
function keyOf(manufacturer: string, product: string): string {
  return JSON.stringify([manufacturer, product].map(normalised))
}

function normalised(text: string): string {
  return text.trim().toLowerCase()
}

function titleOf({ manufacturer, product }: DriftProduct): string {
  return `${manufacturer} ${product}`
}
