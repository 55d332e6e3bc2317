import { isIPv6 } from 'node:net'
import type { inventory, SourceType } from '@millwright/api/inventory.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { emitAll, emitLast } from '../../../platform/events/events.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { normaliseIpv4, normaliseIpv6 } from '../assets/address.ts'
import { findGroups } from '../assets/asset-store.ts'
import { authorOf, relationEvents, type StatedRelation } from './relation.ts'
import { endRelations, lockAssets, putRelations } from './relation-store.ts'
import { findLinkRelations, findMergedInto, findRunning, locate } from './system-event-store.ts'

type Names =
  | 'recordFound'
  | 'recordLinkInstalled'
  | 'recordLinkRunning'
  | 'recordLinkStopped'
  | 'findLinkRelations'
  | 'locateAssets'
  | 'findGone'

/** Who says that links are installed or run, when the event does not say it itself. */
export const linkEventSource = 'millwright.cdm.gateway.assetlinkdiscovery'

type Named = { pointer: string; id: string }
type LinkEvent = { assetLink: string; gateway: string; source?: string }

export function systemEventHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  const recordLink = (
    caller: Caller,
    { data, predicate, operation }: { data: LinkEvent; predicate: string; operation: Names },
  ) =>
    database.transaction(caller, async (tx) => {
      await requireThere(tx, [named('assetLink', data.assetLink), named('gateway', data.gateway)])
      const source = { type: 'assetlinkdiscovery', value: data.source ?? linkEventSource } as const
      const stated = [relation(data.assetLink, predicate, { object: data.gateway, source })]
      return stateAll(tx, caller, { stated, operation, target: data.assetLink })
    })

  return {
    async recordFound({ body: { data } }, caller) {
      const { gateway, assetLink, assets } = data
      const finders = [...named('gateway', gateway), ...named('assetLink', assetLink)]
      const [finder] = finders
      if (finder === undefined) throw nobodyFound()
      const source = { type: 'discovery', value: data.source } as const
      return database.transaction(caller, async (tx) => {
        const found = assets.map((id, index): Named => ({ pointer: `/data/assets/${index}`, id }))
        await requireThere(tx, [...finders, ...found])
        const stated = assets.flatMap((id) => [
          ...(gateway === undefined ? [] : [relation(id, 'found_by_gateway', { object: gateway, source })]),
          ...(assetLink === undefined ? [] : [relation(id, 'found_by_asset_link', { object: assetLink, source })]),
        ])
        return stateAll(tx, caller, { stated, operation: 'recordFound', target: finder.id })
      })
    },

    recordLinkInstalled: ({ body: { data } }, caller) =>
      recordLink(caller, { data, predicate: 'is_installed_on', operation: 'recordLinkInstalled' }),

    recordLinkRunning: ({ body: { data } }, caller) =>
      recordLink(caller, { data, predicate: 'is_running_on', operation: 'recordLinkRunning' }),

    /** Of assets that are gone there is nothing left to end: that is no fault of who tells it. */
    async recordLinkStopped({ body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const running = await findRunning(tx, data)
        const ended = await endRelations(tx, running, authorOf(caller))
        await emitAll(tx, relationEvents('deleted', ended))
        await record(tx, caller, {
          action: 'inventory.recordLinkStopped',
          target: `asset/${data.assetLink}`,
          detail: { gateway: data.gateway, deleted: ended.length },
        })
        return { data: { deleted: ended.length } }
      })
    },

    async findLinkRelations({ body: { data } }, caller) {
      return { data: await database.read(caller, (handle) => findLinkRelations(handle, data)) }
    },

    async locateAssets({ body: { data } }, caller) {
      const written = data.addresses.map((address) => (isIPv6(address) ? normaliseIpv6 : normaliseIpv4)(address))
      const rows = await database.read(caller, (handle) => locate(handle, data.gateway, [...new Set(written)]))
      const byAddress = Map.groupBy(rows, ({ address }) => address)
      return {
        data: data.addresses.map((address, index) => ({
          address,
          assetIds: (byAddress.get(written[index] ?? '') ?? []).map(({ assetId }) => assetId),
        })),
      }
    },

    /** Names what is gone, not what is there: a mistake on the way makes nobody forget anything. */
    async findGone({ body: { data } }, caller) {
      return database.read(caller, async (handle) => {
        const there = await findGroups(handle, data.assets)
        const gone = [...new Set(data.assets)].filter((id) => !there.has(id))
        const mergedInto = await findMergedInto(handle, gone)
        return {
          data: gone.map((assetId) => {
            const into = mergedInto.get(assetId)
            return { assetId, ...(into === undefined ? {} : { mergedInto: into }) }
          }),
        }
      })
    },
  }
}

function named(field: string, id: string | undefined): Named[] {
  return id === undefined ? [] : [{ pointer: `/data/${field}`, id }]
}

function nobodyFound(): Problem {
  const detail = 'names neither a gateway nor an asset link'
  return new Problem('invalid_body', `/data ${detail}`, { errors: [{ pointer: '/data', code: 'required', detail }] })
}

type Rest = { object: string; source: { type: SourceType; value: string } }

function relation(subject: string, predicate: string, { object, source }: Rest): StatedRelation {
  return { subject: { type: 'asset', id: subject }, predicate, object: { type: 'asset', id: object }, source }
}

async function requireThere(tx: Transaction, all: readonly (Named | readonly Named[])[]): Promise<void> {
  const wanted = all.flat()
  const there = await lockAssets(tx, [...new Set(wanted.map(({ id }) => id))], null)
  const errors = wanted
    .filter(({ id }) => !there.has(id))
    .map(({ pointer, id }): FieldError => ({ pointer, code: 'asset_not_found', detail: `There is no asset ${id}` }))
  if (errors[0] !== undefined) throw new Problem('asset_not_found', errors[0].detail, { errors })
}

type Telling = { stated: readonly StatedRelation[]; operation: Names; target: string }

/** One entry in the audit log for each event, however many assets it is about. */
async function stateAll(tx: Transaction, caller: Caller, { stated, operation, target }: Telling) {
  const author = authorOf(caller)
  const put = await putRelations(
    tx,
    stated.map((each) => ({ ...each, author })),
  )
  const created = put.filter(({ outcome }) => outcome === 'created').map(({ relation: made }) => made)
  const counts = {
    created: created.length,
    refreshed: new Set(put.map(({ relation: { id } }) => id)).size - created.length,
  }
  await record(tx, caller, { action: `inventory.${operation}`, target: `asset/${target}`, detail: counts })
  await emitLast(tx, relationEvents('created', created))
  return { data: counts }
}
