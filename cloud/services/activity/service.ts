import { activity } from '@millwright/api/activity.ts'
import { audit } from '@millwright/api/audit.ts'
import { changeLimits } from '@millwright/api/inventory/changes.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { type Context, type Handlers, service } from '../../platform/service.ts'
import { activityQueries } from './activity-queries.ts'
import { cursorsFor } from './cursor.ts'
import { kindsOf, namesOf, readPage } from './entries.ts'
import { auditEntry, changeEntry } from './entry.ts'
import { exportedEntries } from './export.ts'
import { auditSelected, changesSelected, type Filters, rangeOf } from './selection.ts'

const bucketSeconds = { minute: 60, hour: 3_600, day: 86_400 } as const

type ListOptions = { filters: Filters; cursor: string | undefined; limit: number; groupId?: string }

/**
 * The activity of a tenant: the changes of assets and the audit trail as one list, for people. The service stores nothing. It
 * reads the inventory and the audit trail in the name of the caller.
 */
export const activityService = service({
  contract: activity,
  handlers: (context): Handlers<typeof activity> => ({
    listEntries: ({ query: { cursor, limit = 50, ...filters } }, caller) =>
      listEntries(context, caller, { filters, cursor, limit }),

    listGroupEntries: ({ params: { id }, query: { cursor, limit = 50, ...filters } }, caller) =>
      listEntries(context, caller, { filters, cursor, limit, groupId: id }),

    async readEntry({ params: { id } }, caller) {
      const [source, entryId = '', version = ''] = id.split('.')
      if (source === 'audit') {
        const { data } = await context.peers(audit, caller).readEntry({ params: { id: entryId } })
        const names = await namesOf(context, caller, [data])
        return { data: { entry: auditEntry(data, names), audit: data } }
      }
      const { data } = await context.peers(inventory, caller).readChange({ params: { assetId: entryId, version } })
      const { before, after, ...change } = data
      const kinds = await kindsOf(context, caller, [change])
      return { data: { entry: changeEntry(change, kinds), before, after } }
    },

    async readHistogram({ query: { bucket, ...filters } }, caller) {
      const range = rangeOf(filters)
      const seconds = bucketSeconds[bucket]
      if ((Date.parse(range.to) - Date.parse(range.from)) / (seconds * 1_000) > changeLimits.buckets)
        throw new Problem(
          'invalid_query',
          `The range has more than ${changeLimits.buckets} buckets. Choose a later start, or count by day`,
        )
      const [changes, trail] = [changesSelected(filters, range, caller), auditSelected(filters, range, caller)]
      const [counts, entries] = await activityQueries.run(caller.tenantId, () =>
        Promise.all([
          changes === undefined
            ? []
            : context
                .peers(inventory, caller)
                .countChanges({ body: { data: { ...changes, bucketSeconds: seconds } } })
                .then(({ data }) => data),
          trail === undefined
            ? []
            : context
                .peers(audit, caller)
                .countActivity({ body: { data: { ...trail, bucketSeconds: seconds } } })
                .then(({ data }) => data),
        ]),
      )
      const buckets = new Map(counts.map((count) => [count.time, { ...count, other: 0 }]))
      for (const { time, count: other } of entries) {
        const bucketAt = buckets.get(time) ?? { time, created: 0, updated: 0, deleted: 0, other: 0 }
        buckets.set(time, { ...bucketAt, other })
      }
      return { data: [...buckets.values()].toSorted((a, b) => (a.time < b.time ? -1 : 1)) }
    },

    async listPeople({ query }, caller) {
      const range = rangeOf(query)
      const [changes, trail] = [changesSelected({}, range, caller), auditSelected({}, range, caller)]
      const limit = changeLimits.people
      const lists = await activityQueries.run(caller.tenantId, async () =>
        Promise.all([
          changes === undefined
            ? []
            : (await context.peers(inventory, caller).listChangeAuthors({ body: { data: range } })).data,
          trail === undefined
            ? []
            : (await context.peers(audit, caller).listActors({ body: { data: { ...trail, limit } } })).data,
        ]),
      )
      const people = new Map<string, { id: string; name: string; count: number }>()
      for (const { id, name, count } of lists.flat())
        people.set(id, { id, name, count: (people.get(id)?.count ?? 0) + count })
      return { data: [...people.values()].toSorted((a, b) => b.count - a.count).slice(0, limit) }
    },

    exportEntries: async ({ query: { format = 'csv', ...filters } }, caller) =>
      exportedEntries(context, caller, { filters, format }),
  }),
})

async function listEntries(context: Context, caller: Caller, { filters, cursor, limit, groupId }: ListOptions) {
  const cursors = cursorsFor(context.secrets, {
    tenantId: caller.tenantId,
    filters: { ...filters, ...(groupId === undefined ? {} : { groupId }) },
  })
  const position = cursor === undefined ? {} : { position: cursors.read(cursor) }
  const { entries, next } = await readPage(context, caller, filters, {
    limit,
    isGrouped: groupId === undefined,
    ...position,
    ...(groupId === undefined ? {} : { groupId }),
  })
  const nextCursor = next === undefined ? {} : { nextCursor: cursors.write(next) }
  return { data: entries, meta: { elements: entries.length, ...nextCursor } }
}
