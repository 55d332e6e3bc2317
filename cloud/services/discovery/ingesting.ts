import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { inventory } from '@millwright/api/inventory.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import type { Context } from '../../platform/service.ts'
import type { Task, TaskKinds } from '../../platform/tasks/tasks.ts'
import { tellUses } from './credential-uses.ts'
import {
  type Finding,
  findUpload,
  insertErrors,
  insertUpload,
  markIngested,
  nextUpload,
  type Place,
  putFindings,
  putGone,
  type Upload,
} from './finding-store.ts'
import { gatewayCaller, onBehalfOf } from './gateway-caller.ts'
import { type Refused, type Written, writeAssets } from './inventory-writes.ts'
import { findLink } from './link-store.ts'
import { systemOf, tellRun } from './running.ts'
import {
  addToRun,
  type DiscoveryRow,
  type Ending,
  findDiscovery,
  findRun,
  finishRun,
  lockRun,
  setEnding,
} from './store.ts'
import { cacheUpload, takeCachedUpload } from './upload-cache.ts'

const ingestKind = 'discovery.ingest'
/** Status codes of asset links, for devices that the inventory refuses. */
const invalidArgument = 3
const permissionDenied = 7

/** Keeps what a gateway handed in; it is worked on in the background, in order. False when it was handed in before. */
export async function keepUpload(
  context: Context,
  caller: Caller,
  { place, upload }: { place: Place; upload: Upload },
) {
  const printed = jsonText(upload)
  const isNew = await context.database.transaction(caller, async (tx) => {
    const isInserted = await insertUpload(tx, place, printed)
    if (isInserted) await enqueue(context, tx, place.runId)
    return isInserted
  })
  // Just as it is stored: what may have been replaced to be storable is read again.
  if (isNew && !printed.includes('\ufffd')) cacheUpload(context, place, upload)
  return isNew
}

/** The gateway is done: once everything it handed in is ingested, so is the run. */
export async function endRun(
  context: Context,
  caller: Caller,
  { runId, ending, message }: { runId: string; ending: Ending; message: string | undefined },
): Promise<void> {
  await context.database.transaction(caller, async (tx) => {
    await setEnding(tx, runId, { ending, message })
    await enqueue(context, tx, runId)
  })
}

async function enqueue(context: Context, tx: Transaction, runId: string): Promise<void> {
  await context.tasks.enqueue(tx, { kind: ingestKind, key: runId, payload: { runId } })
}

export function ingestingTasks(context: Context): TaskKinds {
  return {
    [ingestKind]: {
      maxAttempts: 50,
      async run(task) {
        const { runId } = task.payload as { runId: string }
        const caller = await systemOf(context, task.tenantId)
        const discovery = await discoveryOf(context, caller, runId)
        if (discovery === undefined) return
        await ingestAll(context, caller, { runId, discovery, signal: task.signal })
        if (!task.signal.aborted) await finish(context, caller, { runId, task, gatewayId: discovery.gatewayId })
      },
    },
  }
}

type Waiting = { runId: string; discovery: DiscoveryRow; signal: AbortSignal }

/** Everything that waits, in order. While one is noted, the inventory writes the next. */
async function ingestAll(context: Context, caller: Caller, { runId, discovery, signal }: Waiting): Promise<void> {
  let after: string | undefined
  let noting: Promise<void> = Promise.resolve()
  try {
    while (!signal.aborted) {
      const next = await context.database.read(caller, (handle) => nextUpload(handle, runId, after))
      if (next === undefined && after === undefined) return
      if (next === undefined) {
        // What another process kept a moment ago may stand before the last one.
        await noting
        after = undefined
        continue
      }
      after = next.id
      const upload =
        takeCachedUpload(context, next) ?? (await context.database.read(caller, (handle) => findUpload(handle, next)))
      if (upload === undefined) continue
      const written = await write(context, caller, { discovery, place: next, upload })
      await noting
      noting = note(context, caller, written)
      noting.catch(() => undefined)
    }
  } finally {
    await noting
  }
}

async function discoveryOf({ database }: Context, caller: Caller, runId: string): Promise<DiscoveryRow | undefined> {
  return database.read(caller, async (handle) => {
    const run = await findRun(handle, runId)
    return run === undefined ? undefined : findDiscovery(handle, run.discoveryId)
  })
}

type Ingesting = { discovery: DiscoveryRow; place: Place; upload: Upload }

/** What was handed in and written, and in whose name. */
type Ingested = Ingesting & { actor: Caller; written: Written[] }

/** Every step may come again after a crash and changes nothing then: the last one is a transaction that says it is done. */
async function write(context: Context, caller: Caller, ingesting: Ingesting): Promise<Ingested> {
  const { discovery, place, upload } = ingesting
  const gateway = await findGateway(context, caller, discovery.gatewayId)
  if (gateway === undefined) {
    const refused: Refused = { problem: 'The gateway was deleted', code: 'gateway_revoked' }
    return { ...ingesting, actor: caller, written: upload.assets.map(() => refused) }
  }
  const actor = onBehalfOf(gateway, caller)
  // The inventory puts new assets into the gateway's access group and leaves the others where they are.
  const assets = upload.assets.map(({ access_group: _, ...asset }) => asset)
  const written =
    assets.length === 0
      ? []
      : await writeAssets(context, await gatewayCaller(context, caller, gateway), {
          assets,
          discovery: { jobId: discovery.id, runId: place.runId },
          source: { type: 'discovery', value: discovery.deviceClass ?? discovery.assetLinkId },
          key: `found.${place.runId}.${place.lease}.${place.sequence}`,
        })
  return { ...ingesting, actor, written }
}

