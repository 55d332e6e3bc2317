import { updateLimits } from '@millwright/api/updates.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import { takeoverMs } from '../../platform/tasks/task.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { listAbandoned, listSigned, listSourceAssets, lockArtefact, setSourceAccessGroup } from './artefact-store.ts'
import { removeArtefact, storeSignatureState } from './artefacts.ts'
import { anyDeletion, deletionsTopic, endDeletion, listDeletions } from './content-row-store.ts'
import type { ContentStores } from './content-store/stores.ts'
import { describeAssets } from './described-assets.ts'
import { anchorsTopic, anyNeededCheck, lockTrustAnchors, setNeedsCheck } from './trust-anchor-store.ts'

/** The background work on artefacts: deletes bytes, checks signatures again, and deletes uploads that were abandoned. */

const deletionsPerRun = 100
const signaturesPerTransaction = 20
const abandonedPerRun = 100
const nilId = '00000000-0000-0000-0000-000000000000'

export function artefactTasks(context: Context, { stores }: { stores: ContentStores }): TaskKinds {
  const { database, tenants } = context
  const callerOf = async (tenantId: string) =>
    systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
  return {
    'updates.deletions': {
      periodic: { everyMs: 60_000, wakeOn: deletionsTopic, pending: anyDeletion },
      async run({ tenantId, signal }) {
        const rows = await database.read({ tenantId }, (handle) => listDeletions(handle, deletionsPerRun))
        for (const { id, store, location, uploadId, parts } of rows) {
          if (signal.aborted) return
          const from = stores.named(store)
          if (location !== null) await from.deleteContent({ tenantId, location })
          if (uploadId !== null) await from.deleteUpload({ tenantId, uploadId, parts })
          await database.transaction({ tenantId }, (tx) => endDeletion(tx, id))
        }
      },
    },
    'updates.signatures': {
      periodic: { everyMs: takeoverMs, wakeOn: anchorsTopic, pending: anyNeededCheck },
      async run({ tenantId, signal }) {
        // A change of the trust anchors during the run sets the mark again.
        await database.transaction({ tenantId }, (tx) => setNeedsCheck(tx, false, new Date().toISOString()))
        try {
          await checkSignatures(context, { tenantId, signal })
        } catch (error) {
          await database.transaction({ tenantId }, (tx) => setNeedsCheck(tx, true, new Date().toISOString()))
          throw error
        }
      },
    },
    'updates.uploads': {
      periodic: { everyMs: 3_600_000 },
      async run({ tenantId, signal }) {
        const before = new Date(Date.now() - updateLimits.uploadDays * 86_400_000).toISOString()
        const rows = await database.read({ tenantId }, (handle) => listAbandoned(handle, before, abandonedPerRun))
        const system = await callerOf(tenantId)
        for (const { id } of rows) {
          if (signal.aborted) return
          await database.transaction({ tenantId }, async (tx) => {
            const row = await lockArtefact(tx, id)
            if (row === undefined || row.isComplete) return
            await removeArtefact(tx, system, { row, action: 'deleteAbandonedArtefact' })
          })
        }
        await refreshSources(context, tenantId)
      },
    },
  }
}

async function checkSignatures(
  { database }: Context,
  { tenantId, signal }: { tenantId: string; signal: AbortSignal },
): Promise<void> {
  for (let after = nilId; ; ) {
    if (signal.aborted) throw signal.reason
    const rows = await database.transaction({ tenantId }, async (tx) => {
      await lockTrustAnchors(tx)
      const signed = await listSigned(tx, after, signaturesPerTransaction)
      for (const row of signed) await storeSignatureState(tx, row)
      return signed
    })
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

/** Stores the access groups to which the assets of artefacts that were read from devices belong now. */
async function refreshSources(context: Context, tenantId: string): Promise<void> {
  const { database, tenants } = context
  const stored = await database.read({ tenantId }, listSourceAssets)
  if (stored.length === 0) return
  const tenantName = (await tenants.byId(tenantId))?.name ?? ''
  const assets = await describeAssets(
    context,
    { tenantId, tenantName },
    stored.map(({ assetId }) => assetId),
  )
  for (const { assetId, accessGroupId } of stored) {
    const current = assets.get(assetId)?.accessGroupId
    if (current === undefined || current === accessGroupId) continue
    await database.transaction({ tenantId }, (tx) => setSourceAccessGroup(tx, assetId, current))
  }
}
