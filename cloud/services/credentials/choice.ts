import { type CredentialRequest, credentialLimits } from '@millwright/api/credentials-shapes.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type BlockInstance, recentOfProduct, recentOfSchema } from './address-block-store.ts'
import { holdInstances, type InstanceRow, type SealedRow } from './instance-store.ts'
import { type Address, blockKeysContaining, parseAddress, showAddress, storedRanges } from './ip-range.ts'
import { findSchemaIdsOfProduct } from './schema-store.ts'
import { applies, type Candidate, select, selectOfTemplate } from './selection.ts'
import { instanceIdsOfTemplate } from './template-store.ts'
import { findAssociated, findFailures } from './use-store.ts'

/** A device of a scan, with the address blocks that contain its address. */
export type Device = { parsed: Address; address: string; blocks: readonly string[]; assetIds: readonly string[] }

export type SealedCandidate = Candidate & { row: SealedRow }

export type Choice = {
  device: Device
  known: boolean
  chosen: readonly SealedCandidate[]
  /** Associated instances that are not delivered, because they do not apply to this address or this link. */
  withheld: readonly SealedCandidate[]
}

type Product = CredentialRequest['product']

/**
 * Returns the device of a request. Returns `undefined` if the address is invalid, because no IP range contains an
 * invalid address.
 */
export function deviceOf({ address, assetIds = [] }: CredentialRequest['devices'][number]): Device | undefined {
  const parsed = parseAddress(address)
  return parsed && { parsed, address: showAddress(parsed), blocks: blockKeysContaining(parsed), assetIds }
}

/**
 * Chooses the instances for each device. The number of statements does not depend on the number of devices. The chosen
 * instances stay locked until the end of the transaction.
 */
export async function choose(
  tx: Transaction,
  {
    gatewayId,
    product,
    instancesTemplateId,
    instanceId,
  }: Pick<CredentialRequest, 'gatewayId' | 'product' | 'instancesTemplateId' | 'instanceId'>,
  devices: readonly Device[],
): Promise<Choice[]> {
  if (instanceId !== undefined) return chooseTested(tx, { product, instanceId }, devices)
  if (instancesTemplateId !== undefined)
    return chooseOfTemplate(tx, { gatewayId, product, templateId: instancesTemplateId }, devices)
  const associations = await findAssociated(tx, gatewayId, devices)
  const recent = await recentFor(tx, product, devices)
  const ids = new Set([...associations.flatMap((records) => [...records.keys()]), ...recent.flat()])
  const held = new Map((await holdInstances(tx, [...ids])).map((row) => [row.id, candidateOf(row)]))
  return devices.map((device, index) => {
    const target = { address: device.parsed, product }
    const associated = [...(associations[index] ?? [])].flatMap(([id, record]) => {
      const candidate = held.get(id)
      return candidate === undefined ? [] : [{ ...candidate, ...record }]
    })
    const withheld = associated.filter((one) => !applies(one, target))
    const candidates = (recent[index] ?? []).flatMap((id) => held.get(id) ?? [])
    return { device, withheld, ...select(target, { associated, recent: candidates }) }
  })
}

/**
 * Chooses one instance for its test. The instance can be for any purpose, but its product and its ranges must match. Copies
 * that are assigned to assets are not tested.
 */
async function chooseTested(
  tx: Transaction,
  { product, instanceId }: { product: Product; instanceId: string },
  devices: readonly Device[],
): Promise<Choice[]> {
  const candidates = (await holdInstances(tx, [instanceId])).map(candidateOf)
  return devices.map((device) => {
    const target = { address: device.parsed, product }
    const matches = (one: Candidate) => one.assetId === null && applies({ ...one, purpose: null }, target)
    const withheld = candidates.filter((one) => !matches(one))
    return { device, known: false, chosen: candidates.filter(matches), withheld }
  })
}

type TemplateChoice = { gatewayId: string; product: Product; templateId: string }

/**
 * Chooses the instances of a template for each device: first those that worked at its address, then the most recently changed
 * ones. Instances that the device rejected recently are left out, because monitoring asks often. Other instances are not used, also if they are assigned to the asset.
 */
async function chooseOfTemplate(
  tx: Transaction,
  { gatewayId, product, templateId }: TemplateChoice,
  devices: readonly Device[],
): Promise<Choice[]> {
  const ids = await instanceIdsOfTemplate(tx, templateId, product.identifier, credentialLimits.templateInstances)
  const candidates = (await holdInstances(tx, ids)).map(candidateOf)
  const ofAddresses = devices.map(({ address }) => ({ address, assetIds: [] }))
  const associations = await findAssociated(tx, gatewayId, ofAddresses)
  const addresses = [...new Set(devices.map(({ address }) => address))]
  const since = new Date(Date.now() - credentialLimits.rejectedMinutes * 60_000).toISOString()
  const failures = await findFailures(tx, { gatewayId, instanceIds: ids, addresses, since })
  return devices.map((device, index) => {
    const target = { address: device.parsed, product }
    const worked = associations[index] ?? new Map<string, never>()
    const failed = new Map((failures.get(device.address) ?? []).map((record) => [record.instanceId, record]))
    return { device, withheld: [], ...selectOfTemplate(target, { candidates, worked, failed }) }
  })
}

/**
 * Returns the ids of the most recently changed instances for each device. Instances for other versions of the product
 * are used only for devices that have too few instances for the requested version.
 */
async function recentFor(tx: Transaction, product: Product, devices: readonly Device[]): Promise<string[][]> {
  const ofVersion: BlockInstance[] = []
  for (const schemaId of await findSchemaIdsOfProduct(tx, product)) {
    ofVersion.push(...(await recentOfSchema(tx, schemaId, blocksOf(devices))))
  }
  const recent = mostRecentAt(devices, ofVersion)
  const few = devices.filter((_, index) => (recent[index]?.length ?? 0) < credentialLimits.selected)
  if (few.length === 0) return recent
  const others = mostRecentAt(devices, await recentOfProduct(tx, product.identifier, blocksOf(few)))
  return recent.map((ids, index) =>
    ids.length < credentialLimits.selected ? [...new Set([...ids, ...(others[index] ?? [])])] : ids,
  )
}

/**
 * Returns, for each device, the ids of the most recently changed instances in its address blocks. An instance that
 * applies through several blocks is returned once.
 */
function mostRecentAt(devices: readonly Device[], placed: readonly BlockInstance[]): string[][] {
  const inBlock = Map.groupBy(placed, ({ block }) => block)
  return devices.map(({ blocks }) => {
    const matching = blocks.flatMap((block) => inBlock.get(block) ?? []).toSorted(newestFirst)
    return [...new Set(matching.map(({ id }) => id))].slice(0, credentialLimits.selected)
  })
}

/** Compares two instances by their time of change, newest first. ISO times can be compared as text. */
function newestFirst(a: BlockInstance, b: BlockInstance): number {
  const [first, second] = [a, b].map(({ modifiedAt, id }) => `${modifiedAt} ${id}`)
  return (second ?? '') < (first ?? '') ? -1 : 1
}

function blocksOf(devices: readonly Device[]): string[] {
  return [...new Set(devices.flatMap(({ blocks }) => blocks))]
}

/** Returns the fields of an instance that the selection reads. */
export function candidateOf<Row extends InstanceRow>(row: Row): Candidate & { row: Row } {
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
