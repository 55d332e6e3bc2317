import { inventory, type Relation } from '@millwright/api/inventory/inventory.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { assetId } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type PageRequest, type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addRelationCreation } from './relation-creation.ts'
import { columnsWith, entityText, type Names, readNamesIfAllowed } from './relation-table.ts'

type ListOptions = PagingOptions & { filter?: string; sort?: string; ignoreCase?: boolean; asset?: string }

export function addCommands(relations: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(relations.command('list').description('list matching relations, or the relations of an asset'))
      .option('--asset <asset>', 'id or name of an asset; incoming and outgoing relations')
      .option('--filter <filter>', 'filter, such as "predicate eq \'is_module_of\'"')
      .option('--ignore-case', 'compare text case-insensitively')
      .option('--sort <properties>', 'sort order, such as predicate,-createdTimestamp'),
    terminal,
    list,
  ).addHelpText(
    'after',
    `
Examples:
  millwright relations list --asset 'Rack 1'
  millwright relations list --filter "predicate eq 'is_module_of'" --all --ndjson`,
  )

  addRelationCreation(relations, terminal)

  platformCommand(
    relations
      .command('delete')
      .description('delete relations by id or by filter')
      .argument('[ids...]')
      .option(
        '--filter <filter>',
        "filter with a subject or object: \"object.id eq '…' and predicate eq 'is_module_of'\"",
      )
      .option('--yes', 'do not ask for confirmation'),
    terminal,
    remove,
  )

  platformCommand(
    withPagingOptions(
      relations
        .command('history')
        .description('list added and deleted relations of an asset, newest first')
        .argument('<asset>', 'id or name'),
    ),
    terminal,
    history,
  )

  platformCommand(
    relations.command('predicates').description('list predicates with their number of relations'),
    terminal,
    async ({ api, output }) =>
      output.list(await api(inventory).listPredicates({}), {
        columns: { count: 'count', predicate: 'predicate' },
        nothing: 'No relations yet.',
      }),
  )
}

async function list(session: Session, { filter, sort, ignoreCase, asset, ...options }: ListOptions): Promise<void> {
  const client = session.api(inventory)
  if (asset !== undefined && filter !== undefined) throw usageError('--asset and --filter cannot be combined.')
  const id = asset === undefined ? undefined : await assetId(session, asset)
  const names: Names = new Map()
  const readPage = (page: PageRequest) =>
    id === undefined
      ? client.listRelations({
          query: {
            ...page,
            ...(options.all ? { count: false } : {}),
            ...(filter === undefined ? {} : { filter }),
            ...(sort === undefined ? {} : { sort }),
            ...(ignoreCase ? { caseInsensitive: true } : {}),
          },
        })
      : client.listAssetRelations({ params: { id }, query: { limit: page.limit, offset: page.offset } })
  const pages = pagesOf(options, async (request) => {
    const page = await readPage(request)
    await readNamesIfAllowed(session, page.data, names)
    return page
  })
  await session.output.list(await pages, { columns: columnsWith(names), nothing: 'No relation matches.' })
}

async function history(session: Session, nameOrId: string, options: PagingOptions): Promise<void> {
  const id = await assetId(session, nameOrId)
  const pages = pagesOf(options, ({ limit, offset }) =>
    session.api(inventory).readRelationHistory({ params: { id }, query: { limit, offset } }),
  )
  await session.output.list(await pages, {
    columns: {
      time: 'time',
      change: 'change',
      by: 'principalName',
      subject: ({ relation, subjectName }) => subjectName ?? entityText((relation as Relation).subject),
      predicate: 'relation.predicate',
      object: ({ relation, objectName }) => objectName ?? entityText((relation as Relation).object),
      source: 'source.type',
    },
    nothing: 'No relation history.',
  })
}

async function remove(session: Session, ids: string[], options: { filter?: string; yes?: boolean }): Promise<void> {
  const client = session.api(inventory)
  if (ids.length > 0) {
    await confirm(session, `Delete ${ids.length} relations?`, options)
    const answer = await client.deleteRelations({ body: { data: { ids } } })
    const { deleted, notFound } = answer.data
    return session.output.done(
      `${deleted} deleted${notFound.length === 0 ? '' : `, not found: ${notFound.join(', ')}`}`,
      answer,
    )
  }
  const { filter } = options
  if (filter === undefined) throw usageError('No relations specified.', 'pass ids or --filter')
  const { meta } = await client.listRelations({ query: { filter, limit: 1 } })
  await confirm(session, `Delete ${meta.totalElements} relations?`, options)
  let deleted = 0
  for (let left = Number.POSITIVE_INFINITY; left > 0; ) {
    const { data } = await client.deleteRelationsByFilter({ query: { relationsFilter: filter } })
    deleted += data.deleted
    left = data.deletable - data.deleted
    if (data.deleted === 0) break
  }
  await session.output.done(`${deleted} deleted`, { data: { deleted } })
}
