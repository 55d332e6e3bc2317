import { discovery } from '@millwright/api/discovery.ts'
import { type Command, Option } from 'commander'
import { gatewayId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { errorLines, follow } from './scan-progress.ts'

const columns: Columns = {
  id: 'jobId',
  link: 'assetLinkId',
  state: ({ state, schedule }) => ((schedule as { paused?: boolean } | undefined)?.paused ? 'paused' : state),
  '%': 'progress',
  found: 'found',
  new: 'created',
  errors: 'errors',
  next: 'schedule.nextRuns.0',
  by: 'createdBy',
  created: 'createdTimestamp',
}

type ListOptions = PagingOptions & { gateway?: string; link?: string; scheduled?: boolean }

export function addCommands(discoveries: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(discoveries.command('list').description('list scans, newest first'))
      .option('--gateway <gateway>', 'scans of this gateway')
      .option('--link <link>', 'scans with this link')
      .option('--scheduled', 'only scans with a schedule'),
    terminal,
    list,
  )

  platformCommand(
    discoveries
      .command('show')
      .description('show a scan and its latest run')
      .argument('<id>')
      .option('--follow', 'show devices as they are found, until the scan ends'),
    terminal,
    async (session, jobId: string, { follow: isFollowed }: { follow?: boolean }) => {
      const answer = await session.api(discovery).getDiscovery({ params: { jobId } })
      const { state, assetLinkId, deviceClass } = answer.data
      const isOver = state !== 'created' && state !== 'running'
      if (!isFollowed || isOver) return session.output.show(answer)
      await follow(session, { link: { assetLinkId, deviceClass }, start: async () => jobId })
    },
  )

  platformCommand(
    withPagingOptions(discoveries.command('report').description('list the findings of a run').argument('<id>'))
      .option('--run <id>', 'id of the run (default: the latest)')
      .addOption(
        new Option('--outcome <outcome>', 'outcome of the findings').choices(['new', 'changed', 'unchanged', 'gone']),
      ),
    terminal,
    report,
  )

  platformCommand(
    withPagingOptions(
      discoveries.command('runs').description('list the runs of a scan, newest first').argument('<id>'),
    ),
    terminal,
    async ({ api, output }, jobId: string, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(discovery).listRuns({ params: { jobId }, query: { limit, offset } }),
      )
      await output.list(await pages, {
        columns: {
          id: 'id',
          number: 'number',
          trigger: 'trigger',
          state: 'state',
          found: 'found',
          new: 'created',
          gone: 'gone',
          errors: 'errors',
          ended: 'endedTimestamp',
        },
        nothing: 'The scan has no runs yet.',
      })
    },
  )

  const simple = { cancel: 'cancelDiscovery', run: 'runDiscovery' } as const
  const descriptions = { cancel: 'cancel the current run', run: 'run the scan again now' }
  for (const [name, operation] of Object.entries(simple)) {
    platformCommand(
      discoveries
        .command(name)
        .description(descriptions[name as keyof typeof descriptions])
        .argument('<id>'),
      terminal,
      async ({ api, output }, jobId: string) => {
        const answer = await api(discovery)[operation]({ params: { jobId } })
        await output.done(`Run ${answer.data.runId} ${name === 'cancel' ? 'is being canceled' : 'accepted'}.`, answer)
      },
    )
  }

  for (const [name, paused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    platformCommand(
      discoveries.command(name).description(`${name} the schedule of a scan`).argument('<id>'),
      terminal,
      async ({ api, output }, jobId: string) => {
        const answer = await api(discovery).updateDiscovery({ params: { jobId }, body: { data: { paused } } })
        await output.done(`${jobId} ${name}d`, answer)
      },
    )
  }

  platformCommand(
    discoveries
      .command('delete')
      .description('delete a scan with its schedule and reports; assets stay')
      .argument('<id>'),
    terminal,
    async ({ api, output }, jobId: string) => {
      await api(discovery).deleteDiscovery({ params: { jobId } })
      await output.done(`${jobId} deleted`, { data: { jobId } })
    },
  )
}

async function list(session: Session, { gateway, link, scheduled, ...options }: ListOptions): Promise<void> {
  const filters = {
    ...(gateway === undefined ? {} : { gatewayId: await gatewayId(session, gateway) }),
    ...(link === undefined ? {} : { assetLinkId: link }),
    ...(scheduled ? { scheduled } : {}),
  }
  const pages = pagesOf(options, ({ limit, offset }) =>
    session.api(discovery).listDiscoveries({ query: { ...filters, limit, offset } }),
  )
  await session.output.list(await pages, { columns, nothing: 'No scans yet: millwright discover' })
}

type ReportOptions = PagingOptions & { run?: string; outcome?: 'new' | 'changed' | 'unchanged' | 'gone' }

async function report(session: Session, jobId: string, { run, outcome, ...options }: ReportOptions): Promise<void> {
  const filters = { ...(run === undefined ? {} : { run }), ...(outcome === undefined ? {} : { outcome }) }
  const pages = pagesOf(options, async ({ limit, offset }) => {
    const query = { ...filters, limit, offset }
    const { data } = await session.api(discovery).getReport({ params: { jobId }, query })
    const { findings, errors, totalFindings } = data
    if (offset === options.offset && session.output.isText)
      for (const error of errors) for (const line of errorLines(error)) session.terminal.note(line)
    return { data: findings, meta: { totalElements: totalFindings, elements: findings.length, offset } }
  })
  await session.output.list(await pages, {
    columns: { outcome: 'outcome', asset: 'assetId', name: 'name' },
    nothing: 'No findings.',
  })
}
