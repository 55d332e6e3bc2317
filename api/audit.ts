import { type Static, Type } from 'typebox'
import { contract, media } from './contract.ts'
import { closed, data, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'

export const auditOutcomes = ['done', 'denied', 'failed'] as const

export const AuditEntry = closed({
  id: Uuid,
  time: Timestamp,
  sequence: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description: 'Position in the hash chain; null until the entry is sealed',
  }),
  action: Type.String({ description: 'The operation, for example `authorization.createGrant`' }),
  outcome: Type.Unsafe<(typeof auditOutcomes)[number]>(Type.String({ enum: [...auditOutcomes] })),
  principal: Type.Union([Uuid, Type.Null()]),
  principalName: Type.String(),
  principalKind: Type.String(),
  target: Type.Union([Type.String(), Type.Null()], { description: 'The affected object: `kind/id`' }),
  requestId: Type.Union([Type.String(), Type.Null()]),
  address: Type.Union([Type.String(), Type.Null()], { description: 'The IP address of the client' }),
  detail: Type.Record(Type.String(), Type.Unknown()),
})
export type AuditEntry = Static<typeof AuditEntry>

/** The filters of the audit trail. */
export const auditFilters = {
  action: Type.Optional(Type.String({ maxLength: 128 })),
  outcome: Type.Optional(Type.String({ enum: [...auditOutcomes] })),
  principal: Type.Optional(Uuid),
  target: Type.Optional(Type.String({ maxLength: 512 })),
  requestId: Type.Optional(Type.String({ maxLength: 128 })),
  from: Type.Optional(Type.String({ ...Timestamp, description: 'At or after this time' })),
  to: Type.Optional(Type.String({ ...Timestamp, description: 'Before this time' })),
}

const actionNames = Type.Array(Type.String({ maxLength: 128 }), { maxItems: 256 })

/** The entries that the activity service reads. */
const activitySelection = {
  from: Timestamp,
  to: Timestamp,
  principal: Type.Optional(Uuid),
  target: Type.Optional(Type.String({ maxLength: 512 })),
  outcomes: Type.Optional(Type.Array(oneOf(auditOutcomes), { minItems: 1 })),
  services: Type.Optional(
    Type.Unsafe<string[]>({ ...actionNames, description: 'Only actions of these contracts, and those in `actions`' }),
  ),
  actions: Type.Optional(actionNames),
  withoutActions: Type.Unsafe<string[]>({ ...actionNames, description: 'Without these actions' }),
  withoutDone: Type.Unsafe<string[]>({ ...actionNames, description: 'Without these actions if they succeeded' }),
  withoutAssigned: Type.Boolean({
    description: 'Without the relations of assignments to hierarchy nodes. The assignment has its own entry',
  }),
}

const count = Type.Integer({ minimum: 0 })

export const audit = contract({
  name: 'audit',
  title: 'Audit',
  description: 'All writes, sign-ins and refusals: append-only, in a tamper-evident hash chain.',
  version: '1.0.0',
  prefix: '/audit/v1',
  operations: {
    listEntries: {
      method: 'GET',
      path: '/entries',
      summary: 'List audit entries, newest first',
      access: 'glb_audit_read',
      query: closed({ ...auditFilters, ...pageQuery, cursor: Type.Optional(Type.String({ maxLength: 512 })) }),
      answers: { 200: page(AuditEntry) },
      errors: ['invalid_cursor'],
    },
    readEntry: {
      method: 'GET',
      path: '/entries/{id}',
      summary: 'Read an audit entry',
      access: 'glb_audit_read',
      params: closed({ id: Uuid }),
      answers: { 200: data(AuditEntry) },
      errors: ['not_found'],
    },
    exportEntries: {
      method: 'GET',
      path: '/export',
      summary: 'Export matching sealed entries as NDJSON with their hashes, oldest first',
      description: 'The response is streamed. `millwright audit verify --file` verifies an export on any machine.',
      access: 'glb_audit_read',
      query: closed(auditFilters),
      answers: { 200: media('application/x-ndjson') },
    },
    exportSection: {
      method: 'POST',
      path: '/export-pages',
      summary: 'A page of sealed entries with their hashes, for the export service',
      access: 'on-behalf',
      readOnly: true,
      body: data(
        closed({
          ...auditFilters,
          cursor: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })),
          count: Type.Boolean({ description: 'Whether the first line contains the total' }),
        }),
      ),
      answers: { 200: media('application/x-ndjson') },
    },
    listActivity: {
      method: 'POST',
      path: '/activity',
      summary: 'Audit entries in the name of a user, newest first, for the activity service',
      access: 'on-behalf',
      readOnly: true,
      body: data(
        closed({
          ...activitySelection,
          before: Type.Optional(Uuid),
          limit: Type.Integer({ minimum: 1, maximum: 500 }),
        }),
      ),
      answers: { 200: data(Type.Array(AuditEntry)) },
    },
    countActivity: {
      method: 'POST',
      path: '/activity/counts',
      summary: 'The number of audit entries per time span, in the name of a user',
      access: 'on-behalf',
      readOnly: true,
      body: data(closed({ ...activitySelection, bucketSeconds: Type.Integer({ minimum: 60 }) })),
      answers: { 200: data(Type.Array(closed({ time: Timestamp, count }))) },
    },
    listActors: {
      method: 'POST',
      path: '/activity/actors',
      summary: 'The principals with the most audit entries in a time range, in the name of a user',
      access: 'on-behalf',
      readOnly: true,
      body: data(closed({ ...activitySelection, limit: Type.Integer({ minimum: 1, maximum: 100 }) })),
      answers: { 200: data(Type.Array(closed({ id: Uuid, name: Type.String(), count }))) },
    },
    verify: {
      method: 'GET',
      path: '/verification',
      summary: 'Verify the hash chain',
      access: 'glb_audit_read',
      answers: {
        200: data(
          closed({
            intact: Type.Boolean(),
            checked: Type.Integer({ minimum: 0 }),
            head: Type.Union([closed({ sequence: Type.Integer(), hash: Type.String() }), Type.Null()]),
            firstFault: Type.Union([closed({ sequence: Type.Integer(), detail: Type.String() }), Type.Null()]),
          }),
        ),
      },
    },
  },
})
