import { Problem } from '@millwright/api/problem.ts'
import type { Artefact, UpdateSettings } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { mayIn } from '../../platform/access/rights.ts'
import type { Context } from '../../platform/service.ts'
import { type ArtefactRow, findArtefact } from './artefact-store.ts'
import { describeAssets } from './described-assets.ts'
import { currentSignature, usabilityProblem } from './signatures.ts'
import { readSettings } from './trust-anchor-store.ts'

/** Artefacts as callers see them. */

export function showArtefact(row: ArtefactRow, settings: UpdateSettings, at = new Date()): Artefact {
  const problem = usabilityProblem(row, { ...settings, at })
  const received = row.isComplete ? row.size : (row.receivedBytes ?? 0)
  const signature = currentSignature(row, at)
  return {
    id: row.id,
    name: row.name,
    manufacturer: row.manufacturer,
    products: row.products,
    ...(row.hardwareVersions === null ? {} : { hardwareVersions: row.hardwareVersions }),
    ...(row.requires === null ? {} : { requires: row.requires }),
    ...(row.releaseNotes === null ? {} : { releaseNotes: row.releaseNotes }),
    version: row.version,
    kind: row.kind,
    sha256: row.sha256,
    size: row.size,
    content: { state: row.isComplete ? 'complete' : received === 0 ? 'missing' : 'partial', receivedBytes: received },
    signature: {
      state: signature.state,
      ...(row.signatureFormat === null ? {} : { format: row.signatureFormat }),
      ...(row.signer === null ? {} : { signer: row.signer }),
      ...(row.trustAnchorId === null ? {} : { trustAnchorId: row.trustAnchorId }),
    },
    isUsable: problem === undefined,
    ...(problem === undefined ? {} : { problem }),
    ...(row.sourceAssetId === null ? {} : { source: { assetId: row.sourceAssetId, timestamp: row.createdAt } }),
    createdBy: { id: row.createdById, name: row.createdByName },
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

/**
 * Returns an artefact that the caller can see. An artefact that was read from a device is visible to callers that can read
 * its asset.
 */
export async function requireArtefact(context: Context, caller: Caller, id: string): Promise<ArtefactRow> {
  const row = await context.database.read(caller, (handle) => findArtefact(handle, id))
  if (row === undefined || !(await maySee(context, caller, row))) throw missingArtefact(id)
  return row
}

async function maySee(context: Context, caller: Caller, { sourceAssetId, sourceAccessGroupId }: ArtefactRow) {
  if (sourceAssetId === null || caller.principal.kind === 'system') return true
  const asset = (await describeAssets(context, caller, [sourceAssetId])).get(sourceAssetId)
  return mayIn(caller, 'inventory_read_asset_data', asset?.accessGroupId ?? sourceAccessGroupId ?? '')
}

export function missingArtefact(id: string): Problem {
  return new Problem('not_found', `Artefact ${id} does not exist`)
}

/** Returns an artefact that can be installed now. Throws `artefact_not_found` or `artefact_not_usable`. */
export async function readUsableArtefact(context: Context, caller: Caller, id: string): Promise<ArtefactRow> {
  const row = await requireArtefact(context, caller, id).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'not_found')
      throw new Problem('artefact_not_found', `Artefact ${id} does not exist`)
    throw error
  })
  const settings = await context.database.read(caller, readSettings)
  const problem = usabilityProblem(row, { ...settings, at: new Date() })
  if (problem !== undefined)
    throw new Problem(
      'artefact_not_usable',
      `Artefact ${row.name} ${row.version} cannot be installed: ${problem.detail}`,
    )
  return row
}
