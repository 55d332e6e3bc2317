import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { recordAll } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emitAll } from '../../platform/events/events.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import * as store from './deleted-asset-store.ts'
import { deleteInstance, findCopy } from './instance-store.ts'
import { changeInstance, reportChange } from './instance-writes.ts'
import { lock } from './instances.ts'
import { copiesForAssets } from './use-store.ts'

const everyMs = 5 * 60_000
/** The number of assets in one request to the inventory. */
const batch = 1_000
const lowestId = '00000000-0000-0000-0000-000000000000'

/** Deletes the copies and associations of deleted assets, so that no secret exists longer than its device. */
export function deletedAssetTasks(context: Context): TaskKinds {
  return {
    'credentials.forget': {
      periodic: { everyMs, pending: store.anyHeld },
      async run({ tenantId, signal }) {
        const tenant = await context.tenants.byId(tenantId)
        await removeDeletedAssets(context, systemCaller({ tenantId, tenantName: tenant?.name ?? '' }), signal)
      },
    },
  }
}

async function removeDeletedAssets({ database, peers }: Context, caller: Caller, signal: AbortSignal): Promise<void> {
  for (let after: string | undefined = lowestId; after !== undefined && !signal.aborted; ) {
    const page: { after: string; limit: number } = { after, limit: batch }
    const assets = await database.read(caller, (handle) => store.heldAssets(handle, page))
    if (assets.length === 0) return
    const { data: deletedAssets } = await peers(inventory, caller).findGone({ body: { data: { assets } } })
    if (deletedAssets.length > 0) await database.transaction(caller, (tx) => removeAssets(tx, caller, deletedAssets))
    after = assets.length < batch ? undefined : assets.at(-1)
  }
}

async function removeAssets(
  tx: Transaction,
  caller: Caller,
  deletedAssets: readonly store.DeletedAsset[],
): Promise<void> {
  const deleted = deletedAssets.filter(({ mergedInto }) => mergedInto === undefined).map(({ assetId }) => assetId)
  await reportDeletedCopies(tx, caller, await store.deleteCopies(tx, deleted))
  for (const { assetId, mergedInto } of deletedAssets)
    if (mergedInto !== undefined) await moveCopies(tx, caller, { assetId, mergedInto })
  await reportEndedUses(tx, caller, await store.endAssociations(tx, deletedAssets))
}

/**
 * Moves the copies of a merged asset to the remaining asset. If both assets have a copy of the same instance, the copy of
 * the remaining asset stays and the other copy is deleted.
 */
async function moveCopies(tx: Transaction, caller: Caller, { assetId, mergedInto }: Required<store.DeletedAsset>) {
  for (const { id } of await copiesForAssets(tx, [assetId])) {
    const before = await lock(tx, id)
    const own = before.copiedFrom === null ? undefined : await findCopy(tx, mergedInto, before.copiedFrom)
    if (own !== undefined) {
      await deleteInstance(tx, id)
      const detail = { assetId, mergedInto }
      await reportChange(tx, caller, { action: 'unassignInstance', event: 'unassigned', row: before, detail })
      continue
    }
    const after = { ...before, assetId: mergedInto }
    const row = await changeInstance(tx, caller, { after, fields: ['assetId'], change: 'updated' })
    const detail = { assetId: mergedInto, mergedFrom: assetId }
    await reportChange(tx, caller, { action: 'assignInstance', event: 'assigned', row, detail })
  }
}

async function reportDeletedCopies(tx: Transaction, who: Caller, copies: readonly store.DeletedCopy[]): Promise<void> {
  if (copies.length === 0) return
  const copyEvents = copies.map(({ id, ...data }) => ({ subject: `credential-instance/${id}`, data }))
  await recordAll(
    tx,
    copyEvents.map(({ subject, data }) => ({
      who,
      action: 'credentials.unassignInstance',
      target: subject,
      detail: { ...data, reason: 'asset_deleted' },
    })),
  )
  await emitAll(
    tx,
    copyEvents.map((copy) => ({ type: 'credentials.instance.unassigned', ...copy })),
  )
}

/** Writes an audit entry for each asset, and an event for each association. */
async function reportEndedUses(tx: Transaction, who: Caller, uses: readonly store.EndedUse[]): Promise<void> {
  if (uses.length === 0) return
  await recordAll(
    tx,
    [...Map.groupBy(uses, ({ assetId }) => assetId)].map(([assetId, own]) => ({
      who,
      action: 'credentials.endAssociations',
      target: `asset/${assetId}`,
      detail: { mergedInto: own[0]?.mergedInto, instanceIds: [...new Set(own.map(({ instanceId }) => instanceId))] },
    })),
  )
  await emitAll(
    tx,
    uses.map(({ instanceId, mergedInto, ...data }) => ({
      type: `credentials.instance.${mergedInto === null ? 'dissociated' : 'associated'}`,
      subject: `credential-instance/${instanceId}`,
      data: mergedInto === null ? data : { ...data, assetId: mergedInto, mergedFrom: data.assetId },
    })),
  )
}
