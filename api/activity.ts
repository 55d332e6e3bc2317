import { type Static, Type } from 'typebox'
import { activityKinds } from './activity-kinds.ts'
import { AuditEntry, auditOutcomes } from './audit.ts'
import { contract, media } from './contract.ts'
import { closed, data, Timestamp, Uuid } from './envelope.ts'
import { ChangeCause, ChangeGroup, changeFields, changeLimits } from './inventory/changes.ts'
import { Document, oneOf } from './inventory/shapes.ts'

export * from './activity-kinds.ts'

const AssetObject = closed({
  kind: Type.String({ description: 'The kind of the object: `asset`, or the kind in the target of an audit entry' }),
  id: Type.String(),
  name: Type.Optional(Type.String()),
  type: Type.Optional(Type.String({ description: 'The type of an asset' })),
})

const author = {
  principal: changeFields.principal,
  principalName: changeFields.principalName,
  principalKind: Type.Optional(
    Type.String({
      description:
        'The kind of the principal, for example `user`, `server_user` or `gateway`. Absent if it was deleted',
    }),
  ),
}

const ActivityEntry = closed({
  id: Type.String({ description: '`asset.<id>.<version>` for a change of an asset, `audit.<id>` for an audit entry' }),
  time: Timestamp,
  ...author,
  action: Type.String({
    description: '`created`, `updated` or `deleted` for an asset, or the action of an audit entry',
  }),
  outcome: oneOf(auditOutcomes),
  object: Type.Optional(AssetObject),
  source: Type.Optional(changeFields.source),
  changes: changeFields.changes,
  cause: Type.Optional(ChangeCause),
  group: Type.Optional(
    Type.Unsafe<Static<typeof ChangeGroup>>({
      ...ChangeGroup,
      description: 'The changes of the same operation. They are listed by `GET /groups/{id}/entries`',
    }),
  ),
  detail: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'The details of an audit entry' })),
  names: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'The names of the ids in `detail`' })),
})
export type ActivityEntry = Static<typeof ActivityEntry>

/** The longest time range, and the largest number of exported entries. */
export const activityLimits = { rangeDays: 366, exported: 100_000 } as const

const filters = {
  from: Type.Optional(
    Type.String({ ...Timestamp, description: 'At or after this time. The default is 7 days before `to`' }),
  ),
  to: Type.Optional(Type.String({ ...Timestamp, description: 'Before this time. The default is now' })),
  person: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'Only entries of this principal' })),
  asset: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'Only entries about this asset' })),
  object: Type.Optional(
    Type.String({ maxLength: 512, description: 'Only audit entries about this object, in the form `kind/id`' }),
  ),
  node: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'Only changes of assets at this hierarchy node or below it' }),
  ),
  kind: Type.Optional(oneOf(activityKinds)),
  all: Type.Optional(
    Type.Boolean({ default: false, description: 'Includes background traffic such as tokens and heartbeats' }),
  ),
}

const pagination = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'Page size' })),
  cursor: Type.Optional(Type.String({ maxLength: 512, description: '`meta.nextCursor` of the previous page' })),
}

const entries = closed({
  data: Type.Array(ActivityEntry),
  meta: closed({
    elements: Type.Integer({ minimum: 0 }),
    nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page' })),
  }),
})

const filterErrors = ['invalid_query', 'invalid_cursor', 'node_not_found', 'forbidden'] as const
const count = Type.Integer({ minimum: 0 })

export const activity = contract({
  name: 'activity',
  title: 'Activity',
  description:
    'What happened, newest first: changes of readable assets with old and new values, and audit entries for callers with `glb_audit_read`.',
  version: '1.0.0',
  prefix: '/activity/v1',
  operations: {
    listEntries: {
      method: 'GET',
      path: '/entries',
      summary: 'List the activity, newest first; the changes of a scan, import, campaign or bulk edit are one entry',
      description:
        'A caller without `glb_audit_read` gets only changes of readable assets. A page can have fewer entries than `limit`; the list ends with the page without `meta.nextCursor`.',
      access: 'signed-in',
      query: closed({ ...filters, ...pagination }),
      answers: { 200: entries },
      errors: filterErrors,
    },
    listGroupEntries: {
      method: 'GET',
      path: '/groups/{id}/entries',
      summary: 'List the changes of one scan, import, campaign or bulk edit, newest first',
      access: 'signed-in',
      params: closed({ id: Uuid }),
      query: closed({ ...filters, ...pagination }),
      answers: { 200: entries },
      errors: filterErrors,
    },
    readEntry: {
      method: 'GET',
      path: '/entries/{id}',
      summary: 'Read an entry with the complete documents of the asset, or the complete audit entry',
      access: 'signed-in',
      params: closed({
        id: Type.String({ pattern: '^(asset\\.[0-9a-f-]{36}\\.[1-9][0-9]{0,14}|audit\\.[0-9a-f-]{36})$' }),
      }),
      answers: {
        200: data(
          closed({
            entry: ActivityEntry,
            before: Type.Optional(Type.Union([Document, Type.Null()])),
            after: Type.Optional(Type.Union([Document, Type.Null()])),
            audit: Type.Optional(AuditEntry),
          }),
        ),
      },
      errors: ['not_found', 'forbidden'],
    },
    readHistogram: {
      method: 'GET',
      path: '/histogram',
      summary: 'Count the activity by minute, hour or day',
      description: `The first bucket starts at \`from\`. Buckets without activity are left out. A range has at most ${changeLimits.buckets} buckets.`,
      access: 'signed-in',
      query: closed({ ...filters, bucket: oneOf(['minute', 'hour', 'day'] as const) }),
      answers: {
        200: data(
          Type.Array(closed({ time: Timestamp, created: count, updated: count, deleted: count, other: count })),
        ),
      },
      errors: filterErrors,
    },
    listPeople: {
      method: 'GET',
      path: '/people',
      summary: 'List the accounts and gateways with the most activity in a time range',
      access: 'signed-in',
      query: closed({ from: filters.from, to: filters.to }),
      answers: { 200: data(Type.Array(closed({ id: Uuid, name: Type.String(), count }))) },
      errors: ['invalid_query'],
    },
    exportEntries: {
      method: 'GET',
      path: '/export',
      summary: 'Export the activity as CSV or NDJSON, one line per change, newest first',
      description: `At most ${activityLimits.exported.toLocaleString('en')} entries. The response is streamed.`,
      access: 'glb_file_export',
      query: closed({ ...filters, format: Type.Optional(oneOf(['csv', 'ndjson'] as const)) }),
      answers: { 200: media('text/csv; charset=utf-8', 'application/x-ndjson') },
      errors: filterErrors,
    },
  },
})
