import { type AuditEntry, audit } from '@millwright/api/audit.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { findHead } from '../../platform/audit/store.ts'
import { verifyChain } from '../../platform/audit/verification.ts'
import type { Database } from '../../platform/database/database.ts'
import { exportedPage } from '../../platform/export-page.ts'
import { service } from '../../platform/service.ts'
import * as activity from './activity-store.ts'
import { cursorsFor, type Filters, type Selection, selectionOf } from './selection.ts'
import { countEntries, findEntry, listEntries, listLinks } from './store.ts'

/** The number of entries that one statement of an export reads. */
const stretch = 1_000

/**
 * The audit trail records which principal did which action, when and from which address. The platform writes it, and this
 * service reads it.
 */
export const auditService = service({
  contract: audit,
  handlers: ({ database, secrets }) => ({
    async listEntries({ query: { cursor, limit = 50, offset = 0, ...filters } }, caller) {
      const selection = selectionOf(filters)
      const cursors = cursorsFor(secrets, { tenantId: caller.tenantId, filters })
      const rest = cursor === undefined ? selection : { ...selection, beforeId: cursors.read(cursor) }
      return database.read(caller, async (handle) => {
        const totalElements = await countEntries(handle, selection)
        const rows = await listEntries(handle, rest, { limit: limit + 1, offset })
        const entries = rows.slice(0, limit)
        const last = entries.at(-1)
        const nextCursor = rows.length > limit && last !== undefined ? { nextCursor: cursors.next(last.id) } : {}
        return { data: entries, meta: { totalElements, elements: entries.length, offset, ...nextCursor } }
      })
    },

    async readEntry({ params }, caller) {
      const entry = await database.read(caller, (handle) => findEntry(handle, params.id))
      if (entry === undefined) throw new Problem('not_found', `Audit entry ${params.id} does not exist`)
      return { data: entry satisfies AuditEntry }
    },

    async exportEntries({ query }, caller) {
      return exportLines(database, caller, selectionOf(query satisfies Filters))
    },

    async exportSection({ body: { data } }, caller) {
      requirePermission(caller, 'glb_audit_read')
      const { cursor, count, ...filters } = data
      const selection = selectionOf(filters)
      const after = Number(cursor ?? 0)
      return database.read(caller, async (handle) => {
        const end = (await findHead(handle))?.sequence ?? 0
        const upTo = Math.min(after + stretch, end)
        const links = await listLinks(handle, selection, { after, upTo })
        const total = count ? { totalElements: await countEntries(handle, selection) } : {}
        const next = upTo < end ? { nextCursor: String(upTo) } : {}
        return exportedPage(
          { elements: links.length, ...total, ...next },
          links.map((link) => [JSON.stringify(link)]),
        )
      })
    },

    async listActivity({ body: { data } }, caller) {
      requirePermission(caller, 'glb_audit_read')
      const { before, limit, ...selected } = data
      const page = { limit, ...(before === undefined ? {} : { before }) }
      return { data: await database.read(caller, (handle) => activity.listActivity(handle, selected, page)) }
    },

    async countActivity({ body: { data } }, caller) {
      requirePermission(caller, 'glb_audit_read')
      const { bucketSeconds, ...selected } = data
      return { data: await database.read(caller, (handle) => activity.countActivity(handle, selected, bucketSeconds)) }
    },

    async listActors({ body: { data } }, caller) {
      requirePermission(caller, 'glb_audit_read')
      const { limit, ...selected } = data
      return { data: await database.read(caller, (handle) => activity.listActors(handle, selected, limit)) }
    },

    async verify(_, caller) {
      return { data: await verifyChain({ database, secrets }, caller) }
    },
  }),
})

/**
 * Exports the audit chain in sections. Each section is read separately, so an export of any size uses little memory and
 * holds no lock.
 */
async function* exportLines(database: Database, caller: Caller, selection: Selection): AsyncGenerator<string> {
  const end = (await database.read(caller, findHead))?.sequence ?? 0
  for (let after = 0; after < end; after += stretch) {
    const upTo = Math.min(after + stretch, end)
    const links = await database.read(caller, (handle) => listLinks(handle, selection, { after, upTo }))
    if (links.length > 0) yield `${links.map((link) => JSON.stringify(link)).join('\n')}\n`
  }
}
