import { createHash } from 'node:crypto'
import { parseTrustAnchor } from '@millwright/api/artefact-signature.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type TrustAnchor, updateLimits, type updates } from '@millwright/api/updates.ts'
import { record } from '../../platform/audit/audit.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { distrustAnchor } from './artefact-store.ts'
import type { TrustAnchorRow } from './trust-anchor-store.ts'
import * as store from './trust-anchor-store.ts'

type Operations = 'listTrustAnchors' | 'createTrustAnchor' | 'deleteTrustAnchor' | 'readSettings' | 'putSettings'

/** The certificates and public keys that can sign artefacts, and whether unsigned artefacts can be installed. */
export function trustAnchorHandlers({ database }: Context): Pick<Handlers<typeof updates>, Operations> {
  return {
    async listTrustAnchors({ query: { limit = 50, offset = 0 } }, caller) {
      const rows = await database.read(caller, store.listTrustAnchors)
      const data = rows.slice(offset, offset + limit).map(showTrustAnchor)
      return { data, meta: { totalElements: rows.length, elements: data.length, offset } }
    },

    async createTrustAnchor({ body: { data } }, caller) {
      const { format, publicKey, fingerprint, subject, notAfter } = parseTrustAnchor(data.publicKey)
      const keyHash = createHash('sha256').update(publicKey).digest()
      const { id: createdById, name: createdByName } = caller.principal
      const now = new Date().toISOString()
      const row = await database.transaction(caller, async (tx) => {
        await store.lockTrustAnchors(tx)
        if ((await store.listTrustAnchors(tx)).length >= updateLimits.trustAnchors)
          throw new Problem(
            'conflict',
            `The tenant has ${updateLimits.trustAnchors} trust anchors. Delete trust anchors that are not needed`,
          )
        const inserted = await store.insertTrustAnchor(
          tx,
          {
            id: newId(),
            name: data.name,
            format,
            publicKey,
            keyHash,
            fingerprint,
            subject: subject ?? null,
            notAfter: notAfter?.toISOString() ?? null,
            createdById,
            createdByName,
          },
          now,
        )
        if (inserted === undefined)
          throw new Problem('already_exists', `A trust anchor with the fingerprint ${fingerprint} already exists`)
        await store.setNeedsCheck(tx, true, now)
        const target = `trust-anchor/${inserted.id}`
        const detail = { name: data.name, format, fingerprint }
        await record(tx, caller, { action: 'updates.createTrustAnchor', target, detail })
        await emit(tx, { type: 'updates.trust-anchor.created', subject: target, data: { ...detail, id: inserted.id } })
        return inserted
      })
      return answer(201, { data: showTrustAnchor(row) })
    },

    async deleteTrustAnchor({ params: { id } }, caller) {
      await database.transaction(caller, async (tx) => {
        await store.lockTrustAnchors(tx)
        const row = await store.deleteTrustAnchor(tx, id)
        if (row === undefined) throw new Problem('not_found', `Trust anchor ${id} does not exist`)
        const { name, format, fingerprint } = row
        // The trust ends now. Another anchor may confirm a signature too, which the check of all signatures finds.
        const artefacts = await distrustAnchor(tx, id, `The trust anchor ${name} was deleted`)
        await store.setNeedsCheck(tx, true, new Date().toISOString())
        const target = `trust-anchor/${id}`
        const detail = { name, format, fingerprint, artefacts: artefacts.length }
        await record(tx, caller, { action: 'updates.deleteTrustAnchor', target, detail })
        await emit(tx, {
          type: 'updates.trust-anchor.deleted',
          subject: target,
          data: { id, name, format, fingerprint },
        })
      })
      return answer(204)
    },

    async readSettings(_request, caller) {
      return { data: await database.read(caller, store.readSettings) }
    },

    async putSettings({ body: { data: settings } }, caller) {
      await database.transaction(caller, async (tx) => {
        const before = await store.readSettings(tx)
        await store.putSettings(tx, settings, new Date().toISOString())
        const detail = { before, after: settings }
        await record(tx, caller, { action: 'updates.putSettings', target: 'update-settings', detail })
        await emit(tx, { type: 'updates.settings.changed', subject: 'update-settings', data: settings })
      })
      return { data: settings }
    },
  }
}

function showTrustAnchor(row: TrustAnchorRow): TrustAnchor {
  const { id, name, format, publicKey, fingerprint, subject, notAfter, createdById, createdByName, createdAt } = row
  return {
    id,
    name,
    format,
    publicKey,
    fingerprint,
    ...(subject === null ? {} : { subject }),
    ...(notAfter === null ? {} : { notAfter }),
    createdBy: { id: createdById, name: createdByName },
    createdTimestamp: createdAt,
  }
}
