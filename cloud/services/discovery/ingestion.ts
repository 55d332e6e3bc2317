import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { inbox } from '@millwright/api/inbox.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { deletedAssets } from '../../platform/asset-visibility.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import type { Context } from '../../platform/service.ts'
import type { Task, TaskKinds } from '../../platform/tasks/tasks.ts'
import { reportUses } from './credential-uses.ts'
import { foundAddresses, putDeviceAddresses } from './device-address-store.ts'
import {
  type Finding,
  findUpload,
  type GoneAssets,
  insertErrors,
  insertUpload,
  listGoneAssets,
  markIngested,
  nextUpload,
  putFindings,
  putGoneAssets,
  type Upload,
  type UploadKey,
} from './finding-store.ts'
import { gatewayCaller, onBehalfOf } from './gateway-caller.ts'
import { descriptionOf, type RefusedAsset, type WriteResult, writeAssets } from './inventory-writes.ts'
import { findLink } from './link-store.ts'
import { emitRunEvent, systemOf } from './run-start.ts'
import {
  addToRun,
  type DiscoveryRow,
  findDiscovery,
  findRun,
  finishRun,
  lockLatestAttempt,
  lockRun,
  type RunEnding,
  setEnding,
} from './store.ts'
import { cacheUpload, takeCachedUpload } from './upload-cache.ts'

const ingestKind = 'discovery.ingest'
const reportEndKind = 'discovery.report-end'
/** The gRPC status codes that a run reports for devices that the inventory refuses. */
const invalidArgument = 3
const permissionDenied = 7

/** Stores an upload of a gateway. A background task ingests the uploads in order. Returns false for a repeated upload. */
export async function storeUpload(
  context: Context,
  caller: Caller,
  { uploadKey, upload }: { uploadKey: UploadKey; upload: Upload },
) {
  const printed = jsonText(upload)
  const isNew = await context.database.transaction(caller, async (tx) => {
    const isInserted = await insertUpload(tx, uploadKey, printed)
    if (isInserted) await enqueue(context, tx, uploadKey.runId)
    return isInserted
  })
  // `jsonText` replaces characters that the database cannot store. An upload with replaced characters is not cached, so
  // that it is later read in its stored form.
  if (isNew && !printed.includes('\ufffd')) cacheUpload(context, uploadKey, upload)
  return isNew
}

/** Stores how a run ended. The run gets its final state when all its uploads are ingested. */
export async function endRun(
  context: Context,
  caller: Caller,
  { runId, ending, message }: { runId: string; ending: RunEnding; message: string | undefined },
): Promise<void> {
  await context.database.transaction(caller, async (tx) => {
    await setEnding(tx, runId, { ending, message })
    await enqueue(context, tx, runId)
  })
}

async function enqueue(context: Context, tx: Transaction, runId: string): Promise<void> {
  await context.tasks.enqueue(tx, { kind: ingestKind, key: runId, payload: { runId } })
}

export function ingestionTasks(context: Context): TaskKinds {
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
    // The inbox applies onboarding rules to the new assets of a run. The task is repeated until it succeeds.
    [reportEndKind]: {
      maxAttempts: 1_000,
      async run({ tenantId, payload }) {
        const { runId, jobId } = payload as { runId: string; jobId: string }
        const caller = await systemOf(context, tenantId)
        await context.peers(inbox, caller).endDiscoveryRun({ params: { id: runId }, body: { data: { jobId } } })
      },
    },
  }
}

type PendingUploads = { runId: string; discovery: DiscoveryRow; signal: AbortSignal }

/**
 * Ingests all waiting uploads in order. While the result of one upload is recorded, the inventory writes the next upload.
 */
async function ingestAll(
  context: Context,
  caller: Caller,
  { runId, discovery, signal }: PendingUploads,
): Promise<void> {
  let after: string | undefined
  let recording: Promise<void> = Promise.resolve()
  try {
    while (!signal.aborted) {
      const next = await context.database.read(caller, (handle) => nextUpload(handle, runId, after))
      if (next === undefined && after === undefined) return
      if (next === undefined) {
        // Another process may have stored an upload with a lower id, so the loop starts again at the first upload.
        await recording
        after = undefined
        continue
      }
      after = next.id
      const upload =
        takeCachedUpload(context, next) ?? (await context.database.read(caller, (handle) => findUpload(handle, next)))
      if (upload === undefined) continue
      const written = await write(context, caller, { discovery, uploadKey: next, upload })
      await recording
      recording = recordResults(context, caller, written)
      recording.catch(() => undefined)
    }
  } finally {
    await recording
  }
}

