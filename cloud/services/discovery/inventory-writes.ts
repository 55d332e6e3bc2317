import { setTimeout } from 'node:timers/promises'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { type AssetDocument, inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import { onBehalfOf } from './gateway-caller.ts'

/**
 * The reason why the inventory refused an asset: the problem text, the problem code and the invalid fields of the
 * asset.
 */
export type RefusedAsset = { problem: string; code?: string } & Pick<DeviceError, 'fields'>

/** The result of writing one asset. */
export type WriteResult = { assetId: string; outcome: 'created' | 'updated' | 'unchanged' } | RefusedAsset

type WriteOptions = {
  assets: readonly AssetDocument[]
  source: { type: 'discovery' | 'assetlinkdiscovery'; value: string }
  /** The run that found the assets. Identity conflicts refer to this run. */
  discovery?: { jobId: string; runId: string }
  /** The campaign that updated the device. */
  campaign?: { id: string; name: string }
  /** The idempotency key of the write. */
  key: string
}

const statusWaitSeconds = 30
const pauseMs = 100

/** Writes assets and waits until they are applied. Each asset gets its own result. */
export async function writeAssets(context: Context, caller: Caller, writing: WriteOptions): Promise<WriteResult[]> {
  const { assets, source, discovery, campaign, key } = writing
  if (assets.length === 0) return []
  const meta = {
    source,
    ...(discovery === undefined ? {} : { discovery }),
    ...(campaign === undefined ? {} : { campaign }),
  }
  const { data } = await context.peers(inventory, caller).createAssets({
    body: { data: { assets: [...assets], meta } },
    headers: { 'idempotency-key': key },
  })
  // The platform reads the status of the write, because gateways have no permission to read it.
  const client = context.peers(inventory, onBehalfOf(caller.principal, caller))
  for (;;) {
    const { data: status } = await client.readStatus({
      params: { id: data.statusId },
      query: { wait: statusWaitSeconds },
    })
    if (status.state !== 'queued') return resultsOf(status.detail.result, assets.length)
    // While the server stops, `readStatus` responds before the end of the wait, although the write is still queued.
    if (context.stopping.aborted)
      throw new Problem('unavailable', 'The platform is stopping. The write continues after the next start.')
    await setTimeout(pauseMs)
  }
}

/** The maximum number of fields in a refused asset, and the maximum length of their texts. */
const limits = { fields: 100, text: 1_000 } as const

/**
 * Converts a problem of the inventory to a refused asset. In the result, the pointers of the fields are relative to the
 * asset, not to the batch.
 */
function refusedOf({ errors = [], code, detail, title }: Partial<ProblemDocument>): RefusedAsset {
  const fields = errors
    .map((error) => ({ pointer: error.pointer.replace(/^\/data\/assets\/\d+/, ''), detail: error.detail }))
    .filter(({ pointer }) => pointer !== '')
  const subject = fields.length === 1 ? 'A field of the device is' : `${fields.length} fields of the device are`
  return {
    problem: fields.length > 0 ? `${subject} not valid` : (detail ?? title ?? 'The asset was not applied'),
    ...(code === undefined ? {} : { code }),
    ...(fields.length === 0 ? {} : { fields: fields.slice(0, limits.fields).map(shortened) }),
  }
}

/**
 * The text that the report of a run shows. It replaces the error text of the inventory, which is written for the client
 * that sent the write request.
 */
const identityTaken =
  'The identifiers of this device belong to an asset that the gateway cannot change. To allow the change, grant the gateway a role that can write assets in the access group of that asset.'

/** Returns why the inventory refused a device, and what to do. */
export function descriptionOf({ code, problem }: RefusedAsset): string {
  return code === 'identity_taken' ? identityTaken : problem
}

function shortened({ pointer, detail }: { pointer: string; detail: string }) {
  return { pointer: pointer.slice(0, limits.text), detail: detail.slice(0, limits.text) }
}

function resultsOf(result: unknown, count: number): WriteResult[] {
  const each = Array.isArray(result) ? result : Array.from({ length: count }, () => result)
  return each.map((one: { assetId?: string; outcome?: string } & Partial<ProblemDocument>): WriteResult => {
    const { assetId, outcome } = one ?? {}
    if (assetId !== undefined && (outcome === 'created' || outcome === 'updated' || outcome === 'unchanged'))
      return { assetId, outcome }
    return refusedOf(one ?? {})
  })
}
