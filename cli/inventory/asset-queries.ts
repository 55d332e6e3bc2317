import type { AnswerOf } from '@millwright/api/contract.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { joinPath } from '@millwright/api/hierarchy-path.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { type HierarchyOption, hierarchyId, nodeId } from '../input/node-lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Row } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { assetColumns, columnsOf, namesIn, requireProperties } from './asset-columns.ts'
import { labelOf } from './asset-labels.ts'

export type Selection = {
  filter?: string
  relationsFilter?: string
  depth?: number
  ignoreCase?: boolean
  query?: string
  sort?: string
}

export type AssetListOptions = Selection & PagingOptions & { columns?: string; fields?: string; paths?: boolean }
export type NodeOptions = HierarchyOption & { node?: string; below?: boolean; unassigned?: string }
type NodeSelection = { hierarchyNode: string; includeBelow: boolean } | { unassignedIn: string } | undefined

/** Adds the options that select assets. They have the same names as the parameters of the API. */
export function withFilterOptions(command: Command): Command {
  return command
    .option('--filter <filter>', 'filter, such as "name eq \'Drive 12\'"; see docs/reference/filters.md')
    .option(
      '--relations-filter <filter>',
      "filter by relations: \"object.id eq '<id>' and predicate eq 'is_module_of'\"",
    )
    .option('--depth <count>', 'maximum length of a path of relations', wholeNumber(1, 10))
    .option('--ignore-case', 'compare text case-insensitively')
    .option('-q, --query <text>', 'full-text search (word prefixes)')
}

export function filterQuery({ filter, relationsFilter, depth, ignoreCase, query, sort }: Selection) {
  return {
    ...(filter === undefined ? {} : { filter }),
    ...(relationsFilter === undefined ? {} : { relationsFilter }),
    ...(depth === undefined ? {} : { depth }),
    ...(ignoreCase === true ? { caseInsensitive: true } : {}),
    ...(query === undefined ? {} : { q: query }),
    ...(sort === undefined ? {} : { sort }),
  }
}

/** Adds the options of a list of assets. */
export function withListOptions(command: Command): Command {
  return withPagingOptions(withFilterOptions(command))
    .option('--sort <properties>', 'sort order, such as name,-last_modified_timestamp')
    .option('--columns <names>', 'properties to show, separated by commas: name,vendor,firmware_version')
    .option('--fields <names>', 'only these fields in --json and --ndjson, separated by commas')
    .option('--paths', 'also the paths of the nodes of each asset, in the field hierarchy_paths')
}

/** Adds the options that select the assets of a node of a hierarchy. */
export function withNodeOptions(command: Command): Command {
  return command
    .option('--node <node>', 'assets of this node: id, or path in a hierarchy such as "Site 1/Line A"')
    .option('--below', 'with --node: also assets of all nodes below')
    .option('--unassigned <hierarchy>', 'assets without a node in this hierarchy')
    .option('--hierarchy <hierarchy>', 'hierarchy of the path in --node (default: the only hierarchy)')
}

export function addQueries(assets: Command, terminal: Terminal): void {
  platformCommand(
    withNodeOptions(withListOptions(assets.command('list').description('list matching assets'))),
    terminal,
    list,
  ).addHelpText(
    'after',
    `
Examples:
  millwright assets list -q drive --sort name
  millwright assets list --filter "management_state/state_value eq 'unknown'" --columns name,vendor,address
  millwright assets list --node 'Site 1/Line A' --below
  millwright assets list --all --ndjson --paths > assets.ndjson`,
  )

  platformCommand(
    assets
      .command('show')
      .description('show an asset, now or at an earlier time')
      .argument('<asset>', 'id or name')
      .option('--at <time>', 'point in time: 2026-01-31T08:30:00Z'),
    terminal,
    async (session, nameOrId: string, { at }: { at?: string }) => {
      const id = await assetId(session, nameOrId)
      const query = at === undefined ? {} : { at }
      await session.output.show(await session.api(inventory).readAsset({ params: { id }, query }))
    },
  )

  platformCommand(
    withPagingOptions(
      assets
        .command('history')
        .description('list changes with time, author and fields, newest first')
        .argument('<asset>'),
    ),
    terminal,
    history,
  )

  platformCommand(
    assets
      .command('sources')
      .description('list the source of each field that scans found, and the values that are not used')
      .argument('<asset>'),
    terminal,
    sources,
  )

  platformCommand(
    withFilterOptions(
      assets.command('count').description('count assets, in total or for each value of a property'),
    ).option('--by <property>', 'property, such as functional_object_type or management_state/state_value'),
    terminal,
    count,
  )

  platformCommand(
    assets
      .command('read')
      .description('read properties live from the device')
      .argument('<asset>')
      .argument('[keys...]', 'properties to read (default: all that the device supports)'),
    terminal,
    readDevice,
  )
}

async function list(session: Session, options: AssetListOptions & NodeOptions): Promise<void> {
  await listAssets(session, await nodeSelection(session, options), options)
}

/** Returns the query for the assets of a node, or for the assets without a node in a hierarchy. */
export async function nodeSelection(
  session: Session,
  { node, below = false, unassigned, hierarchy: tree }: NodeOptions,
): Promise<NodeSelection> {
  if (below && node === undefined) throw usageError('--below applies to --node.', 'pass --node with a node')
  if (node !== undefined && unassigned !== undefined)
    throw usageError('--node and --unassigned cannot be combined.', 'pass one of them')
  if (node !== undefined)
    return { hierarchyNode: await nodeId(session, node, { hierarchy: tree }), includeBelow: below }
  return unassigned === undefined ? undefined : { unassignedIn: await hierarchyId(session, unassigned) }
}

