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

/** Writes assets and waits until they are applied. Each asset gets its own result. */
export async function writeAssets(context: Context, caller: Caller, writing: Writing): Promise<Written[]> {
  const { assets, source, discovery, key } = writing
  if (assets.length === 0) return []
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

/** Names the fields of the asset that are wrong, without their place in the batch. */
function reasonOf({ errors = [], detail, title }: Partial<ProblemDocument>): string {
  const fields = errors.map((error) => `${error.pointer.replace(/^\/data\/assets\/\d+/, '')} ${error.detail}`.trim())
  return fields.length > 0 ? fields.join('; ') : (detail ?? title ?? 'The asset was not applied')
}

function resultsOf(result: unknown, count: number): Written[] {
  const each = Array.isArray(result) ? result : Array.from({ length: count }, () => result)
  return each.map((one: { assetId?: string; outcome?: string } & Partial<ProblemDocument>): Written => {
    const { assetId, outcome } = one ?? {}
    if (assetId !== undefined && (outcome === 'created' || outcome === 'updated' || outcome === 'unchanged'))
      return { assetId, outcome }
    const { code } = one ?? {}
    return { problem: reasonOf(one ?? {}), ...(code === undefined ? {} : { code }) }
  })
}
