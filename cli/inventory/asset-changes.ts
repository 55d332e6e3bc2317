import { type AssetDocument, inventory, inventoryLimits } from '@millwright/api/inventory.ts'
import type { Command } from 'commander'
import { assetIds, propertyKey, readAsset } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { counted } from '../output/text.ts'
import { online, repeated } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { settings } from './asset-creation.ts'
import { selecting, selectionOf } from './asset-queries.ts'
import { outcomeOf, type Result, requireAll, waiting } from './write-status.ts'

type Chosen = Parameters<typeof selectionOf>[0] & { yes?: boolean }

const states = {
  onboard: { value: 'regarded', description: 'onboard assets: accept them as part of the plant' },
  ignore: { value: 'ignored', description: 'ignore assets' },
  restore: { value: 'unknown', description: 'return assets to the inbox' },
} as const

export function addChanges(assets: Command, terminal: Terminal): void {
  for (const [name, { value, description }] of Object.entries(states)) {
    online(
      choosing(assets.command(name).description(description)),
      terminal,
      (session, given: string[], options: Chosen) =>
        change(session, { given, options }, (ids) =>
          session.api(inventory).setManagementStates({
            body: { data: ids.map((asset_id) => ({ asset_id, state_value: value })) },
            headers: waiting,
          }),
        ),
    )
  }

  online(
    choosing(assets.command('move').description('move assets to another access group')).requiredOption(
      '--to <group>',
      'name or id of the access group',
    ),
    terminal,
    (session, given: string[], options: Chosen & { to: string }) =>
      change(session, { given, options }, (ids) =>
        session.api(inventory).setAccessGroups({
          body: { data: ids.map((asset_id) => ({ asset_id, access_group: options.to })) },
          headers: waiting,
        }),
      ),
  )

  online(
    choosing(
      assets
        .command('delete')
        .description('delete assets and all their relations, for good; gateways are revoked with their assets'),
    ),
    terminal,
    (session, given: string[], options: Chosen) =>
      change(session, { given, options, asks: 'Delete' }, (ids) =>
        session.api(inventory).deleteAssets({ body: { data: { ids } }, headers: waiting }),
      ),
  )

  online(
    assets
      .command('update')
      .description('change fields of an asset')
      .argument('<asset>')
      .option('--name <name>', 'the name of the asset')
      .option('--responsible <who>', 'the responsible user')
      .option('--firmware <version>', 'the firmware version')
      .option('--set <field=value>', 'any other field; the value is JSON or text, null clears it', repeated)
      .option('--property <name=value>', 'a custom property; an empty value removes it', repeated),
    terminal,
    update,
  ).addHelpText(
    'after',
    `
Examples:
  millwright assets update 'Drive 12' --responsible jane.doe --firmware V4.1.2
  millwright assets update 'Drive 12' --set description='left of the door' --property 'Cost centre=4711'`,
  )
}

function choosing(command: Command): Command {
  return selecting(command.argument('[assets...]', 'ids or names, or select assets with a filter')).option(
    '--yes',
    'do not ask for confirmation',
  )
}

type Change = { given: readonly string[]; options: Chosen; asks?: string }

/** Assets that were named, or all that match a filter, in as many requests as it takes. */
async function change(
  session: Session,
  { given, options, asks }: Change,
  send: (ids: string[]) => Promise<{ data: { statusId: string } }>,
): Promise<void> {
  const ids = given.length > 0 ? await assetIds(session, given) : await matching(session, options)
  if (ids.length === 0) return session.terminal.tell('No asset matches.')
  if (given.length === 0 || asks !== undefined)
    await confirm(session, `${asks ?? 'Change'} ${counted(ids.length, 'asset')}?`, options)
  const results: Result[] = []
  for (let from = 0; from < ids.length; from += inventoryLimits.bulk) {
    const part = ids.slice(from, from + inventoryLimits.bulk)
    results.push(...(await outcomeOf(session, await send(part))))
    session.terminal.progress(`${results.length} of ${ids.length}`)
  }
  requireAll(session, results, ids)
  const counts = Map.groupBy(results, ({ outcome }) => outcome ?? 'done')
  const said = [...counts].map(([outcome, { length }]) => `${length} ${outcome}`).join(', ')
  await session.output.done(said, { data: results })
}

async function matching({ api }: Session, options: Chosen): Promise<string[]> {
  const selection = selectionOf(options)
  if (Object.keys(selection).length === 0)
    throw usageError('Say which assets are meant.', 'name them, or give --filter or -q')
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

export async function confirm({ terminal }: Session, question: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes === true) return
  if (!terminal.canAsk) throw usageError(`${question} Standard input is not a terminal.`, 'pass --yes to confirm')
  const answer = await terminal.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw usageError('Nothing was changed.')
}

type UpdateOptions = { name?: string; responsible?: string; firmware?: string; set?: string[]; property?: string[] }

async function update(session: Session, given: string, options: UpdateOptions): Promise<void> {
  const asset = await readAsset(session, given)
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
    steps.push(() => client.setName({ params: { id }, body: { data: { name } }, headers: waiting }))
  if (responsible !== undefined)
    steps.push(() => client.setResponsible({ params: { id }, body: { data: { responsible } }, headers: waiting }))
  if (firmware !== undefined)
    steps.push(() =>
      client.setFirmwareVersion({ params: { id }, body: { data: { version: firmware } }, headers: waiting }),
    )
  for (const text of options.property ?? []) {
    const [name = '', value = ''] = text.split(/=(.*)/s)
    const key = await propertyKey(session, name)
    steps.push(() =>
      value === ''
        ? client.deletePropertyValues({ body: { data: [{ asset_id: id, key }] }, headers: waiting })
        : client.setPropertyValues({ body: { data: [{ asset_id: id, key, value }] }, headers: waiting }),
    )
  }
  if (steps.length === 0) throw usageError('Say what to change.', 'millwright assets update --help')
  for (const step of steps) requireAll(session, await outcomeOf(session, await step()), [id])
  await session.output.done(`${id} updated`, await client.readAsset({ params: { id } }))
}

/** The API knows an asset by its identifiers: the same ones, with what is to change. */
function fieldsChange(
  { functional_object_type, asset_identifiers, access_group }: AssetDocument,
  fields: AssetDocument,
) {
  const asset = { functional_object_type, asset_identifiers, access_group, ...fields }
  return { body: { data: { asset, meta: { source: { type: 'manual' as const } } } }, query: {}, headers: waiting }
}