async function findGateway(context: Context, caller: Caller, id: string) {
  try {
    return (await context.peers(onboarding, caller).resolveGateway({ params: { id } })).data
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return undefined
    throw error
  }
}

async function note(context: Context, caller: Caller, ingested: Ingested): Promise<void> {
  const { discovery, place, upload, actor, written } = ingested
  const ids = [...new Set(written.flatMap((one) => ('assetId' in one ? [one.assetId] : [])))]
  if (ids.length > 0) await stateFound(context, actor, { discovery, ids })
  if (upload.tried !== undefined)
    await tellUses(context, actor, { gatewayId: discovery.gatewayId, tried: upload.tried, written })
  const failed = written.flatMap((one, index) => ('problem' in one ? [deviceError(one, upload.assets[index])] : []))
  await context.database.transaction(caller, async (tx) => {
    if (!(await markIngested(tx, place))) return
    const counts = await putFindings(tx, place.runId, findingsOf(written, upload))
    const errors = [...upload.errors, ...failed]
    await insertErrors(tx, place.runId, errors)
    const run = await addToRun(tx, place.runId, { ...counts, errors: errors.length })
    if (run !== undefined) await tellRun(tx, 'progressed', run)
  })
}

async function stateFound(
  context: Context,
  actor: Caller,
  { discovery, ids }: { discovery: DiscoveryRow; ids: string[] },
): Promise<void> {
  const { gatewayId, assetLinkId } = discovery
  const link = await context.database.read(actor, (handle) => findLink(handle, gatewayId, assetLinkId))
  const source = discovery.deviceClass ?? assetLinkId
  let found: FoundEvent | undefined = { gateway: gatewayId, assetLink: link?.assetId, assets: ids }
  while (found !== undefined) found = await recordFound(context, actor, { ...found, source })
}

type FoundEvent = { gateway: string; assetLink: string | undefined; assets: string[] }

/** Returns what is left to record when some of the assets were deleted meanwhile. Without the gateway nothing is. */
async function recordFound(
  context: Context,
  actor: Caller,
  { gateway, assetLink, assets, source }: FoundEvent & { source: string },
): Promise<FoundEvent | undefined> {
  const data = { gateway, ...(assetLink === undefined ? {} : { assetLink }), assets, source }
  try {
    await context.peers(inventory, actor).recordFound({ body: { data } })
    return undefined
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'asset_not_found') throw error
    const deleted = new Set(error.errors?.map(({ pointer }) => pointer))
    const left = assets.filter((_, index) => !deleted.has(`/data/assets/${index}`))
    if (deleted.has('/data/gateway') || left.length === 0) return undefined
    return { gateway, assetLink: deleted.has('/data/assetLink') ? undefined : assetLink, assets: left }
  }
}

const outcomes = { created: 'new', updated: 'changed', unchanged: 'unchanged' } as const

function findingsOf(written: readonly Written[], { assets }: Upload): Finding[] {
  return written.flatMap((one, index) => {
    if (!('assetId' in one)) return []
    const name = assets[index]?.name
    return [{ assetId: one.assetId, name: typeof name === 'string' ? name : null, outcome: outcomes[one.outcome] }]
  })
}

/** The problem of the inventory addresses the caller of a write. The readers of a report see the gateway's write. */
const identityTaken =
  'The identifiers of this device belong to an asset that the gateway cannot change. To allow it, grant the gateway a role that can write assets in the access group of that asset.'

function deviceError({ problem, code, fields }: Refused, asset: Record<string, unknown> | undefined): DeviceError {
  const { name, asset_identifiers: identifiers } = asset ?? {}
  return {
    code: code === 'identity_taken' ? permissionDenied : invalidArgument,
    description: code === 'identity_taken' ? identityTaken : problem,
    ...(code === undefined ? {} : { reason: code }),
    device: { ...(name === undefined ? {} : { name }), ...(identifiers === undefined ? {} : { identifiers }) },
    ...(fields === undefined ? {} : { fields }),
  }
}

/** Nothing waits any more: if the gateway is done, so is the run. A handed-in part that came meanwhile has its own job. */
async function finish(
  context: Context,
  caller: Caller,
  { runId, task, gatewayId }: { runId: string; task: Task; gatewayId: string },
): Promise<void> {
  const ending = (await context.database.read(caller, (handle) => findRun(handle, runId)))?.ending
  const answered = ending === 'finished' ? await conflictingAssets(context, caller, { runId, gatewayId }) : []
  await context.database.transaction(caller, async (tx) => {
    const run = await lockRun(tx, runId)
    const waits = (await nextUpload(tx, runId)) !== undefined
    if (run !== undefined && run.ending !== null && !waits) {
      const place = { runId, discoveryId: run.discoveryId, number: run.number }
      const gone = run.ending === 'finished' ? await putGone(tx, place, answered) : 0
      const ended = await finishRun(tx, runId, gone)
      if (ended !== undefined) await tellRun(tx, ended.state, ended)
    }
    await task.complete(tx)
  })
}

/** Assets whose devices answered in this run, but were reported as `identity_taken`. */
async function conflictingAssets(
  context: Context,
  caller: Caller,
  { runId, gatewayId }: { runId: string; gatewayId: string },
): Promise<string[]> {
  const found: string[] = []
  const limit = 100
  for (let offset = 0; ; offset += limit) {
    const query = { gateway: gatewayId, limit, offset }
    const { data } = await context.peers(inventory, caller).listIdentityConflicts({ query })
    const ofRun = data.filter((conflict) => conflict.runId === runId)
    found.push(...ofRun.map(({ asset }) => asset.id))
    // The latest conflicts come first.
    if (ofRun.length < limit) return found
  }
}
