import { discovery } from '@millwright/api/discovery.ts'
import { inventory } from '@millwright/api/inventory.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { type Paging, paged, pagesOf, wholeNumber } from '../output/paging.ts'
import type { Row } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { assetColumns, columnsOf, namesIn, requireProperties } from './asset-columns.ts'

type Selection = {
  filter?: string
  relationsFilter?: string
  depth?: number
  ignoreCase?: boolean
  query?: string
  sort?: string
}

type ListOptions = Selection & Paging & { columns?: string; fields?: string }

/** The ways to say which assets are meant; the same as those of the API. */
export function selecting(command: Command): Command {
  return command
    .option('--filter <filter>', 'filter as in the API: "name eq \'Drive 12\'" (see docs/reference/filters.md)')
    .option('--relations-filter <filter>', "by relations: \"object.id eq '<id>' and predicate eq 'is_module_of'\"")
    .option('--depth <count>', 'maximum length of a chain of relations', wholeNumber(1, 10))
    .option('--ignore-case', 'ignore case in text comparisons')
    .option('-q, --query <text>', 'text search by word prefixes')
}

export function selectionOf({ filter, relationsFilter, depth, ignoreCase, query, sort }: Selection) {
  return {
    ...(filter === undefined ? {} : { filter }),
    ...(relationsFilter === undefined ? {} : { relationsFilter }),
    ...(depth === undefined ? {} : { depth }),
    ...(ignoreCase === true ? { caseInsensitive: true } : {}),
    ...(query === undefined ? {} : { q: query }),
    ...(sort === undefined ? {} : { sort }),
  }
}

export function addReading(assets: Command, terminal: Terminal): void {
  online(
    paged(selecting(assets.command('list').description('list matching assets')))
      .option('--sort <properties>', 'name,-last_modified_timestamp')
      .option('--columns <names>', 'properties to show, separated by commas: name,vendor,firmware_version')
      .option('--fields <names>', 'only these fields in --json and --ndjson, separated by commas'),
    terminal,
    list,
  ).addHelpText(
    'after',
    `
Examples:
  millwright assets list -q drive --sort name
  millwright assets list --filter "management_state/state_value eq 'unknown'" --columns name,asset_identifiers
  millwright assets list --all --ndjson > assets.ndjson`,
  )

  online(
    assets
      .command('show')
      .description('show an asset, now or at an earlier time')
      .argument('<asset>', 'its id or its name')
      .option('--at <time>', 'as it was then: 2026-01-31T08:30:00Z'),
    terminal,
    async (session, given: string, { at }: { at?: string }) => {
      const id = await assetId(session, given)
      const query = at === undefined ? {} : { at }
      await session.output.show(await session.api(inventory).readAsset({ params: { id }, query }))
    },
  )

  online(
    paged(assets.command('history').description('show the changes of an asset, newest first').argument('<asset>')),
    terminal,
    history,
  )

  online(
    selecting(assets.command('count').description('count assets, in total or by a property')).option(
      '--by <property>',
      'of each value of a property: functional_object_type, management_state/state_value …',
    ),
    terminal,
    count,
  )

  online(
    assets
      .command('read')
      .description('read properties from the device')
      .argument('<asset>')
      .argument('[keys...]', 'which ones (default: all that it can be asked for)'),
    terminal,
    readDevice,
  )
}

async function list(session: Session, { columns, fields, ...options }: ListOptions): Promise<void> {
  const { api, output } = session
  const shown = columns === undefined ? assetColumns : await columnsOf(session, columns)
  if (fields !== undefined) await requireProperties(session, '--fields', namesIn(fields))
  const selection = { ...selectionOf(options), ...(fields === undefined ? {} : { fields }) }
  const pages = pagesOf(options, (asked) =>
    // Whoever wants all of them counts them by seeing them.
    api(inventory).listAssets({ query: { ...selection, ...asked, ...(options.all ? { count: false } : {}) } }),
  )
  await output.list(await pages, {
    columns: shown,
    nothing: 'No asset matches.',
  })
}

async function history(session: Session, given: string, options: Paging): Promise<void> {
  const id = await assetId(session, given)
  const pages = pagesOf(options, ({ limit, offset }) =>
    session.api(inventory).readHistory({ params: { id }, query: { limit, offset } }),
  )
  await session.output.list(await pages, {
    columns: {
      version: 'version',
      time: 'time',
      change: 'change',
      by: 'principalName',
      source: 'source.type',
      fields: ({ before, after }) => changedFields(before, after),
    },
    nothing: 'Nothing is known of its past.',
  })
}

function changedFields(before: unknown, after: unknown): string[] {
  const [old, now] = [before ?? {}, after ?? {}] as Row[]
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])]
  return names.filter(
    (name) => name !== 'last_modified_timestamp' && JSON.stringify(old?.[name]) !== JSON.stringify(now?.[name]),
  )
}

async function count({ api, output }: Session, { by, ...options }: Selection & { by?: string }): Promise<void> {
  if (by === undefined) {
    const { meta } = await api(inventory).listAssets({ query: { ...selectionOf(options), limit: 1, fields: 'id' } })
    return output.done(String(meta.totalElements ?? 0), { data: { count: meta.totalElements ?? 0 } })
  }
  const { filter, ignoreCase } = options
  const query = { by, ...selectionOf({ ...(filter === undefined ? {} : { filter }), ignoreCase: ignoreCase === true }) }
  const answer = await api(inventory).readFacets({ query })
  await output.list(answer, {
    columns: { count: 'count', [by]: ({ value }) => value ?? '(none)' },
    nothing: 'No asset matches.',
  })
}

async function readDevice(session: Session, given: string, wanted: string[]): Promise<void> {
  const id = await assetId(session, given)
  const client = session.api(discovery)
  const keys =
    wanted.length > 0 ? wanted : (await client.listSupportedProperties({ params: { id } })).data.map(({ key }) => key)
  const answer = await client.readProperties({ params: { id }, body: { data: { keys } } })
  await session.output.list(answer, {
    columns: { key: 'key', value: (row) => ('error' in row ? undefined : row.value), error: 'error.description' },
    nothing: 'The device has no properties.',
  })
}
