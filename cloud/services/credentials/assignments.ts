import type { credentials } from '@millwright/api/credentials.ts'
import {
  type AssetCredentialInstance,
  type CredentialPurpose,
  credentialLimits,
} from '@millwright/api/credentials-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { readableUses, requireExisting } from './asset.ts'
import { locationOf, showInstance } from './instance.ts'
import { deleteInstance, findCopy, findInstances, type InstanceRow, type SealedRow } from './instance-store.ts'
import { addInstance, tellInstance } from './instance-writes.ts'
import { lock, showAssociation } from './instances.ts'
import { storedRanges } from './ip-range.ts'
import { openValues, sealValues } from './sealed-values.ts'
import { copiesForAssets, usesOfAsset } from './use-store.ts'

type Names = 'assignInstance' | 'unassignInstance' | 'listAssetInstances'

/** How many associations of one asset are looked at. */
const mostAssociations = 1_000

export function assignmentHandlers(context: Context): Pick<Handlers<typeof credentials>, Names> {
  const { database } = context
  return {
    async assignInstance({ params: { assetId, instanceId } }, caller) {
      await requireExisting(context, caller, assetId)
      return database.transaction(caller, async (tx) => {
        const original = await lock(tx, instanceId)
        const before = await findCopy(tx, assetId, instanceId)
        if (before !== undefined) return answered(200, before)
        if (original.purpose === 'discovery')
          throw new Problem(
            'instance_not_for_monitoring',
            'Map it to an instances template, or take its purpose away: then it can be assigned',
          )
        const row = await copy(tx, caller, { original, assetId })
        const detail = { assetId, copiedFrom: instanceId }
        await tellInstance(tx, caller, { action: 'assignInstance', what: 'assigned', row, detail })
        return answered(201, row)
      })
    },

    async unassignInstance({ params: { assetId, instanceId } }, caller) {
      await requireExisting(context, caller, assetId)
      return database.transaction(caller, async (tx) => {
        const [own] = await findInstances(tx, [instanceId])
        const row = own?.assetId === assetId ? own : await findCopy(tx, assetId, instanceId)
        if (row === undefined) throw new Problem('not_found', `The asset has no copy of the instance ${instanceId}`)
        await deleteInstance(tx, row.id)
        await tellInstance(tx, caller, { action: 'unassignInstance', what: 'unassigned', row, detail: { assetId } })
        return answer(204)
      })
    },

    async listAssetInstances({ params: { assetId }, query: { limit = 50, offset = 0, purpose } }, caller) {
      await requireExisting(context, caller, assetId)
      const all = await database.read(caller, (handle) => instancesOf(handle, assetId))
      const wanted = all.filter((instance) => isFor(instance, purpose))
      const page = wanted.slice(offset, offset + limit)
      const uses = page.flatMap(({ associations }) => associations)
      const isReadable = await readableUses(context, caller, uses)
      const data = page.map((one) => ({ ...one, associations: one.associations.filter(isReadable) }))
      return { data, meta: { totalElements: wanted.length, elements: data.length, offset } }
    },
  }

  /** A copy has secrets of its own, sealed for itself: nothing that happens to the original reaches it. */
  async function copy(
    tx: Transaction,
    caller: Caller,
    { original, assetId }: { original: SealedRow; assetId: string },
  ): Promise<InstanceRow> {
    const place = { safe: context.safe, tx }
    const { schemaId, name, shown, purpose } = original
    const id = newId()
    const text = await openValues(place, { instanceId: original.id, schemaId }, original.sealed)
    const sealed = await sealValues(place, { instanceId: id, schemaId }, JSON.parse(text))
    const ranges = storedRanges(original.ipRanges)
    return addInstance(tx, caller, {
      id,
      schemaId,
      name,
      shown,
      sealed,
      ranges,
      purpose,
      assetId,
      copiedFrom: original.id,
    })
  }
}

function answered(status: 200 | 201, row: InstanceRow) {
  return answer(status, { data: showInstance(row) }, { location: locationOf(row.id), etag: etagOf(row.version) })
}

/** Copies first, then what opened the asset in a scan, what did so last first. */
async function instancesOf(handle: Handle, assetId: string): Promise<AssetCredentialInstance[]> {
  const copies = (await copiesForAssets(handle, [assetId])).map(({ id }) => id)
  const uses = await usesOfAsset(handle, assetId, mostAssociations)
  const ids = [...new Set([...copies, ...uses.map(({ instanceId }) => instanceId)])]
  const found = new Map((await findInstances(handle, ids)).map((row) => [row.id, row]))
  return ids.flatMap((id) => {
    const row = found.get(id)
    if (row === undefined) return []
    const own = uses.filter(({ instanceId }) => instanceId === id).slice(0, credentialLimits.usageEntries)
    return [{ ...showInstance(row), assigned: row.assetId === assetId, associations: own.map(showAssociation) }]
  })
}

function isFor({ metadata }: AssetCredentialInstance, purpose: CredentialPurpose | undefined): boolean {
  return purpose === undefined || metadata.purpose === undefined || metadata.purpose === purpose
}
