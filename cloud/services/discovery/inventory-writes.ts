import { setTimeout } from 'node:timers/promises'
import { type AssetDocument, inventory } from '@millwright/api/inventory.ts'
import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'

/** What became of one asset: where it is now, or why it is not. */
export type Written = { assetId: string; outcome: 'created' | 'updated' | 'unchanged' } | { problem: string }

type Writing = {
  assets: readonly AssetDocument[]
  source: { type: 'discovery' | 'assetlinkdiscovery'; value: string }
  /** The same key again is the same write. */
  key: string
}

const statusWaitSeconds = 30
const pauseMs = 100

/**
 * Writes assets and waits until they are applied. One that the inventory does not take fails alone: it is left out, and
 * the others are written.
 */
export async function writeAssets(context: Context, caller: Caller, writing: Writing): Promise<Written[]> {
  const results = new Array<Written | undefined>(writing.assets.length)
  let left = writing.assets.map((asset, index) => ({ asset, index }))
  for (let attempt = 0; left.length > 0; attempt++) {
    try {
      const applied = await apply(context, caller, {
        ...writing,
        assets: left.map(({ asset }) => asset),
        key: `${writing.key}.${attempt}`,
      })
      for (const [place, { index }] of left.entries())
        results[index] = applied[place] ?? { problem: 'It got no result' }
      break
    } catch (error) {
      const refused = refusedIn(error, left.length)
      for (const [place, problem] of refused) results[left[place]?.index ?? 0] = { problem }
      left = left.filter((_, place) => !refused.has(place))
    }
  }
  return results.map((result) => result ?? { problem: 'It got no result' })
}

/** Which assets of a refused write are at fault; throws when it is none of them. */
function refusedIn(error: unknown, count: number): Map<number, string> {
  const refused = new Map<number, string>()
  if (!(error instanceof Problem) || error.status >= 500 || error.status === 429) throw error
  for (const { pointer, detail } of error.errors ?? []) {
    const [, place] = /^\/data\/assets\/(\d+)/.exec(pointer) ?? []
    if (place !== undefined && Number(place) < count) refused.set(Number(place), detail)
  }
  if (refused.size === 0) throw error
  return refused
}

async function apply(context: Context, caller: Caller, { assets, source, key }: Writing): Promise<Written[]> {
  const client = context.peers(inventory, caller)
  const { data } = await client.createAssets({
    body: { data: { assets: [...assets], meta: { source } } },
    headers: { 'idempotency-key': key },
  })
  for (;;) {
    const { data: status } = await client.readStatus({
      params: { id: data.statusId },
      query: { wait: statusWaitSeconds },
    })
    if (status.state !== 'queued') return resultsOf(status.detail.result, assets.length)
    // Whoever stops answers before the time is over.
    if (context.stopping.aborted) throw new Problem('unavailable', 'The platform stops: it goes on at the next start')
    await setTimeout(pauseMs)
  }
}

function resultsOf(result: unknown, count: number): Written[] {
  const each = Array.isArray(result) ? result : Array.from({ length: count }, () => result)
  return each.map((one: { assetId?: string; outcome?: string } & Partial<ProblemDocument>): Written => {
    const { assetId, outcome } = one ?? {}
    if (assetId !== undefined && (outcome === 'created' || outcome === 'updated' || outcome === 'unchanged'))
      return { assetId, outcome }
    return { problem: one?.detail ?? one?.title ?? 'It was not applied' }
  })
}
