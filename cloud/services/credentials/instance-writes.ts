import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import { putAddressBlocks } from './address-block-store.ts'
import { missingInstance } from './instance.ts'
import {
  addVersion,
  findInstance,
  type InstanceRow,
  insertInstance,
  type SealedRow,
  updateInstance,
} from './instance-store.ts'
import { blockKeysOf, type Range, showRange, storedRanges } from './ip-range.ts'

type NewInstance = Pick<
  SealedRow,
  'id' | 'schemaId' | 'name' | 'shown' | 'sealed' | 'purpose' | 'assetId' | 'copiedFrom'
> & { ranges: readonly Range[] }

/** Inserts an instance, its address blocks and the first version of its history. */
export async function addInstance(tx: Transaction, caller: Caller, instance: NewInstance): Promise<InstanceRow> {
  const { ranges, ...row } = instance
  const { name: createdBy } = caller.principal
  await insertInstance(tx, { ...row, ipRanges: ranges.map(showRange), createdBy })
  await putAddressBlocks(tx, row.id, blockKeysOf(ranges))
  const change = row.copiedFrom === null ? 'created' : 'copied'
  await addVersion(tx, row.id, { version: 1, change, fields: [], changedBy: createdBy })
  return stored(tx, row.id)
}

type Change = { after: SealedRow; fields: string[]; change: 'updated' | 'mapped' }

/** Updates an instance and its address blocks, and adds the changed fields to its history. */
export async function changeInstance(
  tx: Transaction,
  caller: Caller,
  { after, fields, change }: Change,
): Promise<InstanceRow> {
  const { name: changedBy } = caller.principal
  await updateInstance(tx, { ...after, modifiedBy: changedBy })
  await putAddressBlocks(tx, after.id, blockKeysOf(storedRanges(after.ipRanges)))
  const row = await stored(tx, after.id)
  await addVersion(tx, row.id, { version: row.version, change, fields, changedBy })
  return row
}

async function stored(tx: Transaction, id: string): Promise<InstanceRow> {
  const row = await findInstance(tx, id)
  if (row === undefined) throw missingInstance(id)
  return row
}

type InstanceEvent = {
  action: string
  event: 'created' | 'updated' | 'deleted' | 'mapped' | 'unmapped' | 'assigned' | 'unassigned'
  row: InstanceRow
  /** Details of the change: names and ids, never credential values. */
  detail?: Record<string, unknown>
}

export async function reportChange(
  tx: Transaction,
  caller: Caller,
  { action, event, row, detail }: InstanceEvent,
): Promise<void> {
  const target = `credential-instance/${row.id}`
  const data = { schemaId: row.schemaId, name: row.name, version: row.version, ...detail }
  await record(tx, caller, { action: `credentials.${action}`, target, detail: data })
  await emit(tx, { type: `credentials.instance.${event}`, subject: target, data })
}
