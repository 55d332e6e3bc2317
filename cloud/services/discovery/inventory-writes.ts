import { setTimeout } from 'node:timers/promises'
import { type AssetDocument, inventory } from '@millwright/api/inventory.ts'
import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import { onBehalfOf } from './gateway-caller.ts'

/** Why the inventory did not write an asset; `code` is the problem code. */
export type Refused = { problem: string; code?: string }

/** The outcome of writing one asset. */
export type Written = { assetId: string; outcome: 'created' | 'updated' | 'unchanged' } | Refused

type Writing = {
  assets: readonly AssetDocument[]
  source: { type: 'discovery' | 'assetlinkdiscovery'; value: string }
  /** The run that found the assets: recorded with identity conflicts. */
  discovery?: { jobId: string; runId: string }
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
      for (const [place, why] of refused) results[left[place]?.index ?? 0] = why
      left = left.filter((_, place) => !refused.has(place))
    }
  }
  return results.map((result) => result ?? { problem: 'It got no result' })
}

/** Which assets of a refused write are at fault; throws when it is none of them. */
function refusedIn(error: unknown, count: number): Map<number, Refused> {
  const refused = new Map<number, Refused>()
  if (!(error instanceof Problem) || error.status >= 500 || error.status === 429) throw error
  for (const { pointer, detail } of error.errors ?? []) {
    const [, place] = /^\/data\/assets\/(\d+)/.exec(pointer) ?? []
    if (place !== undefined && Number(place) < count) refused.set(Number(place), { problem: detail, code: error.code })
  }
  if (refused.size === 0) throw error
  return refused
}

async function apply(context: Context, caller: Caller, writing: Writing): Promise<Written[]> {
  const { assets, source, discovery, key } = writing
  const meta = { source, ...(discovery === undefined ? {} : { discovery }) }
  const { data } = await context.peers(inventory, caller).createAssets({
    body: { data: { assets: [...assets], meta } },
    headers: { 'idempotency-key': key },
  })
  // Gateways cannot read the status of a write; the platform can.
  const client = context.peers(inventory, onBehalfOf(caller.principal, caller))
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
    const { detail, title, code } = one ?? {}
    return { problem: detail ?? title ?? 'It was not applied', ...(code === undefined ? {} : { code }) }
  })
}
