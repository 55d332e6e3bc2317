import { inventory } from '@millwright/api/inventory.ts'
import { inventoryV1 } from '@millwright/api/inventory-v1.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Document, PlainObject } from '../../platform/plain-object.ts'
import { answer, type Handlers, service } from '../../platform/service.ts'
import { fromV1, mergePatch } from './asset.ts'
import { changedAsset, requireBounded, requireKept, requireKnownStates, restOf, writtenAsset } from './change.ts'
import { findShown, readAll, readShown } from './reading.ts'
import { deleteAsset, putAsset } from './writing.ts'

/** Keeps nothing: every call is told to the inventory in terms of version 2, with the rights of the caller. */
export const inventoryV1Service = service({
  contract: inventoryV1,
  handlers({ peers }): Handlers<typeof inventoryV1> {
    const peerOf = (caller: Caller) => peers(inventory, caller)
    return {
      listAssets: (_, caller) => readAll(peerOf(caller)),

      readAsset: async ({ params: { id } }, caller) => (await readShown(peerOf(caller), id)).document,

      async createAsset({ body }, caller) {
        requireBounded(body)
        const peer = peerOf(caller)
        const after = fromV1(body)
        requireKnownStates(after.asset)
        const whole = { asset: writtenAsset(after), ...restOf(after) }
        const { id, isNew } = await putAsset(peer, whole, body)
        // Who may write but not read learns what it is called, and no more.
        const document: Document = (await findShown(peer, id))?.document ?? { id }
        return answer(isNew ? 201 : 200, document, { location: `${inventoryV1.prefix}/assets/${id}` })
      },

      async updateAsset({ params: { id }, body }, caller) {
        requireBounded(body)
        const peer = peerOf(caller)
        const before = await readShown(peer, id)
        requireKept(before.document, body)
        const was = fromV1(before.document)
        const merged = mergePatch(before.document, body) as PlainObject
        const after = fromV1(merged)
        if (after.gatewayId !== was.gatewayId) {
          throw new Problem('system_managed_predicate', 'Which gateway found an asset is told by discoveries only')
        }
        requireKnownStates(after.asset)
        await putAsset(peer, { asset: changedAsset(was, after), assetId: id, ...restOf(after, was) }, merged)
        return (await readShown(peer, id)).document
      },

      async deleteAsset({ params: { id } }, caller) {
        await deleteAsset(peerOf(caller), id)
        return answer(204)
      },
    }
  },
})
