import { parseSignature } from '@millwright/api/artefact-signature.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type Artefact, updateLimits, type updates } from '@millwright/api/updates.ts'
import { parseVersionRange } from '@millwright/api/version-range.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith } from '../../platform/access/rights.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import type { ArtefactRow } from './artefact-store.ts'
import * as store from './artefact-store.ts'
import { missingArtefact, requireArtefact, showArtefact } from './artefact-view.ts'
import { findUseOfArtefact } from './campaign-store.ts'
import { deleteUnusedContent, deleteUpload, findContent, lockContent } from './content-row-store.ts'
import { checkedSignature } from './signatures.ts'
import { listTrustAnchors, lockTrustAnchors, readSettings } from './trust-anchor-store.ts'

type Operations =
  | 'createArtefact'
  | 'listArtefacts'
  | 'readArtefact'
  | 'updateArtefact'
  | 'deleteArtefact'
  | 'putSignature'

/** The artefacts of a tenant, without their contents. */
export function artefactHandlers(context: Context): Pick<Handlers<typeof updates>, Operations> {
  const { database } = context
  return {
    async createArtefact({ body: { data } }, caller) {
      const format = data.signature === undefined ? null : parseSignature(data.signature).format
      requireRanges(data.requires)
      const now = new Date().toISOString()
      const shown = await database.transaction(caller, async (tx) => {
        if ((await store.countArtefacts(tx)) >= updateLimits.artefacts)
          throw new Problem(
            'too_many_artefacts',
            `The tenant has ${updateLimits.artefacts} artefacts. Delete artefacts that are not needed`,
          )
        await lockTrustAnchors(tx)
        const content = await lockContent(tx, data.sha256)
        const accessGroups = groupsWith(caller, 'inventory_read_asset_data')
        // A caller that knows only the hash must not get the content that was read from a hidden device.
        const isComplete =
          content?.size === data.size && (await store.hasVisibleContent(tx, { sha256: data.sha256, accessGroups }))
        const id = newId()
        await store.insertArtefact(
          tx,
          {
            id,
            name: data.name,
            manufacturer: data.manufacturer,
            products: data.products,
            hardwareVersions: data.hardwareVersions ?? null,
            requires: data.requires ?? null,
            releaseNotes: data.releaseNotes ?? null,
            version: data.version,
            kind: data.kind,
            sha256: data.sha256,
            size: data.size,
            isComplete,
            signature: data.signature ?? null,
            signatureFormat: format,
            signatureState: 'unchecked',
            sourceAssetId: null,
            sourceAccessGroupId: null,
            createdById: caller.principal.id,
            createdByName: caller.principal.name,
          },
          now,
        )
        const row = requireFound(await store.findArtefact(tx, id), id)
        await storeSignatureState(tx, row)
        return reportArtefact(tx, caller, { id, action: 'createArtefact', event: 'created' })
      })
      return answer(201, { data: shown }, { location: `/updates/v1/artefacts/${shown.id}` })
    },

    async listArtefacts({ query: { limit = 50, offset = 0, kind, manufacturer, product, q } }, caller) {
      const accessGroups = groupsWith(caller, 'inventory_read_asset_data')
      return database.read(caller, async (handle) => {
        const filter = { kind, manufacturer, product, text: q === '' ? undefined : q, accessGroups }
        const { rows, total } = await store.listArtefacts(handle, filter, { limit, offset })
        const settings = await readSettings(handle)
        const data = rows.map((row) => showArtefact(row, settings))
        return { data, meta: { totalElements: total, elements: data.length, offset } }
      })
    },

    async readArtefact({ params: { id } }, caller) {
      const row = await requireArtefact(context, caller, id)
      return { data: showArtefact(row, await database.read(caller, readSettings)) }
    },

    async updateArtefact({ params: { id }, body: { data } }, caller) {
      await requireArtefact(context, caller, id)
      requireRanges(data.requires)
      const shown = await database.transaction(caller, async (tx) => {
        const row = requireFound(await store.lockArtefact(tx, id), id)
        const {
          name = row.name,
          products = row.products,
          requires = row.requires,
          releaseNotes = row.releaseNotes,
        } = data
        const hardwareVersions = data.hardwareVersions === undefined ? row.hardwareVersions : data.hardwareVersions
        const description = { name, products, hardwareVersions, requires, releaseNotes }
        await store.describeArtefact(tx, id, description, new Date().toISOString())
        return reportArtefact(tx, caller, { id, action: 'updateArtefact', event: 'changed' })
      })
      return { data: shown }
    },

    async deleteArtefact({ params: { id } }, caller) {
      await requireArtefact(context, caller, id)
      await database.transaction(caller, async (tx) => {
        const row = requireFound(await store.lockArtefact(tx, id), id)
        const campaign = await findUseOfArtefact(tx, id)
        if (campaign !== undefined)
          throw new Problem(
            'artefact_in_use',
            `The campaign "${campaign}" installs the artefact. Wait until it has ended, cancel it, or delete its draft`,
          )
        await removeArtefact(tx, caller, { row, action: 'deleteArtefact' })
      })
      return answer(204)
    },

    async putSignature({ params: { id }, body: { data } }, caller) {
      await requireArtefact(context, caller, id)
      const { format } = parseSignature(data.signature)
      const shown = await database.transaction(caller, async (tx) => {
        await lockTrustAnchors(tx)
        const row = requireFound(await store.lockArtefact(tx, id), id)
        const signed = { ...row, signature: data.signature }
        const { signatureState, signatureDetail } = await storeSignatureState(tx, signed)
        // A signature of another content must not replace a signature that matches.
        if (signatureState === 'invalid')
          throw new Problem('invalid_signature', `${signatureDetail}. Send the signature of this content`)
        const now = new Date().toISOString()
        await store.setSignature(tx, id, { signature: data.signature, format }, now)
        return reportArtefact(tx, caller, { id, action: 'putSignature', event: 'changed' })
      })
      return { data: shown }
    },
  }
}

