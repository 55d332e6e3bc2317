import { type AssetChange, changeLimits } from '@millwright/api/inventory/changes.ts'
import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handlers } from '../../../platform/service.ts'
import { NodeSets } from '../assets/node-sets.ts'
import type { InventoryContext } from '../context.ts'
import { readableGroups } from '../visibility.ts'
import { classifyAssets } from '../visibility-store.ts'
import { describeChanges, listChanges } from './change-list.ts'
import * as store from './change-store.ts'

type Names = 'listChanges' | 'countChanges' | 'listChangeAuthors' | 'readChange' | 'readLastChanges'

type Selected = Omit<store.ChangeSelection, 'groups' | 'nodes'> & { hierarchyNode?: string }

/** Handlers that list the changes of all assets, each for the assets that the caller can read. */
export function changeHandlers({ database, context }: InventoryContext): Pick<Handlers<typeof inventory>, Names> {
  const nodeSets = new NodeSets(context)
  const selectionOf = async (caller: Caller, selected: Selected): Promise<store.ChangeSelection> => {
    const { hierarchyNode, ...rest } = selected
    const { nodes } = await nodeSets.resolve(caller, {
      hierarchyNode,
      includeBelow: hierarchyNode !== undefined,
      unassignedIn: undefined,
    })
    return { ...rest, groups: readableGroups(caller), ...(nodes === undefined ? {} : { nodes }) }
  }
  return {
    async listChanges({ body: { data } }, caller) {
      const { before, limit, isGrouped, ...selected } = data
      const selection = await selectionOf(caller, selected)
      const page = { limit, isGrouped, ...(before === undefined ? {} : { before }) }
      const { changes, next } = await database.read(caller, (handle) => listChanges(handle, selection, page))
      return { data: changes, meta: next === undefined ? {} : { next } }
    },

    async countChanges({ body: { data } }, caller) {
      const { bucketSeconds, ...selected } = data
      const selection = await selectionOf(caller, selected)
      return { data: await database.read(caller, (handle) => store.countChanges(handle, selection, bucketSeconds)) }
    },

    async listChangeAuthors({ body: { data } }, caller) {
      const selection = { ...data, groups: readableGroups(caller) }
      return database.read(caller, async (handle) => {
        const authors = await store.listAuthors(handle, selection, changeLimits.people)
        const ids = authors.map(({ id }) => id)
        const { hidden } = await classifyAssets(handle, ids, selection.groups)
        return { data: authors.filter(({ id }) => !hidden.includes(id)) }
      })
    },

    async readChange({ params: { assetId, version } }, caller) {
      return database.read(caller, async (handle) => {
        const groups = readableGroups(caller)
        const row = await store.findChange(handle, { assetId, version: Number(version) }, groups)
        if (row === undefined) throw new Problem('not_found', `Asset ${assetId} has no change ${version}`)
        const [change] = await describeChanges(handle, [row], groups)
        return { data: { ...(change as AssetChange), before: row.before, after: row.after } }
      })
    },

    async readLastChanges({ body: { data } }, caller) {
      return database.read(caller, async (handle) => {
        const groups = readableGroups(caller)
        const rows = await store.listLastChanges(handle, [...new Set(data.ids)], groups)
        const changes = await describeChanges(handle, rows, groups)
        return {
          data: changes.map(({ version: _version, type: _type, cause: _cause, ...change }) => change),
        }
      })
    },
  }
}
