import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../../platform/access/permission-denied.ts'
import { mayIn } from '../../../platform/access/rights.ts'
import type { Handle } from '../../../platform/database/database.ts'
import type { Handlers } from '../../../platform/service.ts'
import { findGroups } from '../assets/asset-store.ts'
import type { InventoryContext } from '../context.ts'
import { keyOf } from '../identity/identifier.ts'
import { findMerge, type ListedMerge, listMerges } from '../identity/merge-store.ts'
import { isReadable } from '../relations/relation-store.ts'
import { readableGroups } from '../visibility.ts'
import { matching } from './handlers.ts'
import { requireUndoable } from './merge.ts'
import { acceptedAnswer } from './status.ts'
import type { Write } from './write.ts'

type Names = 'mergeAsset' | 'undoMerge' | 'splitAsset' | 'listMerges'
type Headers = Record<string, string | undefined>
type MergeWrite = Write<'merge' | 'undo-merge' | 'split'>

export function mergeHandlers(own: InventoryContext): Pick<Handlers<typeof inventory>, Names> {
  const { database, acceptor } = own

  const accept = async (
    caller: Caller,
    action: string,
    { write, headers }: { write: MergeWrite; headers: Headers },
  ) => {
    const target = `asset/${write.payload.assetId}`
    const id = await acceptor.accept(caller, { ...write, action: `inventory.${action}`, target })
    return acceptedAnswer(own, caller, { id, prefer: headers.prefer })
  }

  return {
    async mergeAsset({ params: { id }, body: { data }, headers }, caller) {
      const { other, prefer = 'this' } = data
      if (other === id) throw new Problem('conflict', 'An asset cannot be merged with itself')
      await database.read(caller, async (handle) => {
        const groups = await findGroups(handle, [id, other])
        requireReadable(caller, { id, group: groups.get(id) })
        if (!mayRead(caller, groups.get(other))) throw unknownOther(other)
        await requireWritable(handle, caller, [groups.get(id), groups.get(other)])
      })
      const payload = { assetId: id, otherId: other, prefer, ...matching(headers) }
      return accept(caller, 'mergeAsset', { write: { kind: 'merge', payload }, headers })
    },

    async undoMerge({ params: { id, mergeId }, headers }, caller) {
      await database.read(caller, async (handle) => {
        const group = await requireWritableAsset(handle, caller, id)
        const merge = await findMerge(handle, { assetId: id, mergeId })
        if (merge === undefined || !mayRead(caller, merge.otherAccessGroupId))
          throw new Problem('not_found', `Asset ${id} has no merge ${mergeId}`)
        await requireWritable(handle, caller, [group, merge.otherAccessGroupId])
        requireUndoable(merge)
      })
      const payload = { assetId: id, mergeId, ...matching(headers) }
      return accept(caller, 'undoMerge', { write: { kind: 'undo-merge', payload }, headers })
    },

    async splitAsset({ params: { id }, body: { data }, headers }, caller) {
      await database.read(caller, (handle) => requireWritableAsset(handle, caller, id))
      const { identifiers, name } = data
      const keys = identifiers.map(keyOf)
      const payload = { assetId: id, keys, ...(name === undefined ? {} : { name }), ...matching(headers) }
      return accept(caller, 'splitAsset', { write: { kind: 'split', payload }, headers })
    },

    async listMerges({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      return database.read(caller, async (handle) => {
        const groups = readableGroups(caller)
        if (!(await isReadable(handle, { id, groups }))) throw new Problem('not_found', `Asset ${id} does not exist`)
        const { rows, total } = await listMerges(handle, { assetId: id, groups, limit, offset })
        return { data: rows.map(showMerge), meta: { totalElements: total, elements: rows.length, offset } }
      })
    },
  }
}

function showMerge({ mergedAt, undoneAt, ...merge }: ListedMerge) {
  return { ...merge, mergedTimestamp: mergedAt, undoneTimestamp: undoneAt }
}

async function requireWritableAsset(handle: Handle, caller: Caller, id: string): Promise<string | undefined> {
  const group = (await findGroups(handle, [id])).get(id)
  requireReadable(caller, { id, group })
  await requireWritable(handle, caller, [group])
  return group
}

function mayRead(caller: Caller, group: string | undefined): boolean {
  return (
    group !== undefined &&
    (mayIn(caller, 'inventory_read_asset_data', group) || mayIn(caller, 'inventory_write_asset_data', group))
  )
}

/** Requires that the caller can read an asset of this group. Missing and hidden assets return the same error. */
function requireReadable(caller: Caller, { id, group }: { id: string; group: string | undefined }): void {
  if (!mayRead(caller, group)) throw new Problem('not_found', `Asset ${id} does not exist`)
}

async function requireWritable(handle: Handle, caller: Caller, groups: readonly (string | undefined)[]): Promise<void> {
  const permission = 'inventory_write_asset_data'
  for (const accessGroupId of groups)
    if (accessGroupId !== undefined && !mayIn(caller, permission, accessGroupId))
      throw await permissionDeniedIn(handle, caller, { permission, accessGroupId })
}

function unknownOther(id: string): Problem {
  const detail = `${id} is not an asset that the caller can read`
  return new Problem('asset_not_found', `/data/other ${detail}`, {
    errors: [{ pointer: '/data/other', code: 'asset_not_found', detail }],
  })
}
