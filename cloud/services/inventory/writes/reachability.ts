import type { Caller } from '../../../platform/access/caller.ts'
import type { Database } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { setState, stateOf } from '../assets/asset.ts'
import { lockCheckedAssets, putReachabilityTimes } from '../assets/reachability-store.ts'
import { mayWrite } from './writing.ts'

/**
 * This file records checks that found the reachability state that an asset already has. Only the time of the state changes. The
 * asset keeps its version, and there is no history entry, no event and no audit entry, because checks are repeated every few
 * minutes. Therefore these writes do not use the queue.
 */

/** The maximum number of assets in one transaction, so that other writes of these assets do not wait long. */
const assetsPerTransaction = 200

export type CheckedState = { assetId: string; state: 'reached' | 'failed' }

type Checks = { states: readonly CheckedState[]; checkedAt: string }

/**
 * Sets the time of the state of assets whose state is the same. A time is never set back. Returns the states that differ from
 * those of their assets, and those of assets that the caller cannot write.
 */
export async function confirmReachability(
  database: Database,
  caller: Caller,
  { states, checkedAt }: Checks,
): Promise<CheckedState[]> {
  const others: CheckedState[] = []
  for (let start = 0; start < states.length; start += assetsPerTransaction) {
    const some = states.slice(start, start + assetsPerTransaction)
    const same = await database.transaction(caller, async (tx) => {
      const wanted = new Map(some.map(({ assetId, state }) => [assetId, state]))
      const assets = (await lockCheckedAssets(tx, [...wanted.keys()])).flatMap(({ id, accessGroupId, document }) => {
        const parsed = JSON.parse(document) as Record<string, unknown>
        const state = stateOf(parsed, 'reachability_state')
        const isSame = state !== undefined && state.state_value === wanted.get(id)
        return isSame && mayWrite(caller.rights, accessGroupId) ? [{ id, document: parsed, state }] : []
      })
      const older = assets.filter(({ state }) => Date.parse(state.state_timestamp) < Date.parse(checkedAt))
      await putReachabilityTimes(
        tx,
        older.map(({ id, document, state }) => {
          const value = state.state_value
          const after = setState(document, { state: 'reachability_state', value, now: checkedAt })
          return { id, document: jsonText(after), time: checkedAt }
        }),
      )
      return new Set(assets.map(({ id }) => id))
    })
    others.push(...some.filter(({ assetId }) => !same.has(assetId)))
  }
  return others
}
