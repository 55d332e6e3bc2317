import { type Static, Type } from 'typebox'
import { contract, eventStreamType, media } from './contract.ts'
import { closed, pageLimits, Timestamp, Uuid } from './envelope.ts'

/** What the types of our events begin with, as CloudEvents recommends: a reversed domain. */
export const eventTypePrefix = 'io.millwright.'

/** CloudEvents 1.0 in its JSON format. */
export const CloudEvent = closed({
  specversion: Type.Literal('1.0'),
  id: Uuid,
  source: Type.String({ description: 'Whose event it is: `/tenants/<name>`' }),
  type: Type.String({ description: 'What happened, e.g. `io.millwright.authorization.grant.created`' }),
  subject: Type.String({ description: 'What it happened to: `kind/id`' }),
  time: Timestamp,
  datacontenttype: Type.Literal('application/json'),
  sequence: Type.String({
    pattern: '^\\d{16}$',
    description: 'Position in the order of all events of the tenant, without gaps; padded, so that it sorts as text',
  }),
  data: Type.Record(Type.String(), Type.Unknown()),
})
export type CloudEvent = Static<typeof CloudEvent>

const Position = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const events = contract({
  name: 'events',
  title: 'Events',
  description: 'Every change, in one order per tenant, as CloudEvents. Kept for 30 days.',
  version: '1.0.0',
  prefix: '/events/v1',
  operations: {
    listEvents: {
      method: 'GET',
      path: '/events',
      summary: 'Events in order, from a position on',
      description:
        'Pass `meta.lastPosition` as `after` to go on: nothing is skipped and nothing comes twice. When `after` lies ' +
        'before `meta.oldestPosition` - 1, events in between are no longer kept.',
      access: 'glb_audit_read',
      query: closed({
        after: Type.Optional(Type.Unsafe<number>({ ...Position, default: 0, description: 'The last position seen' })),
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: pageLimits.maximum,
            default: pageLimits.default,
            description: 'Page size',
          }),
        ),
      }),
      answers: {
        200: closed({
          data: Type.Array(CloudEvent),
          meta: closed({
            elements: Type.Integer({ minimum: 0 }),
            lastPosition: Type.Unsafe<number>({
              ...Position,
              description: 'Position of the last event of this page, or `after` when the page is empty',
            }),
            oldestPosition: Type.Union([Position, Type.Null()], { description: 'The oldest event that is kept' }),
            newestPosition: Type.Unsafe<number>({ ...Position, description: 'The newest event there is' }),
          }),
        }),
      },
    },
    streamEvents: {
      method: 'GET',
      path: '/stream',
      summary: 'Events as they happen, as server-sent events',
      description:
        'One message per event that you may read: `id` is its position, `event` its type, `data` the CloudEvent. Begins ' +
        'now, or after the position in `Last-Event-ID` or `after`: nothing is skipped and nothing comes twice. Messages ' +
        'that are only an `id` say how far you are, and that the connection lives. A message `end` says, as a problem ' +
        'document, why the stream ends: the token has expired, or your account may not read any more.',
      access: 'signed-in',
      headers: ['last-event-id'],
      query: closed({
        after: Type.Optional(
          Type.Unsafe<number>({ ...Position, description: 'The last position seen; `Last-Event-ID` goes before it' }),
        ),
        types: Type.Optional(
          Type.String({
            maxLength: 2_000,
            pattern: '^[a-z0-9_.-]+(?:,[a-z0-9_.-]+)*$',
            description:
              'beginnings of event types separated by commas, in whole words: `inventory.asset,inventory.relation.created`',
          }),
        ),
        subject: Type.Optional(
          Type.String({
            maxLength: 500,
            pattern: '^[^*]+\\*?$',
            description: 'a subject, or its beginning followed by `*`: `asset/*`',
          }),
        ),
      }),
      answers: { 200: media(eventStreamType) },
      errors: ['events_gone', 'invalid_cursor', 'invalid_header'],
    },
  },
})
