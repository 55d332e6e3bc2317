import { inventory, type Relation } from '@millwright/api/inventory.ts'
import type { Command } from 'commander'
import { assetId } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type Asked, type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { confirm } from './asset-changes.ts'
import { addStating } from './relation-creation.ts'
import { columnsWith, entityText, learnSome, type Names } from './relation-table.ts'

type ListOptions = Paging & { filter?: string; sort?: string; ignoreCase?: boolean; asset?: string }

export function addCommands(relations: Command, terminal: Terminal): void {
  online(
    paged(relations.command('list').description('list matching relations, or the relations of an asset'))
      .option('--asset <asset>', 'in and out of this asset, by id or name')
      .option('--filter <filter>', 'as in the API: "predicate eq \'is_module_of\'"')
      .option('--ignore-case', 'ignore case in text comparisons')
      .option('--sort <properties>', 'predicate,-createdTimestamp'),
    terminal,
    list,
  ).addHelpText(
    'after',
    `
Examples:
  millwright relations list --asset 'Rack 1'
  millwright relations list --filter "predicate eq 'is_module_of'" --all --ndjson`,
  )

  addStating(relations, terminal)

  online(
    relations
      .command('delete')
      .description('delete relations by id or by a specific filter')
      .argument('[ids...]')
      .option('--filter <filter>', "names a subject or an object: \"object.id eq '…' and predicate eq 'is_module_of'\"")
      .option('--yes', 'do not ask for confirmation'),
    terminal,
    remove,
  )

  online(
    paged(
      relations
        .command('history')
        .description('show who created and deleted the relations of an asset, newest first')
        .argument('<asset>', 'id or name of an asset'),
    ),
    terminal,
    history,
  )

  online(
    relations.command('predicates').description('list the predicates in use, with counts'),
    terminal,
    async ({ api, output }) =>
      output.list(await api(inventory).listPredicates({}), {
        columns: { count: 'count', predicate: 'predicate' },
        nothing: 'There are no relations yet.',
      }),
  )
}

async function list(session: Session, { filter, sort, ignoreCase, asset, ...options }: ListOptions): Promise<void> {
  const client = session.api(inventory)
  if (asset !== undefined && filter !== undefined) throw usageError('--asset and --filter do not go together.')
  const id = asset === undefined ? undefined : await assetId(session, asset)
  const names: Names = new Map()
  const ask = (asked: Asked) =>
    id === undefined
      ? client.listRelations({
          query: {
            ...asked,
            ...(options.all ? { count: false } : {}),
            ...(filter === undefined ? {} : { filter }),
            ...(sort === undefined ? {} : { sort }),
            ...(ignoreCase ? { caseInsensitive: true } : {}),
          },
        })
      : client.listAssetRelations({ params: { id }, query: { limit: asked.limit, offset: asked.offset } })
  const pages = pagesOf(options, async (asked) => {
    const page = await ask(asked)
    await learnSome(session, page.data, names)
    return page
  })
  await session.output.list(await pages, { columns: columnsWith(names), nothing: 'No relation matches.' })
}

async function history(session: Session, given: string, options: Paging): Promise<void> {
  const id = await assetId(session, given)
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
    nothing: 'It was never related to anything.',
  })
}

async function remove(session: Session, ids: string[], options: { filter?: string; yes?: boolean }): Promise<void> {
  const client = session.api(inventory)
  if (ids.length > 0) {
    await confirm(session, `Delete ${ids.length} relations?`, options)
    const answer = await client.deleteRelations({ body: { data: { ids } } })
    const { deleted, notFound } = answer.data
    return session.output.done(
      `${deleted} deleted${notFound.length === 0 ? '' : `, not there: ${notFound.join(', ')}`}`,
      answer,
    )
  }
  const { filter } = options
  if (filter === undefined) throw usageError('Say which relations are meant.', 'give their ids or --filter')
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