async function discoveryOf({ database }: Context, caller: Caller, runId: string): Promise<DiscoveryRow | undefined> {
  return database.read(caller, async (handle) => {
    const run = await findRun(handle, runId)
    return run === undefined ? undefined : findDiscovery(handle, run.discoveryId)
  })
}

type UploadBatch = { discovery: DiscoveryRow; uploadKey: UploadKey; upload: Upload }

/** An upload, the write result of each of its assets, and the callers in whose names the results and the assets are written. */
type WrittenUpload = UploadBatch & { actor: Caller; written: WriteResult[]; sender?: Caller }

/**
 * Writes the assets of an upload to the inventory. The write can be repeated after a crash without a second effect,
 * because it has an idempotency key. The upload is marked as ingested later, together with its results.
 */
async function write(context: Context, caller: Caller, batch: UploadBatch): Promise<WrittenUpload> {
  const { discovery, uploadKey, upload } = batch
  const gateway = await findGateway(context, caller, discovery.gatewayId)
  if (gateway === undefined) {
    const refused: RefusedAsset = { problem: 'The gateway was deleted', code: 'gateway_revoked' }
    return { ...batch, actor: caller, written: upload.assets.map(() => refused) }
  }
  const actor = onBehalfOf(gateway, caller)
  // The access groups in the upload are ignored: the inventory creates new assets in the access group of the gateway,
  // and does not move existing assets.
  const assets = upload.assets.map(({ access_group: _, ...asset }) => asset)
  const sender = await gatewayCaller(context, caller, gateway)
  const written =
    assets.length === 0
      ? []
      : await writeAssets(context, sender, {
          assets,
          discovery: { jobId: discovery.id, runId: uploadKey.runId },
          source: { type: 'discovery', value: discovery.deviceClass ?? discovery.assetLinkId },
          key: `found.${uploadKey.runId}.${uploadKey.lease}.${uploadKey.sequence}`,
        })
  return { ...batch, actor, written, sender }
}

async function findGateway(context: Context, caller: Caller, id: string) {
  try {
    return (await context.peers(onboarding, caller).resolveGateway({ params: { id } })).data
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return undefined
    throw error
  }
}

async function recordResults(context: Context, caller: Caller, result: WrittenUpload): Promise<void> {
  const { discovery, uploadKey, upload, actor, written } = result
  const ids = [...new Set(written.flatMap((one) => ('assetId' in one ? [one.assetId] : [])))]
  if (ids.length > 0) await recordFoundAssets(context, actor, { discovery, ids })
  if (result.sender !== undefined) await confirmKnownAssets(context, result.sender, written)
  if (upload.tried !== undefined)
    await reportUses(context, actor, { gatewayId: discovery.gatewayId, tried: upload.tried, written })
  const failed = written.flatMap((one, index) => ('problem' in one ? [deviceError(one, upload.assets[index])] : []))
  await context.database.transaction(caller, async (tx) => {
    if (!(await markIngested(tx, uploadKey))) return
    const counts = await putFindings(tx, uploadKey.runId, findingsOf(written, upload))
    await putDeviceAddresses(tx, discovery, foundAddresses(written, upload))
    const errors = await errorsOfAttempt(tx, uploadKey, [...upload.errors, ...failed])
    await insertErrors(tx, uploadKey.runId, errors)
    const run = await addToRun(tx, uploadKey.runId, { ...counts, errors: errors.length })
    if (run !== undefined) await emitRunEvent(tx, 'progressed', run)
  })
}

/**
 * Returns the device errors that the report shows. An interrupted attempt has none: the latest attempt
 * visits the devices again and replaces the errors.
 */
async function errorsOfAttempt(tx: Transaction, { runId, lease }: UploadKey, errors: readonly DeviceError[]) {
  return errors.length === 0 || (await lockLatestAttempt(tx, runId, lease)).isLatest ? errors : []
}

/**
 * Sets the time at which the known devices of an upload were last seen. The write of a device sets this time only if the device was
 * not reachable before.
 */
async function confirmKnownAssets(context: Context, sender: Caller, written: readonly WriteResult[]): Promise<void> {
  const known = written.flatMap((one) => ('assetId' in one && one.outcome !== 'created' ? [one.assetId] : []))
  if (known.length === 0) return
  const states = [...new Set(known)].map((assetId) => ({ assetId, state: 'reached' as const }))
  const data = { states, checkedAt: new Date().toISOString() }
  await context.peers(inventory, sender).recordReachability({ body: { data } })
}

async function recordFoundAssets(
  context: Context,
  actor: Caller,
  { discovery, ids }: { discovery: DiscoveryRow; ids: string[] },
): Promise<void> {
  const { gatewayId, assetLinkId } = discovery
  const link = await context.database.read(actor, (handle) => findLink(handle, gatewayId, assetLinkId))
  const source = discovery.deviceClass ?? assetLinkId
  let remaining: DiscoveredAssets | undefined = { gateway: gatewayId, assetLink: link?.assetId, assets: ids }
  while (remaining !== undefined) remaining = await recordFound(context, actor, { ...remaining, source })
}

