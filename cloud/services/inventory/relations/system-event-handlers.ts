import type { inventory, SourceType } from '@millwright/api/inventory/inventory.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { emitAll, emitLast } from '../../../platform/events/events.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { findGroups } from '../assets/asset-store.ts'
import { authorOf, type RelationInput, relationEvents } from './relation.ts'
import { endRelations, lockAssets, putRelations } from './relation-store.ts'
import { findLinkRelations, findMergedInto, findRunning } from './system-event-store.ts'

type Names =
  | 'recordFound'
  | 'recordLinkInstalled'
  | 'recordLinkRunning'
  | 'recordLinkStopped'
  | 'findLinkRelations'
  | 'findGone'

/** The default source of the relations that an event of an asset link creates. */
export const linkEventSource = 'millwright.cdm.gateway.assetlinkdiscovery'

/** The id of an asset and its JSON pointer in the request body. */
type AssetReference = { pointer: string; id: string }
type LinkEvent = { assetLink: string; gateway: string; source?: string }

export function systemEventHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  const recordLink = (
    caller: Caller,
    { data, predicate, operation }: { data: LinkEvent; predicate: string; operation: Names },
  ) =>
    database.transaction(caller, async (tx) => {
      await requireAssets(tx, [...reference('assetLink', data.assetLink), ...reference('gateway', data.gateway)])
      const source = { type: 'assetlinkdiscovery', value: data.source ?? linkEventSource } as const
      const relations = [relationInput(data.assetLink, predicate, { object: data.gateway, source })]
      return writeRelations(tx, caller, { relations, operation, target: data.assetLink })
    })

  return {
    async recordFound({ body: { data } }, caller) {
      const { gateway, assetLink, assets } = data
      const finders = [...reference('gateway', gateway), ...reference('assetLink', assetLink)]
      const [finder] = finders
      if (finder === undefined) throw missingFinder()
      const source = { type: 'discovery', value: data.source } as const
      return database.transaction(caller, async (tx) => {
        const references = assets.map((id, index): AssetReference => ({ pointer: `/data/assets/${index}`, id }))
        await requireAssets(tx, [...finders, ...references])
        const relations = assets.flatMap((id) => [
          ...(gateway === undefined ? [] : [relationInput(id, 'found_by_gateway', { object: gateway, source })]),
          ...(assetLink === undefined ? [] : [relationInput(id, 'found_by_asset_link', { object: assetLink, source })]),
        ])
        return writeRelations(tx, caller, { relations, operation: 'recordFound', target: finder.id })
      })
    },

    recordLinkInstalled: ({ body: { data } }, caller) =>
      recordLink(caller, { data, predicate: 'is_installed_on', operation: 'recordLinkInstalled' }),

    recordLinkRunning: ({ body: { data } }, caller) =>
      recordLink(caller, { data, predicate: 'is_running_on', operation: 'recordLinkRunning' }),

    /**
     * Records that an asset link stopped. It also succeeds for deleted assets, because their relations have already ended.
     */
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

    /**
     * Returns which of the assets are deleted, not which of them exist. If an answer is incomplete, the caller
     * therefore removes too little data, never too much.
     */
    async findGone({ body: { data } }, caller) {
      return database.read(caller, async (handle) => {
        const existing = await findGroups(handle, data.assets)
        const deleted = [...new Set(data.assets)].filter((id) => !existing.has(id))
        const mergedInto = await findMergedInto(handle, deleted)
        return {
          data: deleted.map((assetId) => {
            const into = mergedInto.get(assetId)
            return { assetId, ...(into === undefined ? {} : { mergedInto: into }) }
          }),
        }
      })
    },
  }
}

function reference(field: string, id: string | undefined): AssetReference[] {
  return id === undefined ? [] : [{ pointer: `/data/${field}`, id }]
}

function missingFinder(): Problem {
  const detail = 'must contain a gateway or an asset link'
  return new Problem('invalid_body', `/data ${detail}`, { errors: [{ pointer: '/data', code: 'required', detail }] })
}

type ObjectAndSource = { object: string; source: { type: SourceType; value: string } }

function relationInput(subject: string, predicate: string, { object, source }: ObjectAndSource): RelationInput {
  return { subject: { type: 'asset', id: subject }, predicate, object: { type: 'asset', id: object }, source }
}

async function requireAssets(tx: Transaction, references: readonly AssetReference[]): Promise<void> {
  const existing = await lockAssets(tx, [...new Set(references.map(({ id }) => id))], null)
  const errors = references
    .filter(({ id }) => !existing.has(id))
    .map(({ pointer, id }): FieldError => ({ pointer, code: 'asset_not_found', detail: `Asset ${id} does not exist` }))
  if (errors[0] !== undefined) throw new Problem('asset_not_found', errors[0].detail, { errors })
}

type SystemEvent = { relations: readonly RelationInput[]; operation: Names; target: string }

/** Writes the relations of an event with one audit entry, even if the event names many assets. */
async function writeRelations(tx: Transaction, caller: Caller, { relations, operation, target }: SystemEvent) {
  const author = authorOf(caller)
  const put = await putRelations(
    tx,
    relations.map((relation) => ({ ...relation, author })),
  )
  const created = put.filter(({ outcome }) => outcome === 'created').map(({ relation }) => relation)
  const counts = {
    created: created.length,
    refreshed: new Set(put.map(({ relation: { id } }) => id)).size - created.length,
  }
  await record(tx, caller, { action: `inventory.${operation}`, target: `asset/${target}`, detail: counts })
  await emitLast(tx, relationEvents('created', created))
  return { data: counts }
}
