import { discovery } from '@millwright/api/discovery.ts'
import type { InventoryDevice } from '@millwright/api/inventory/devices.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { updateLimits, type updates } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import { newId } from '../../platform/database/id.ts'
import { parseContentRange } from '../../platform/http/byte-ranges.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { findArtefact } from './artefact-store.ts'
import { leasedJob, offsetHeader, receivePart, requireLength } from './contents.ts'
import { describeAssets } from './described-assets.ts'
import { isBeingUpdated } from './device-store.ts'
import { completeRetrieval, emitRetrieval, showRetrieval } from './retrieval-state.ts'
import type { RetrievalRow } from './retrieval-store.ts'
import * as store from './retrieval-store.ts'
import { createJob } from './retrieval-task.ts'
import type { Uploads } from './uploads.ts'

type Operations = 'createRetrieval' | 'listRetrievals' | 'readJobOffset' | 'putJobContent'

/** Retrievals: what gateways read from devices. Users start them, and gateways upload the contents in parts. */
export function retrievalHandlers(
  context: Context,
  { uploads }: { uploads: Uploads },
): Pick<Handlers<typeof updates>, Operations> {
  const { database } = context
  return {
    async createRetrieval({ params: { id: assetId }, body: { data } }, caller) {
      const { kind } = data
      const device = await requireWritable(context, caller, assetId)
      const target = await retrievalTarget(context, caller, assetId)
      const row = {
        id: newId(),
        jobId: newId(),
        assetId,
        assetName: device.name ?? assetId,
        manufacturer: device.manufacturer ?? 'unknown',
        product: device.productId ?? device.productName ?? 'unknown',
        accessGroupId: device.accessGroupId,
        gatewayId: target.gatewayId,
        definition: { assetId, kind, askedBy: caller.principal.name, ...target.definition },
        kind,
        principalId: caller.principal.id,
        principalName: caller.principal.name,
      }
      const created = await database.transaction(caller, async (tx) => {
        const running = await store.lockOpenRetrieval(tx, { assetId, kind })
        // A repeated request does not read the device twice.
        if (running !== undefined) return running
        if (await isBeingUpdated(tx, assetId))
          throw new Problem('update_in_progress', 'A campaign is updating the device. Retry when the update has ended')
        const inserted = await store.insertRetrieval(tx, row, new Date().toISOString())
        if (inserted === undefined) throw new TypeError('The retrieval was not stored')
        await record(tx, caller, {
          action: 'updates.createRetrieval',
          target: `asset/${assetId}`,
          detail: { retrievalId: row.id, jobId: row.jobId, kind, gatewayId: row.gatewayId },
        })
        await emitRetrieval(tx, inserted)
        return inserted
      })
      // The task creates the job too, so a failure here has no effect.
      if (!created.isJobCreated)
        await createJob(context, systemCaller(caller), created).catch((error: unknown) =>
          context.log.warn({ error, retrieval: created.id }, 'The job of a retrieval could not be created yet'),
        )
      return answer(202, { data: showRetrieval(created) })
    },

    async listRetrievals({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      await requireReadable(context, caller, id)
      const { rows, total } = await database.read(caller, (handle) =>
        store.listRetrievals(handle, id, { limit, offset }),
      )
      return { data: rows.map(showRetrieval), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async readJobOffset({ params: { jobId }, query: { lease } }, caller) {
      const row = await retrievalOf(context, caller, { jobId, lease })
      const { artefactId } = row
      const artefact =
        artefactId === null ? undefined : await database.read(caller, (handle) => findArtefact(handle, artefactId))
      const offset = artefact?.size ?? (await uploads.offsetOf(caller, row.id))
      return answer(204, undefined, { 'upload-offset': String(offset) })
    },

    async putJobContent({ params: { jobId }, query: { lease }, headers, body: file }, caller) {
      const row = await retrievalOf(context, caller, { jobId, lease })
      if (row.state === 'finished' || row.state === 'failed')
        throw new Problem(
          'conflict',
          `The retrieval has the state ${row.state} and accepts no content. Start a new retrieval`,
        )
      const part = parseContentRange(headers['content-range'] ?? '')
      requireLength(part, file.bytes)
      if ((part.last ?? part.first) >= updateLimits.artefactBytes)
        throw new Problem('body_too_large', `The content exceeds the limit of ${updateLimits.artefactBytes} bytes`)
      return uploads.use(caller, row.id, async (upload) => {
        await receivePart(upload, part, file)
        if (upload.receivedBytes === part.size)
          await completeRetrieval(context, caller, { row, content: await upload.finish() })
        return answer(204, undefined, offsetHeader(upload))
      })
    },
  }
}

/** Returns the retrieval of a job whose lease the gateway holds. */
async function retrievalOf(
  context: Context,
  caller: Caller,
  { jobId, lease }: { jobId: string; lease: string },
): Promise<RetrievalRow> {
  await leasedJob(context, caller, { jobId, lease })
  const row = await context.database.read(caller, (handle) => store.findRetrieval(handle, jobId))
  if (row === undefined) throw new Problem('not_found', `Job ${jobId} is not a retrieval`)
  return row
}

/** Returns the device of an asset that the caller can write. Hidden and missing assets return the same error. */
async function requireWritable({ database, peers }: Context, caller: Caller, id: string): Promise<InventoryDevice> {
  const { data } = await peers(inventory, caller).selectDevices({ body: { data: { ids: [id] } } })
  const [device] = data.devices
  if (device === undefined) throw new Problem('not_found', `Asset ${id} does not exist`)
  const { accessGroupId } = device
  if (mayIn(caller, 'inventory_write_asset_data', accessGroupId)) return device
  throw await database.read(caller, (handle) =>
    permissionDeniedIn(handle, caller, { permission: 'inventory_write_asset_data', accessGroupId }),
  )
}

/** Returns the gateway and the link that can read the device, and how the link reaches it. */
async function retrievalTarget({ peers }: Context, caller: Caller, assetId: string) {
  const client = peers(discovery, systemCaller(caller))
  const [found] = (await client.findUpdateLinks({ body: { data: { assetIds: [assetId] } } })).data
  if (found?.link === undefined)
    throw new Problem(
      'no_device_link',
      found?.problem ?? 'No asset link has discovered this asset. Run a discovery that finds the asset',
    )
  const { gatewayId, assetLinkId, linkAssetId, canRetrieve } = found.link
  if (!canRetrieve)
    throw new Problem(
      'no_device_link',
      `Asset link ${assetLinkId} cannot read artefacts from devices. Install an asset link that can`,
    )
  const { data } = await client.readDeviceTarget({ params: { id: assetId }, query: { gatewayId, assetLinkId } })
  return { gatewayId, definition: { assetLinkId, linkAssetId, ...data } }
}

/** Returns the access group of an asset that the caller can read. Hidden and missing assets return the same error. */
async function requireReadable(context: Context, caller: Caller, id: string): Promise<string> {
  const asset = (await describeAssets(context, caller, [id])).get(id)
  if (asset === undefined || asset.isDeleted || !mayIn(caller, 'inventory_read_asset_data', asset.accessGroupId))
    throw new Problem('not_found', `Asset ${id} does not exist`)
  return asset.accessGroupId
}
