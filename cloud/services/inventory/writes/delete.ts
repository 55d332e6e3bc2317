import { Precondition } from '../assets/asset-tag.ts'
import type { Decision } from './change-set.ts'
import type { DeletePayload } from './write.ts'
import { applyItem, type KindRules, requireAsset, type Writing } from './writing.ts'

/** Deletion of assets. The applier ends their relations, in several transactions if there are many. */
export const deletion: KindRules<DeletePayload> = {
  isAlone: false,

  needs: ({ ids }) => ({ keys: [], assetIds: ids, accessGroupIds: [], allRelations: true }),

  async apply(writing, { ids, ifMatch }) {
    const precondition = new Precondition(ifMatch)
    const results: unknown[] = []
    for (const [index, assetId] of ids.entries()) {
      await writing.yieldTurn()
      const pointer = `/data/ids/${index}`
      results.push(await applyItem(writing, () => deleteAsset(writing, { assetId, precondition, pointer })))
    }
    return results
  },
}

type DeleteOptions = { assetId: string; precondition: Precondition; pointer: string }
type DeleteResult = { assetId: string; outcome: 'deleted' }

async function deleteAsset(
  writing: Writing,
  { assetId, precondition, pointer }: DeleteOptions,
): Promise<Decision<DeleteResult>> {
  const asset = await requireAsset(writing, assetId, pointer)
  precondition.require(asset)
  const cause = { actor: writing.sender, source: { type: 'manual' }, time: new Date().toISOString() }
  return { result: { assetId, outcome: 'deleted' }, changes: [{ type: 'delete asset', asset, cause }] }
}
