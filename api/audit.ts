import { type Static, Type } from 'typebox'
import { contract, media } from './contract.ts'
import { closed, data, page, pageQuery, Timestamp, Uuid } from './envelope.ts'

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
