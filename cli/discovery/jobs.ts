import { type AnyJob, jobPhases, jobs } from '@millwright/api/jobs.ts'
import { type Command, Option } from 'commander'
import { messages } from '../events/event-stream.ts'
import { CommandError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import { type Columns, Table } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

const columns: Columns = {
  id: 'id',
  type: 'type',
  for: 'subject.name',
  phase: 'phase',
  state: 'state',
  '%': 'progress',
  message: 'message',
  created: 'createdTimestamp',
}

type ListOptions = PagingOptions & { type?: string; phase?: AnyJob['phase']; gateway?: string; follow?: boolean }

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(command.command('list', { isDefault: true }).description('list jobs, newest first'))
      .option('--type <type>', 'workflow of the jobs, such as discovery or device-info')
      .addOption(new Option('--phase <phase>', 'phase of the jobs').choices(jobPhases))
      .option('--gateway <id>', 'jobs of this gateway')
      .option('--follow', 'print every change until Ctrl-C, instead of a list'),
    terminal,
    list,
  ).addHelpText(
    'after',
    `
Examples:
  millwright jobs list --phase failed
  millwright jobs --follow
  millwright jobs list --type discovery --all --ndjson | jq -r .message`,
  )

  platformCommand(
    command
      .command('show')
      .description('show a job with its history')
      .argument('<id>')
      .option('--follow', 'print every change until the job ends'),
    terminal,
    show,
  )
}

async function list(session: Session, { type, phase, gateway, follow, ...options }: ListOptions): Promise<void> {
  const filters = {
    ...(type === undefined ? {} : { type }),
    ...(gateway === undefined ? {} : { gatewayId: gateway }),
  }
  if (follow) {
    const lines = lineOf(session)
    for await (const job of changes(session, filters)) if (phase === undefined || job.phase === phase) await lines(job)
    return
  }
  const query = { ...filters, ...(phase === undefined ? {} : { phase }) }
  const pages = pagesOf(options, ({ limit, offset }) =>
    session.api(jobs).listJobs({ query: { ...query, limit, offset } }),
  )
  await session.output.list(await pages, { columns, nothing: 'No job matches.' })
}

async function* changes(
  session: Session,
  query: { type?: string; gatewayId?: string },
  onOpen = () => {},
): AsyncGenerator<AnyJob> {
  const request = { contract: jobs, operation: 'streamJobs', input: { query }, onOpen }
  for await (const { event, data } of messages(session, request)) if (event === 'job') yield JSON.parse(data)
}

function lineOf({ output, terminal }: Session): (job: AnyJob) => Promise<void> {
  const table = new Table(columns, terminal)
  return async (job) => {
    for (const line of output.isText ? table.lines([job]) : [JSON.stringify(job)]) await terminal.print(line)
  }
}

async function show(session: Session, id: string, { follow }: { follow?: boolean }): Promise<void> {
  const read = () => session.api(jobs).getJob({ params: { id } })
  if (!follow) return session.output.show(await read())
  const lines = lineOf(session)
  const { data: job } = await read()
  let last: AnyJob = job
  await lines(onlyFields(job))
  if (!isOver(job)) {
    for await (const change of changes(session, { type: job.type })) {
      if (change.id !== id) continue
      last = change
      await lines(change)
      if (isOver(change)) break
    }
  }
  if (last.phase !== 'finished')
    throw new CommandError(`The job ${last.phase}${last.message ? `: ${last.message}` : ''}.`)
}

function onlyFields({ definition: _, ...job }: AnyJob & { definition?: unknown }): AnyJob {
  return job
}

function isOver({ phase }: AnyJob): boolean {
  return phase === 'finished' || phase === 'failed' || phase === 'canceled'
}