/**
 * Lists the assets that match the options. `nodes` limits the list to the assets of a node, or to the assets without a
 * node.
 */
export async function listAssets(
  session: Session,
  nodes: NodeSelection,
  { columns, fields, paths = false, ...options }: AssetListOptions,
): Promise<void> {
  const { api, output } = session
  const shown = columns === undefined ? assetColumns : await columnsOf(session, columns)
  if (fields !== undefined) await requireProperties(session, '--fields', namesIn(fields))
  const selection = {
    ...nodes,
    ...filterQuery(options),
    ...(fields === undefined ? {} : { fields: paths ? `id,${fields}` : fields }),
  }
  const pages = pagesOf(options, async (page) => {
    // With `--all`, the total is not requested, because the command does not need it and counting is expensive.
    const query = { ...selection, ...page, ...(options.all ? { count: false } : {}) }
    const answer = await api(inventory).listAssets({ query })
    return paths ? { ...answer, data: await withPaths(session, answer.data) } : answer
  })
  await output.list(await pages, {
    columns: paths ? { ...shown, path: pathsText } : shown,
    nothing: 'No asset matches.',
  })
}

type HierarchyPath = { hierarchy: string; path: string }

/** Adds the paths of the nodes of each asset, with one request for each 100 assets. */
async function withPaths(session: Session, assets: readonly Row[]): Promise<Row[]> {
  const assetIds = assets.map(({ id }) => String(id))
  const data: ListedPaths = []
  for (let start = 0; start < assetIds.length; start += hierarchyLimits.assetsWithPaths)
    data.push(...(await listPaths(session, assetIds.slice(start, start + hierarchyLimits.assetsWithPaths))))
  const pathsOf = new Map(
    data.map(({ assetId: id, paths }) => [
      id,
      paths.map(({ hierarchyName, path }): HierarchyPath => {
        return { hierarchy: hierarchyName, path: joinPath(path.map(({ name }) => name)) }
      }),
    ]),
  )
  return assets.map((asset) => ({ ...asset, hierarchy_paths: pathsOf.get(String(asset.id)) ?? [] }))
}

type ListedPaths = AnswerOf<(typeof hierarchy)['operations']['listPathsOfAssets']>['data']

/** Returns the paths of assets. If their paths are too long for one response, each half is requested separately. */
async function listPaths(session: Session, assetIds: string[]): Promise<ListedPaths> {
  try {
    return (await session.api(hierarchy).listPathsOfAssets({ body: { data: { assetIds } } })).data
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'conflict' || assetIds.length === 1) throw error
    const middle = Math.ceil(assetIds.length / 2)
    const halves = [assetIds.slice(0, middle), assetIds.slice(middle)]
    return (await Promise.all(halves.map((half) => listPaths(session, half)))).flat()
  }
}

function pathsText({ hierarchy_paths: paths }: Row): string {
  return (paths as HierarchyPath[]).map(({ hierarchy: name, path }) => `${name}: ${path}`).join(', ')
}

async function history(session: Session, nameOrId: string, options: PagingOptions): Promise<void> {
  const id = await assetId(session, nameOrId)
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
    nothing: 'No history.',
  })
}

async function sources(session: Session, nameOrId: string): Promise<void> {
  const id = await assetId(session, nameOrId)
  await session.output.list(await session.api(inventory).readFieldSources({ params: { id } }), {
    columns: {
      field: 'field',
      source: 'source',
      since: 'since',
      'not used': ({ others }) => (others as OtherValue[]).map(otherValueText).join(', '),
    },
    nothing: 'No sources. Only assets that scans found have them.',
  })
}

type OtherValue = { source: string; value: unknown }

function otherValueText({ source, value }: OtherValue): string {
  return `${typeof value === 'string' ? value : JSON.stringify(value)} (${source})`
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
    const { meta } = await api(inventory).listAssets({ query: { ...filterQuery(options), limit: 1, fields: 'id' } })
    return output.done(String(meta.totalElements ?? 0), { data: { count: meta.totalElements ?? 0 } })
  }
  const { filter, ignoreCase } = options
  const query = { by, ...filterQuery({ ...(filter === undefined ? {} : { filter }), ignoreCase: ignoreCase === true }) }
  const answer = await api(inventory).readFacets({ query })
  await output.list(answer, {
    columns: { count: 'count', [by]: ({ value }) => labelOf(by, value) ?? '(none)' },
    nothing: 'No asset matches.',
  })
}

async function readDevice(session: Session, nameOrId: string, requestedKeys: string[]): Promise<void> {
  const id = await assetId(session, nameOrId)
  const client = session.api(discovery)
  const keys =
    requestedKeys.length > 0
      ? requestedKeys
      : (await client.listSupportedProperties({ params: { id } })).data.map(({ key }) => key)
  const answer = await client.readProperties({ params: { id }, body: { data: { keys } } })
  await session.output.list(answer, {
    columns: { key: 'key', value: (row) => ('error' in row ? undefined : row.value), error: 'error.description' },
    nothing: 'The device has no properties.',
  })
}
