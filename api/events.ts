import { type Static, Type } from 'typebox'
import { contract, eventStreamType, media } from './contract.ts'
import { closed, pageLimits, Timestamp, Uuid } from './envelope.ts'
import { subscriptionOperations } from './event-subscriptions.ts'

/** The prefix of all event types: a reversed domain, as CloudEvents recommends. */
export const eventTypePrefix = 'io.millwright.'

/** An event in the JSON format of CloudEvents 1.0. */
export const CloudEvent = closed({
  specversion: Type.Literal('1.0'),
  id: Uuid,
  source: Type.String({ description: 'The tenant: `/tenants/<name>`' }),
  type: Type.String({ description: 'The event type, for example `io.millwright.authorization.grant.created`' }),
  subject: Type.String({ description: 'The changed object: `kind/id`' }),
  time: Timestamp,
  datacontenttype: Type.Literal('application/json'),
  sequence: Type.String({
    pattern: '^\\d{16}$',
    description: 'Position in the order of all events of the tenant, without gaps; padded so that it sorts as text',
  }),
  data: Type.Record(Type.String(), Type.Unknown()),
})
export type CloudEvent = Static<typeof CloudEvent>

const Position = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const events = contract({
  name: 'events',
  title: 'Events',
  description: 'Every change as a CloudEvent, in one order per tenant, kept for 30 days.',
  version: '1.0.0',
  prefix: '/events/v1',
  // The target is part of the request. In remote access, it is the current state of a device.
  errorStatuses: { target_not_allowed: 400 },
  operations: {
    listEvents: {
      method: 'GET',
      path: '/events',
      summary: 'List events in order, after a position',
      description:
        'Send `meta.lastPosition` as `after` to read the next events: each event is returned exactly once. If `after` is ' +
        'lower than `meta.oldestPosition` - 1, some events have been deleted.',
      access: 'glb_audit_read',
      query: closed({
        after: Type.Optional(
          Type.Unsafe<number>({ ...Position, default: 0, description: 'The last received position' }),
        ),
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
              description: 'Position of the last event on this page, or `after` if the page is empty',
            }),
            oldestPosition: Type.Union([Position, Type.Null()], { description: 'The oldest stored event' }),
            newestPosition: Type.Unsafe<number>({ ...Position, description: 'The newest event' }),
          }),
        }),
      },
    },
    streamEvents: {
      method: 'GET',
      path: '/stream',
      summary: 'Stream events as server-sent events',
      description:
        'One message per readable event: `id` is its position, `event` its type, `data` the CloudEvent. The stream starts ' +
        'with the next event, or after the position in `Last-Event-ID` or `after`. Each event is sent exactly once. A message ' +
        'with only an `id` confirms the position and the connection. A message `end` contains a problem document with ' +
        'the reason for the end of the stream: the token has expired, or the account can no longer read events.',
      access: 'signed-in',
      headers: ['last-event-id'],
      query: closed({
        after: Type.Optional(
          Type.Unsafe<number>({ ...Position, description: 'The last position seen; `Last-Event-ID` has precedence' }),
        ),
        types: Type.Optional(
          Type.String({
            maxLength: 2_000,
            pattern: '^[a-z0-9_.-]+(?:,[a-z0-9_.-]+)*$',
            description:
              'prefixes of event types in whole words, separated by commas: `inventory.asset,inventory.relation.created`',
          }),
        ),
        subject: Type.Optional(
          Type.String({
            maxLength: 500,
            pattern: '^[^*]+\\*?$',
            description: 'a subject, or a prefix followed by `*`: `asset/*`',
          }),
        ),
      }),
      answers: { 200: media(eventStreamType) },
      errors: ['events_gone', 'invalid_cursor', 'invalid_header'],
    },
    ...subscriptionOperations,
  },
})
