import { pageLimits } from '@millwright/api/envelope.ts'
import { assignmentOutcomes, hierarchy, type ItemResult } from '@millwright/api/hierarchy.ts'
import { type Command, Option } from 'commander'
import { type HierarchyOption, hierarchyId } from '../input/node-lookup.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { type AssignmentOptions, printAccepted, printEnd, untilEnd, withWaitOption } from './assignment-progress.ts'

type ResultOptions = { outcome?: ItemResult['outcome']; limit: number; all?: boolean }

export function addAssignments(command: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(command.command('assignments').description('list assignments, newest first')).option(
      '--hierarchy <hierarchy>',
      'assignments of this hierarchy (default: all)',
    ),
    terminal,
    list,
  )

  const assignment = command.command('assignment').description('show, cancel or undo an assignment of assets')

  platformCommand(
    withWaitOption(assignment.command('show').description('show an assignment with its progress').argument('<id>')),
    terminal,
    async (session, id: string, { wait }: AssignmentOptions) => {
      const answer = await session.api(hierarchy).readAssignment({ params: { id } })
      if (!wait) return session.output.show(answer)
      await printEnd(session, await untilEnd(session, answer.data))
    },
  )

  platformCommand(
    assignment
      .command('results')
      .description('list the assets of an assignment with their results')
      .argument('<id>')
      .addOption(new Option('--outcome <outcome>', 'only assets with this outcome').choices(assignmentOutcomes))
      .option('--limit <count>', 'maximum number of assets', wholeNumber(1, pageLimits.maximum), 50)
      .option('--all', 'read all pages'),
    terminal,
    listResults,
  )

  platformCommand(
    assignment
      .command('cancel')
      .description('cancel an assignment; assets that are already assigned stay assigned')
      .argument('<id>'),
    terminal,
    async ({ api, output }, id: string) => {
      const answer = await api(hierarchy).cancelAssignment({ params: { id } })
      await output.done(`${id} canceled`, answer)
    },
  )

  platformCommand(
    withWaitOption(
      assignment
        .command('undo')
        .description('return the assets of an assignment to their previous nodes; assets with a newer node stay there')
        .argument('<id>'),
    ),
    terminal,
    async (session, id: string, options: AssignmentOptions) =>
      printAccepted(session, await session.api(hierarchy).undoAssignment({ params: { id } }), options),
  )
}

async function list(
  session: Session,
  { hierarchy: nameOrId, ...options }: PagingOptions & HierarchyOption,
): Promise<void> {
  const filters = nameOrId === undefined ? {} : { hierarchyId: await hierarchyId(session, nameOrId) }
  const pages = pagesOf(options, ({ limit, offset }) =>
    session.api(hierarchy).listAssignments({ query: { ...filters, limit, offset } }),
  )
  await session.output.list(await pages, {
    columns: {
      id: 'id',
      kind: 'kind',
      state: 'state',
      '%': 'progress',
      assigned: 'assigned',
      moved: 'moved',
      removed: 'removed',
      failed: 'failed',
      'undone by': 'undoneBy',
      by: 'principalName',
      created: 'createdTimestamp',
    },
    nothing: 'No assignments.',
  })
}

async function listResults(session: Session, id: string, { outcome, limit, all }: ResultOptions): Promise<void> {
  let next: string | undefined
  const pages = async function* () {
    do {
      const page = await session.api(hierarchy).listAssignmentResults({
        params: { id },
        query: {
          limit: all ? pageLimits.maximum : limit,
          ...(outcome === undefined ? {} : { outcome }),
          ...(next === undefined ? {} : { cursor: next }),
        },
      })
      yield page
      next = page.meta.nextCursor
    } while (next !== undefined && all)
  }
  await session.output.list(pages(), {
    columns: {
      asset: 'assetId',
      outcome: 'outcome',
      'previous node': 'previousNodeId',
      code: 'code',
      detail: 'detail',
    },
    nothing: 'No asset was changed.',
  })
  if (next !== undefined) session.terminal.note('There are more results. To show all, pass --all.')
}
