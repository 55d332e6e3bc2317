import { inventory } from '@millwright/api/inventory/inventory.ts'
import { inventoryV1 } from '@millwright/api/inventory-v1.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Document, PlainObject } from '../../platform/plain-object.ts'
import { answer, type Handlers, service } from '../../platform/service.ts'
import { fromV1, mergePatch } from './asset.ts'
import {
  changedAsset,
  otherFields,
  requireBounded,
  requireKnownStates,
  requireNotCleared,
  writtenAsset,
} from './change.ts'
import { findV1Asset, readAll, readV1Asset } from './reading.ts'
import { deleteAsset, putAsset } from './writing.ts'

/**
 * Version 1 of the inventory API. The service stores nothing: it converts each request to version 2 and sends it to the
 * inventory service with the rights of the caller.
 */
export const inventoryV1Service = service({
  contract: inventoryV1,
  handlers({ peers }): Handlers<typeof inventoryV1> {
    const peerOf = (caller: Caller) => peers(inventory, caller)
    return {
      listAssets: (_, caller) => readAll(peerOf(caller)),

      async readAsset({ params: { id } }, caller) {
        const { document, etag } = await readV1Asset(peerOf(caller), id)
        return answer(200, document, { etag })
      },

      async createAsset({ body, headers }, caller) {
        requireBounded(body)
        const peer = peerOf(caller)
        const after = fromV1(body)
        requireKnownStates(after.asset)
        const write = { asset: writtenAsset(after), ...otherFields(after) }
        const { id, isNew } = await putAsset(peer, write, { document: body, ifMatch: headers['if-match'] })
        // A caller who may write but not read the asset gets only its id.
        const { document = { id }, etag }: { document?: Document; etag?: string } = (await findV1Asset(peer, id)) ?? {}
        const location = `${inventoryV1.prefix}/assets/${id}`
        return answer(isNew ? 201 : 200, document, { location, ...(etag === undefined ? {} : { etag }) })
      },

      async updateAsset({ params: { id }, body, headers }, caller) {
        requireBounded(body)
        const peer = peerOf(caller)
        const before = await readV1Asset(peer, id)
        requireNotCleared(before.document, body)
        const current = fromV1(before.document)
        const merged = mergePatch(before.document, body) as PlainObject
        const after = fromV1(merged)
        if (after.gatewayId !== current.gatewayId) {
          throw new Problem('system_managed_predicate', '/gateway cannot be changed: only discovery sets it')
        }
        requireKnownStates(after.asset)
        const write = { asset: changedAsset(current, after), assetId: id, ...otherFields(after, current) }
        await putAsset(peer, write, { document: merged, ifMatch: headers['if-match'] })
        const { document, etag } = await readV1Asset(peer, id)
        return answer(200, document, { etag })
      },

      async deleteAsset({ params: { id }, headers }, caller) {
        await deleteAsset(peerOf(caller), id, headers['if-match'])
        return answer(204)
      },
    }
  },
})
