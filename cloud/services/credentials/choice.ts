import { type CredentialRequest, credentialLimits } from '@millwright/api/credentials-shapes.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { holdInstances, type SealedRow } from './instance-store.ts'
import { type Address, keysHolding, parseAddress, showAddress, storedRanges } from './ip-range.ts'
import { type Placed, recentOfProduct, recentOfSchema } from './place-store.ts'
import { findSchemaIdOfProduct } from './schema-store.ts'
import { applies, type Candidate, select } from './selection.ts'
import { findAssociated } from './use-store.ts'

/** A device that somebody found, and the blocks of addresses that it is in. */
export type Device = { found: Address; address: string; blocks: readonly string[]; assetIds: readonly string[] }

export type Sealed = Candidate & { row: SealedRow }

export type Choice = {
  device: Device
  known: boolean
  chosen: readonly Sealed[]
  /** What belongs to the device, but not at this address or with this link. */
  withheld: readonly Sealed[]
}

type Product = CredentialRequest['product']

/** Undefined where there is no address: what is none is in no range. */
export function deviceOf({ address, assetIds = [] }: CredentialRequest['devices'][number]): Device | undefined {
  const found = parseAddress(address)
  return found && { found, address: showAddress(found), blocks: keysHolding(found), assetIds }
}

/** A choice for each device, in as many statements as for one. What is chosen is held until the end of the transaction. */
export async function choose(
  tx: Transaction,
  { gatewayId, product }: Pick<CredentialRequest, 'gatewayId' | 'product'>,
  devices: readonly Device[],
): Promise<Choice[]> {
  const associations = await findAssociated(tx, gatewayId, devices)
  const recent = await recentFor(tx, product, devices)
  const ids = new Set([...associations.flatMap((records) => [...records.keys()]), ...recent.flat()])
  const held = new Map((await holdInstances(tx, [...ids])).map((row) => [row.id, candidateOf(row)]))
  return devices.map((device, index) => {
    const place = { address: device.found, product }
    const associated = [...(associations[index] ?? [])].flatMap(([id, record]) => {
      const candidate = held.get(id)
      return candidate === undefined ? [] : [{ ...candidate, ...record }]
    })
    const withheld = associated.filter((one) => !applies(one, place))
    const candidates = (recent[index] ?? []).flatMap((id) => held.get(id) ?? [])
    return { device, withheld, ...select(place, { associated, recent: candidates }) }
  })
}

/** Those of the same version go first: only where they are too few, the others are looked for. */
async function recentFor(tx: Transaction, product: Product, devices: readonly Device[]): Promise<string[][]> {
  const schemaId = await findSchemaIdOfProduct(tx, product)
  const ofVersion = schemaId === undefined ? [] : await recentOfSchema(tx, schemaId, blocksOf(devices))
  const found = mostRecentAt(devices, ofVersion)
  const few = devices.filter((_, index) => (found[index]?.length ?? 0) < credentialLimits.selected)
  if (few.length === 0) return found
  const others = mostRecentAt(devices, await recentOfProduct(tx, product.identifier, blocksOf(few)))
  return found.map((ids, index) =>
    ids.length < credentialLimits.selected ? [...new Set([...ids, ...(others[index] ?? [])])] : ids,
  )
}

/** The ids of the most recent at each device: one that applies by several blocks counts once. */
function mostRecentAt(devices: readonly Device[], placed: readonly Placed[]): string[][] {
  const inBlock = Map.groupBy(placed, ({ block }) => block)
  return devices.map(({ blocks }) => {
    const there = blocks.flatMap((block) => inBlock.get(block) ?? []).toSorted(newestFirst)
    return [...new Set(there.map(({ id }) => id))].slice(0, credentialLimits.selected)
  })
}

/** Times are ISO texts, which compare as they are. */
function newestFirst(a: Placed, b: Placed): number {
  const [first, second] = [a, b].map(({ modifiedAt, id }) => `${modifiedAt} ${id}`)
  return (second ?? '') < (first ?? '') ? -1 : 1
}

function blocksOf(devices: readonly Device[]): string[] {
  return [...new Set(devices.flatMap(({ blocks }) => blocks))]
}

function candidateOf(row: SealedRow): Sealed {
  return {
    id: row.id,
    ranges: storedRanges(row.ipRanges),
    purpose: row.purpose,
    assetId: row.assetId,
    product: { identifier: row.resourceIdentifier, version: row.resourceVersion },
    modifiedAt: row.modifiedAt,
    row,
  }
}
