import { Type } from 'typebox'
import { closed, data, Uuid } from '../envelope.ts'
import { inventoryLimits } from './shapes.ts'

/**
 * Operations with which other services report observations, for example that a gateway found assets. If a
 * service reports the same observation again, only timestamps change.
 */

const source = Type.String({ minLength: 1, maxLength: 256, description: 'The observing instance: source.value' })

const LinkEvent = data(closed({ assetLink: Uuid, gateway: Uuid, source: Type.Optional(source) }))

const Stated = data(closed({ created: Type.Integer({ minimum: 0 }), refreshed: Type.Integer({ minimum: 0 }) }))

export const systemEventOperations = {
  recordFound: {
    method: 'POST',
    path: '/system-events/found',
    summary: 'Record that a gateway, an asset link or both found assets',
    access: 'peer',
    body: data(
      closed({
        gateway: Type.Optional(Uuid),
        assetLink: Type.Optional(Uuid),
        assets: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.batch }),
        source,
      }),
    ),
    answers: { 200: Stated },
    errors: ['asset_not_found'],
  },
  recordLinkInstalled: {
    method: 'POST',
    path: '/system-events/link-installed',
    summary: 'Record that an asset link is installed on a gateway',
    access: 'peer',
    body: LinkEvent,
    answers: { 200: Stated },
    errors: ['asset_not_found'],
  },
  recordLinkRunning: {
    method: 'POST',
    path: '/system-events/link-running',
    summary: 'Record that an asset link runs on a gateway',
    access: 'peer',
    body: LinkEvent,
    answers: { 200: Stated },
    errors: ['asset_not_found'],
  },
  recordLinkStopped: {
    method: 'POST',
    path: '/system-events/link-stopped',
    summary: 'Record that an asset link no longer runs on a gateway; it stays installed',
    access: 'peer',
    body: data(closed({ assetLink: Uuid, gateway: Uuid })),
    answers: { 200: data(closed({ deleted: Type.Integer({ minimum: 0 }) })) },
  },
  findLinkRelations: {
    method: 'POST',
    path: '/system-events/link-relations',
    summary: 'List the relations between asset links and a gateway that system events created',
    access: 'peer',
    readOnly: true,
    body: data(
      closed({ gateway: Uuid, assetLinks: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.batch }) }),
    ),
    answers: {
      200: data(
        Type.Array(
          closed({
            assetLink: Uuid,
            predicate: Type.Union([Type.Literal('is_installed_on'), Type.Literal('is_running_on')]),
          }),
        ),
      ),
    },
  },
  findGone: {
    method: 'POST',
    path: '/system-events/gone',
    summary: 'Find the deleted assets among these ids, and the assets they were merged into',
    access: 'peer',
    readOnly: true,
    body: data(closed({ assets: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.batch }) })),
    answers: { 200: data(Type.Array(closed({ assetId: Uuid, mergedInto: Type.Optional(Uuid) }))) },
  },
} as const
