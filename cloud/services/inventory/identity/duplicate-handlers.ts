import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../../platform/access/permission-denied.ts'
import { mayIn } from '../../../platform/access/rights.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { lockAssets } from '../relations/relation-store.ts'
import { readableGroups } from '../visibility.ts'
import { pairOf, showDuplicate } from './duplicate.ts'
import * as store from './duplicate-store.ts'

type Names = 'listDuplicates' | 'dismissDuplicate'

/** Handlers of suspected duplicates. A pair is visible to callers who can read both assets. */
export function duplicateHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  return {
    async listDuplicates({ query: { asset, dismissed = false, limit = 50, offset = 0 } }, caller) {
      const options = { groups: readableGroups(caller), asset, dismissed, limit, offset }
      const { rows, total } = await database.read(caller, (handle) => store.listDuplicates(handle, options))
      return { data: rows.map(showDuplicate), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async dismissDuplicate({ body: { data } }, caller) {
      const { asset, other, dismissed = true } = data
      return database.transaction(caller, async (tx) => {
        const groups = await lockAssets(tx, [asset, other], readableGroups(caller))
        requireReadable(data, groups)
        await requireWritable(tx, caller, groups.values())
        const pair = pairOf(asset, other)
        const row = await store.dismissDuplicate(tx, { ...pair, dismissed })
        if (row === undefined) throw new Problem('not_found', 'These assets are not a suspected duplicate pair')
        const action = dismissed ? 'dismissed' : 'reopened'
        await emit(tx, { type: `inventory.duplicate.${action}`, subject: `asset/${pair.assetId}`, data: { ...pair } })
        await record(tx, caller, {
          action: 'inventory.dismissDuplicate',
          target: `asset/${pair.assetId}`,
          detail: { other: pair.otherId, dismissed },
        })
        return { data: showDuplicate(row) }
      })
    },
  }
}

function requireReadable(pair: { asset: string; other: string }, readable: { has(id: string): boolean }): void {
  const errors = (['asset', 'other'] as const)
    .filter((field) => !readable.has(pair[field]))
    .map((field): FieldError => {
      const detail = `Asset ${pair[field]} does not exist`
      return { pointer: `/data/${field}`, code: 'asset_not_found', detail }
    })
  if (errors[0] !== undefined) throw new Problem('asset_not_found', errors[0].detail, { errors })
}

async function requireWritable(handle: Handle, caller: Caller, groups: Iterable<string>): Promise<void> {
  const permission = 'inventory_write_asset_data'
  const accessGroupId = [...groups].find((group) => !mayIn(caller, permission, group))
  if (accessGroupId !== undefined) throw await permissionDeniedIn(handle, caller, { permission, accessGroupId })
}