/** Throws if a range of versions is not valid. */
function requireRanges(requires: Artefact['requires']): void {
  for (const { from } of requires ?? []) if (from !== undefined) parseVersionRange(from)
}

function requireFound(row: ArtefactRow | undefined, id: string): ArtefactRow {
  if (row === undefined) throw missingArtefact(id)
  return row
}

/**
 * Checks the signature of an artefact and stores the result. The caller holds the lock of the trust anchors, so that no
 * anchor is deleted meanwhile.
 */
export async function storeSignatureState(tx: Transaction, row: ArtefactRow): Promise<store.SignatureResultRow> {
  const content = row.isComplete ? await findContent(tx, row.sha256) : undefined
  const anchors = row.signature === null ? [] : await listTrustAnchors(tx)
  const result = checkedSignature(row.signature, content, { anchors, at: new Date() })
  await store.setSignatureState(tx, row.id, result)
  return result
}

export type ArtefactReport = { id: string; action: string; event: 'created' | 'changed' | 'completed' }

/** Writes the audit entry and the event of a change. Returns the artefact after the change. */
export async function reportArtefact(
  tx: Transaction,
  caller: Caller,
  { id, action, event }: ArtefactReport,
): Promise<Artefact> {
  const shown = await findShown(tx, id)
  const { name, manufacturer, version, kind, sha256, size, signature, isUsable, source } = shown
  const detail = { name, manufacturer, version, kind, sha256, size, signature: signature.state }
  await record(tx, caller, { action: `updates.${action}`, target: `artefact/${id}`, detail })
  await emit(tx, {
    type: `updates.artefact.${event}`,
    subject: `artefact/${id}`,
    data: {
      artefactId: id,
      name,
      version,
      kind,
      signature: signature.state,
      isUsable,
      content: shown.content.state,
      // Readers who cannot read the device of the artefact do not get the event.
      ...(source === undefined ? {} : { assetId: source.assetId }),
    },
  })
  return shown
}

async function findShown(handle: Handle, id: string): Promise<Artefact> {
  const row = requireFound(await store.findArtefact(handle, id), id)
  return showArtefact(row, await readSettings(handle))
}

/** Deletes an artefact with its upload and, if no other artefact has it, its content. */
export async function removeArtefact(
  tx: Transaction,
  caller: Parameters<typeof record>[1],
  { row, action }: { row: ArtefactRow; action: string },
): Promise<void> {
  const now = new Date().toISOString()
  const content = await lockContent(tx, row.sha256)
  await store.deleteArtefact(tx, row.id)
  await deleteUpload(tx, row.id, { now })
  if (content !== undefined) await deleteUnusedContent(tx, content, now)
  const { name, version, kind, sha256, sourceAssetId } = row
  const detail = { name, version, kind, sha256 }
  await record(tx, caller, { action: `updates.${action}`, target: `artefact/${row.id}`, detail })
  await emit(tx, {
    type: 'updates.artefact.deleted',
    subject: `artefact/${row.id}`,
    data: { artefactId: row.id, name, version, kind, ...(sourceAssetId === null ? {} : { assetId: sourceAssetId }) },
  })
}
