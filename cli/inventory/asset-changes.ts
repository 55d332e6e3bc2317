import { type AssetDocument, inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { assetIds, propertyKey, readAsset } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatCount } from '../output/text.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { settings } from './asset-creation.ts'
import { filterQuery, withFilterOptions } from './asset-queries.ts'
import { type Result, resultsOrThrow, throwOnFailure, waitHeaders } from './write-status.ts'

type SelectionOptions = Parameters<typeof filterQuery>[0] & { yes?: boolean }

const states = {
  onboard: { value: 'regarded', description: 'onboard assets' },
  ignore: { value: 'ignored', description: 'ignore assets' },
  restore: { value: 'unknown', description: 'return assets to the inbox as new' },
} as const

export function addChanges(assets: Command, terminal: Terminal): void {
  for (const [name, { value, description }] of Object.entries(states)) {
    platformCommand(
      withSelectionOptions(assets.command(name).description(description)),
      terminal,
      (session, assets: string[], options: SelectionOptions) =>
        change(session, { assets, options }, (ids) =>
          session.api(inventory).setManagementStates({
            body: { data: ids.map((asset_id) => ({ asset_id, state_value: value })) },
            headers: waitHeaders,
          }),
        ),
    )
  }

  platformCommand(
    withSelectionOptions(assets.command('move').description('move assets to another access group')).requiredOption(
      '--to <group>',
      'name or id of the access group',
    ),
    terminal,
    (session, assets: string[], options: SelectionOptions & { to: string }) =>
      change(session, { assets, options }, (ids) =>
        session.api(inventory).setAccessGroups({
          body: { data: ids.map((asset_id) => ({ asset_id, access_group: options.to })) },
          headers: waitHeaders,
        }),
      ),
  )

  platformCommand(
    withSelectionOptions(
      assets
        .command('delete')
        .description('permanently delete assets and their relations; gateways are revoked with their assets'),
    ),
    terminal,
    (session, assets: string[], options: SelectionOptions) =>
      change(session, { assets, options, verb: 'Delete' }, (ids) =>
        session.api(inventory).deleteAssets({ body: { data: { ids } }, headers: waitHeaders }),
      ),
  )

  platformCommand(
    assets
      .command('update')
      .description('change fields of an asset; fields that are not named keep their values')
      .argument('<asset>')
      .option('--name <name>', 'name')
      .option('--responsible <who>', 'responsible person')
      .option('--firmware <version>', 'firmware version')
      .option('--set <field=value>', 'any other field; the value is JSON or text, null clears it; repeatable', collect)
      .option('--property <name=value>', 'custom property; an empty value removes it; repeatable', collect),
    terminal,
    update,
  ).addHelpText(
    'after',
    `
Examples:
  millwright assets update 'Drive 12' --responsible jane.doe --firmware V4.1.2
  millwright assets update 'Drive 12' --set description='left of the gate' --property 'Cost centre=4711'`,
  )
}

function withSelectionOptions(command: Command): Command {
  return withFilterOptions(command.argument('[assets...]', 'ids or names; or select assets with a filter')).option(
    '--yes',
    'do not ask for confirmation',
  )
}

type BulkChange = { assets: readonly string[]; options: SelectionOptions; verb?: string }

/** Changes the given assets in batches. If no assets are given, changes all assets that match the filter. */
async function change(
  session: Session,
  { assets, options, verb }: BulkChange,
  send: (ids: string[]) => Promise<{ data: { statusId: string } }>,
): Promise<void> {
  const ids = assets.length > 0 ? await assetIds(session, assets) : await matching(session, options)
  if (ids.length === 0) return session.terminal.note('No asset matches.')
  if (assets.length === 0 || verb !== undefined)
    await confirm(session, `${verb ?? 'Change'} ${formatCount(ids.length, 'asset')}?`, options)
  const results: Result[] = []
  for (let from = 0; from < ids.length; from += inventoryLimits.bulk) {
    const part = ids.slice(from, from + inventoryLimits.bulk)
    results.push(...(await resultsOrThrow(session, await send(part))))
    session.terminal.progress(`${results.length} of ${ids.length}`)
  }
  throwOnFailure(session, results, ids)
  const counts = Map.groupBy(results, ({ outcome }) => outcome ?? 'done')
  const summary = [...counts].map(([outcome, { length }]) => `${length} ${outcome}`).join(', ')
  await session.output.done(summary, { data: results })
}

async function matching({ api }: Session, options: SelectionOptions): Promise<string[]> {
  const selection = filterQuery(options)
  if (Object.keys(selection).length === 0) throw usageError('No assets specified.', 'pass names or ids, --filter or -q')
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const query = { ...selection, fields: 'id', limit: 100, count: false, ...(cursor === undefined ? {} : { cursor }) }
    const { data, meta } = await api(inventory).listAssets({ query })
    ids.push(...data.map(({ id }) => String(id)))
    cursor = meta.nextCursor
  } while (cursor !== undefined)
  return ids
}

type UpdateOptions = { name?: string; responsible?: string; firmware?: string; set?: string[]; property?: string[] }

async function update(session: Session, nameOrId: string, options: UpdateOptions): Promise<void> {
  const asset = await readAsset(session, nameOrId)
  const id = String(asset.id)
  const client = session.api(inventory)
  const steps: (() => Promise<{ data: { statusId: string } }>)[] = []
  const fields = settings(options.set)
  if (Object.keys(fields).length > 0) {
    const { data: identifiers } = await client.readIdentifiers({ params: { id } })
    steps.push(() => client.createAsset(fieldsChange({ ...asset, asset_identifiers: identifiers }, fields)))
  }
  const { name, responsible, firmware } = options
  if (name !== undefined)
    steps.push(() => client.setName({ params: { id }, body: { data: { name } }, headers: waitHeaders }))
  if (responsible !== undefined)
    steps.push(() => client.setResponsible({ params: { id }, body: { data: { responsible } }, headers: waitHeaders }))
  if (firmware !== undefined)
    steps.push(() =>
      client.setFirmwareVersion({ params: { id }, body: { data: { version: firmware } }, headers: waitHeaders }),
    )
  for (const text of options.property ?? []) {
    const [name = '', value = ''] = text.split(/=(.*)/s)
    const key = await propertyKey(session, name)
    steps.push(() =>
      value === ''
        ? client.deletePropertyValues({ body: { data: [{ asset_id: id, key }] }, headers: waitHeaders })
        : client.setPropertyValues({ body: { data: [{ asset_id: id, key, value }] }, headers: waitHeaders }),
    )
  }
  if (steps.length === 0) throw usageError('No change specified.', 'millwright assets update --help')
  for (const step of steps) throwOnFailure(session, await resultsOrThrow(session, await step()), [id])
  await session.output.done(`${id} updated`, await client.readAsset({ params: { id } }))
}

/**
 * Returns the request that changes fields of an asset. The request contains the identifiers of the asset, because the
 * API finds the asset by its identifiers.
 */
function fieldsChange(
  { functional_object_type, asset_identifiers, access_group }: AssetDocument,
  fields: AssetDocument,
) {
  const asset = { functional_object_type, asset_identifiers, access_group, ...fields }
  return { body: { data: { asset, meta: { source: { type: 'manual' as const } } } }, query: {}, headers: waitHeaders }
}
