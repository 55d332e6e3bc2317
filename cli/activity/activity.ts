import { type ActivityEntry, type ActivityKind, activity, activityKinds } from '@millwright/api/activity.ts'
import type { FieldChange } from '@millwright/api/inventory/changes.ts'
import { type Command, Option } from 'commander'
import { assetId, isId, requireSingle } from '../input/lookup.ts'
import { nodeId } from '../input/node-lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type PageRequest, type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import { splitResponse } from '../session/response-text.ts'
import { problemOf, type Session } from '../session/session.ts'

type Selection = {
  from?: string
  to?: string
  person?: string
  asset?: string
  node?: string
  hierarchy?: string
  kind?: ActivityKind
  background?: boolean
}

const columns = {
  time: 'time',
  by: 'principalName',
  what: (row: object) => whatOf(row as ActivityEntry),
  object: (row: object) => objectOf(row as ActivityEntry),
  changes: (row: object) => changesOf(row as ActivityEntry),
}

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(
      withFilters(command.command('list', { isDefault: true }).description('list the activity, newest first')),
    ),
    terminal,
    async (session, { limit, offset, all, ...selection }: Selection & PagingOptions) => {
      if (offset > 0) throw usageError('The activity has no offset.', 'use --to to continue before a time, or --all')
      const query = await queryOf(session, selection)
      const read = ({ limit: size, cursor }: PageRequest) =>
        session
          .api(activity)
          .listEntries({ query: { ...query, limit: size, ...(cursor === undefined ? {} : { cursor }) } })
      await session.output.list(await pagesOf({ limit, offset, ...(all && { all }) }, read), {
        columns,
        nothing: 'No activity matches.',
      })
    },
  )

  platformCommand(
    command
      .command('group')
      .description('list the changes of one scan, import, campaign or bulk edit')
      .argument('<id>', 'id of the group: cause.id in the JSON output of the list'),
    terminal,
    async (session, id: string) => {
      const read = ({ limit, cursor }: PageRequest) =>
        session.api(activity).listGroupEntries({
          params: { id },
          query: { from: yearAgo(), limit, ...(cursor === undefined ? {} : { cursor }) },
        })
      await session.output.list(await pagesOf({ limit: 100, offset: 0, all: true }, read), {
        columns,
        nothing: 'No change belongs to this group.',
      })
    },
  )

  platformCommand(
    withFilters(
      command
        .command('export')
        .description('export the activity, one line per change, newest first')
        .addOption(new Option('--format <format>', 'format').choices(['csv', 'ndjson']).default('csv')),
    ),
    terminal,
    async (session, { format, ...selection }: Selection & { format: 'csv' | 'ndjson' }) => {
      const query = { ...(await queryOf(session, selection)), format }
      const response = await session.open(activity, 'exportEntries', { query })
      if (response.status >= 400) {
        throw problemOf(activity, { status: response.status, headers: response.headers, body: await response.json() })
      }
      for await (const line of splitResponse(response, '\n')) await session.terminal.print(line.replace(/\r$/, ''))
    },
  )
}

/** Adds the options that select entries of the activity. */
function withFilters(command: Command): Command {
  return command
    .option('--from <time>', 'at or after this time: 2026-01-31T08:30:00.000Z; default: 7 days ago')
    .option('--to <time>', 'before this time; default: now')
    .option('--person <who>', 'id or name of the user, service account or gateway')
    .option('--asset <asset>', 'name or id of an asset')
    .option('--node <node>', 'path or id of a hierarchy node; includes the nodes below')
    .option('--hierarchy <hierarchy>', 'name or id of the hierarchy of the node')
    .addOption(new Option('--kind <kind>', 'kind of activity').choices(activityKinds))
    .option('--background', 'include background traffic, such as tokens and heartbeats')
}

async function queryOf(session: Session, selection: Selection) {
  const { from, to, person, asset, node, hierarchy, kind, background } = selection
  const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
  const tree = hierarchy === undefined ? {} : { hierarchy }
  return {
    ...range,
    ...(person === undefined ? {} : { person: await personId(session, person, range) }),
    ...(asset === undefined ? {} : { asset: await assetId(session, asset) }),
    ...(node === undefined ? {} : { node: await nodeId(session, node, tree) }),
    ...(kind === undefined ? {} : { kind }),
    ...(background === true ? { all: true } : {}),
  }
}

/** Returns the id of a person among those with activity, because a user without further permissions cannot list users. */
async function personId({ api }: Session, nameOrId: string, query: { from?: string; to?: string }): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(activity).listPeople({ query })
  const matches = data.filter(({ name }) => name === nameOrId)
  return requireSingle('Person', nameOrId, { matches, list: 'millwright activity' })
}

function whatOf({ action, outcome, cause, group }: ActivityEntry): string {
  const what = action.includes('.') ? action : `asset ${action}`
  const done = outcome === 'done' ? what : `${what} (${outcome})`
  if (group === undefined) return done
  const counts = [
    group.created > 0 && `${group.created} new`,
    group.updated > 0 && `${group.updated} changed`,
    group.deleted > 0 && `${group.deleted} deleted`,
  ].filter(Boolean)
  return `${cause?.kind.replace('_', ' ')}: ${counts.join(', ')}`
}

function objectOf({ object, group, cause }: ActivityEntry): string {
  if (group === undefined) return object?.name ?? object?.id ?? ''
  const names = group.names.filter(Boolean).join(', ')
  return [cause?.name, group.count > group.names.length ? `${names}, …` : names].filter(Boolean).join(': ')
}

function changesOf({ changes, group }: ActivityEntry): string {
  return (group?.fields ?? changes).map(changeText).join('; ')
}

function changeText({ field, before, after }: FieldChange): string {
  return before === undefined && after === undefined ? field : `${field}: ${before ?? '-'} → ${after ?? '-'}`
}

const yearMs = 365 * 86_400_000

function yearAgo(): string {
  return new Date(Date.now() - yearMs).toISOString()
}
