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
import { addInstance, reportChange } from './instance-writes.ts'
import { lock, showAssociation } from './instances.ts'
import { storedRanges } from './ip-range.ts'
import { openValues, sealValues } from './sealed-values.ts'
import { copiesForAssets, usesOfAsset } from './use-store.ts'

type Operations = 'assignInstance' | 'unassignInstance' | 'listAssetInstances'

/** The maximum number of recorded uses that are read for one asset. */
const mostAssociations = 1_000

export function assignmentHandlers(context: Context): Pick<Handlers<typeof credentials>, Operations> {
  const { database } = context
  return {
    async assignInstance({ params: { assetId, instanceId } }, caller) {
      await requireExisting(context, caller, assetId)
      return database.transaction(caller, async (tx) => {
        const original = await lock(tx, instanceId)
        const before = await findCopy(tx, assetId, instanceId)
        if (before !== undefined) return respond(200, before)
        if (original.purpose === 'discovery')
          throw new Problem(
            'instance_not_for_monitoring',
            `Credential instance ${instanceId} is only for discovery, so it cannot be assigned to an asset. Map the credential instance to an instances template, or set its metadata.purpose to null.`,
          )
        const row = await copy(tx, caller, { original, assetId })
        const detail = { assetId, copiedFrom: instanceId }
        await reportChange(tx, caller, { action: 'assignInstance', event: 'assigned', row, detail })
        return respond(201, row)
      })
    },

    async unassignInstance({ params: { assetId, instanceId } }, caller) {
      await requireExisting(context, caller, assetId)
      return database.transaction(caller, async (tx) => {
        const [own] = await findInstances(tx, [instanceId])
        const row = own?.assetId === assetId ? own : await findCopy(tx, assetId, instanceId)
        if (row === undefined)
          throw new Problem('not_found', `Credential instance ${instanceId} is not assigned to asset ${assetId}`)
        await deleteInstance(tx, row.id)
        await reportChange(tx, caller, { action: 'unassignInstance', event: 'unassigned', row, detail: { assetId } })
        return answer(204)
      })
    },

    async listAssetInstances({ params: { assetId }, query: { limit = 50, offset = 0, purpose } }, caller) {
      await requireExisting(context, caller, assetId)
      const all = await database.read(caller, (handle) => instancesOf(handle, assetId))
      const matching = all.filter((instance) => hasPurpose(instance, purpose))
      const page = matching.slice(offset, offset + limit)
      const uses = page.flatMap(({ associations }) => associations)
      const isReadable = await readableUses(context, caller, uses)
      const data = page.map((one) => ({ ...one, associations: one.associations.filter(isReadable) }))
      return { data, meta: { totalElements: matching.length, elements: data.length, offset } }
    },
  }

  /** Copies an instance. The copy has its own encrypted secrets, so later changes of the original do not affect it. */
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

function respond(status: 200 | 201, row: InstanceRow) {
  return answer(status, { data: showInstance(row) }, { location: locationOf(row.id), etag: etagOf(row.version) })
}

/**
 * Returns the credential instances of an asset. The copies that are assigned to the asset come first. The instances
 * with which a login to the asset succeeded follow, most recent success first.
 */
async function instancesOf(handle: Handle, assetId: string): Promise<AssetCredentialInstance[]> {
  const copies = (await copiesForAssets(handle, [assetId])).map(({ id }) => id)
  const uses = await usesOfAsset(handle, assetId, mostAssociations)
  const ids = [...new Set([...copies, ...uses.map(({ instanceId }) => instanceId)])]
  const rowsById = new Map((await findInstances(handle, ids)).map((row) => [row.id, row]))
  return ids.flatMap((id) => {
    const row = rowsById.get(id)
    if (row === undefined) return []
    const own = uses.filter(({ instanceId }) => instanceId === id).slice(0, credentialLimits.usageEntries)
    return [{ ...showInstance(row), assigned: row.assetId === assetId, associations: own.map(showAssociation) }]
  })
}

function hasPurpose({ metadata }: AssetCredentialInstance, purpose: CredentialPurpose | undefined): boolean {
  return purpose === undefined || metadata.purpose === undefined || metadata.purpose === purpose
}