type DiscoveredAssets = { gateway: string; assetLink: string | undefined; assets: string[] }

/**
 * Records that the gateway found these assets. If some of the assets were deleted in the meantime, nothing is recorded,
 * and the function returns the other assets for the next attempt. Returns `undefined` when nothing remains to record,
 * for example because the gateway was deleted.
 */
async function recordFound(
  context: Context,
  actor: Caller,
  { gateway, assetLink, assets, source }: DiscoveredAssets & { source: string },
): Promise<DiscoveredAssets | undefined> {
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

function findingsOf(written: readonly WriteResult[], { assets }: Upload): Finding[] {
  return written.flatMap((one, index) => {
    if (!('assetId' in one)) return []
    const name = assets[index]?.name
    return [{ assetId: one.assetId, name: typeof name === 'string' ? name : null, outcome: outcomes[one.outcome] }]
  })
}

function deviceError(refused: RefusedAsset, asset: Record<string, unknown> | undefined): DeviceError {
  const { code, fields } = refused
  const { name, asset_identifiers: identifiers } = asset ?? {}
  return {
    code: code === 'identity_taken' ? permissionDenied : invalidArgument,
    description: descriptionOf(refused),
    ...(code === undefined ? {} : { reason: code }),
    device: { ...(name === undefined ? {} : { name }), ...(identifiers === undefined ? {} : { identifiers }) },
    ...(fields === undefined ? {} : { fields }),
  }
}

/**
 * Sets the final state of a run if its ending is stored and no upload waits to be ingested. An upload that arrives
 * later enqueues a new task.
 */
async function finish(
  context: Context,
  caller: Caller,
  { runId, task, gatewayId }: { runId: string; task: Task; gatewayId: string },
): Promise<void> {
  const comparison = await compare(context, caller, { runId, gatewayId })
  const isDone = await context.database.transaction(caller, async (tx) => {
    const run = await lockRun(tx, runId)
    const waits = (await nextUpload(tx, runId)) !== undefined
    if (run !== undefined && run.ending !== null && !waits) {
      // The ending was stored after the comparison.
      if (comparison === undefined) return false
      const ended = await finishRun(tx, runId, await putGoneAssets(tx, runId, comparison))
      if (ended !== undefined) await emitRunEvent(tx, ended.state, ended)
      if (ended !== undefined && ended.created > 0)
        await context.tasks.enqueue(tx, {
          kind: reportEndKind,
          key: runId,
          payload: { runId, jobId: ended.discoveryId },
        })
    }
    await task.complete(tx)
    return true
  })
  if (!isDone) await finish(context, caller, { runId, task, gatewayId })
}

/**
 * Compares a finished run with the earlier runs of its discovery. Returns the assets that are gone and that the inventory contains,
 * and undefined for a run without an ending.
 */
async function compare(
  context: Context,
  caller: Caller,
  { runId, gatewayId }: { runId: string; gatewayId: string },
): Promise<GoneAssets | undefined> {
  const run = await context.database.read(caller, (handle) => findRun(handle, runId))
  if (run === undefined || run.ending === null) return undefined
  if (run.ending !== 'finished') return { comparedRun: null, assets: [] }
  const answered = await conflictingAssets(context, caller, { runId, gatewayId })
  const endedRun = { runId, discoveryId: run.discoveryId, number: run.number }
  const { comparedRun, assets } = await context.database.read(caller, (handle) =>
    listGoneAssets(handle, endedRun, answered),
  )
  const deleted = await deletedAssets(
    context,
    caller,
    assets.map(({ assetId }) => assetId),
  )
  return { comparedRun, assets: assets.filter(({ assetId }) => !deleted.has(assetId)) }
}

/** Returns the assets whose devices responded in this run, but were refused as `identity_taken`. */
async function conflictingAssets(
  context: Context,
  caller: Caller,
  { runId, gatewayId }: { runId: string; gatewayId: string },
): Promise<string[]> {
  const assetIds: string[] = []
  const limit = 100
  for (let offset = 0; ; offset += limit) {
    const query = { gateway: gatewayId, limit, offset }
    const { data } = await context.peers(inventory, caller).listIdentityConflicts({ query })
    const ofRun = data.filter((conflict) => conflict.runId === runId)
    assetIds.push(...ofRun.map(({ asset }) => asset.id))
    // The list is sorted by time, newest first, so the conflicts of this run come first.
    if (ofRun.length < limit) return assetIds
  }
}
