import type { inventory } from '@millwright/api/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { mayIn } from '../../platform/access/rights.ts'
import type { Handle } from '../../platform/database/database.ts'
import type { Handlers } from '../../platform/service.ts'
import { findGroups } from './asset-store.ts'
import { matching } from './asset-writes.ts'
import { keyOf } from './identifier.ts'
import { findMerge, type ListedMerge, listMerges } from './merge-store.ts'
import { requireUndoable } from './merges.ts'
import { isReadable } from './relation-store.ts'
import type { Desk } from './service.ts'
import { acceptedAnswer } from './statuses.ts'
import { readableGroups } from './visibility.ts'

type Names = 'mergeAsset' | 'undoMerge' | 'splitAsset' | 'listMerges'
type Headers = Record<string, string | undefined>
type Write = { kind: string; action: string; assetId: string; payload: object; headers: Headers }

export function mergeWriteHandlers(desk: Desk): Pick<Handlers<typeof inventory>, Names> {
  const { database, acceptance } = desk

  const accept = async (caller: Caller, { kind, action, assetId, payload, headers }: Write) => {
    const id = await acceptance.accept(caller, {
      kind,
      action: `inventory.${action}`,
      target: `asset/${assetId}`,
      payload: { assetId, ...payload, ...matching(headers) },
    })
    return acceptedAnswer(desk, caller, { id, prefer: headers.prefer })
  }

  return {
    async mergeAsset({ params: { id }, body: { data }, headers }, caller) {
      const { other, prefer = 'this' } = data
      if (other === id) throw new Problem('conflict', 'An asset cannot be merged with itself')
      await database.read(caller, async (handle) => {
        const groups = await findGroups(handle, [id, other])
        requireReadable(caller, groups.get(id))
        if (!mayRead(caller, groups.get(other))) throw unknownOther(other)
        await requireWritable(handle, caller, [groups.get(id), groups.get(other)])
      })
      const payload = { otherId: other, prefer }
      return accept(caller, { kind: 'merge', action: 'mergeAsset', assetId: id, payload, headers })
    },

    async undoMerge({ params: { id, mergeId }, headers }, caller) {
      await database.read(caller, async (handle) => {
        const group = await requireWritableAsset(handle, caller, id)
        const merge = await findMerge(handle, { assetId: id, mergeId })
        if (merge === undefined || !mayRead(caller, merge.otherAccessGroupId))
          throw new Problem('not_found', 'There is no such merge into this asset')
        await requireWritable(handle, caller, [group, merge.otherAccessGroupId])
        requireUndoable(merge)
      })
      const payload = { mergeId }
      return accept(caller, { kind: 'undo-merge', action: 'undoMerge', assetId: id, payload, headers })
    },

    async splitAsset({ params: { id }, body: { data }, headers }, caller) {
      await database.read(caller, (handle) => requireWritableAsset(handle, caller, id))
      const { identifiers, name } = data
      const payload = { keys: identifiers.map(keyOf), ...(name === undefined ? {} : { name }) }
      return accept(caller, { kind: 'split', action: 'splitAsset', assetId: id, payload, headers })
    },

    async listMerges({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      return database.read(caller, async (handle) => {
        const groups = readableGroups(caller)
        if (!(await isReadable(handle, { id, groups }))) throw new Problem('not_found', 'There is no such asset')
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
  requireReadable(caller, group)
  await requireWritable(handle, caller, [group])
  return group
}

function mayRead(caller: Caller, group: string | undefined): boolean {
  return (
    group !== undefined &&
    (mayIn(caller, 'inventory_read_asset_data', group) || mayIn(caller, 'inventory_write_asset_data', group))
  )
}

/** Missing and hidden alike. */
function requireReadable(caller: Caller, group: string | undefined): void {
  if (!mayRead(caller, group)) throw new Problem('not_found', 'There is no such asset')
}

async function requireWritable(handle: Handle, caller: Caller, groups: readonly (string | undefined)[]): Promise<void> {
  const permission = 'inventory_write_asset_data'
  for (const accessGroupId of groups)
    if (accessGroupId !== undefined && !mayIn(caller, permission, accessGroupId))
      throw await permissionDeniedIn(handle, caller, { permission, accessGroupId })
}

function unknownOther(id: string): Problem {
  const detail = `${id} is not an asset that you can see`
  return new Problem('asset_not_found', `/data/other ${detail}`, {
    errors: [{ pointer: '/data/other', code: 'asset_not_found', detail }],
  })
}
