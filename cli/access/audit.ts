import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { audit, auditOutcomes } from '@millwright/api/audit.ts'
import { type Command, Option } from 'commander'
import { principalId } from '../input/lookup.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { type ConnectionOptions, connect, platformCommand, withConnectionOptions } from '../session/platform-command.ts'
import { splitResponse } from '../session/response-text.ts'
import { problemOf, type Session } from '../session/session.ts'

export type AuditSelection = {
  action?: string
  outcome?: string
  principal?: string
  target?: string
  request?: string
  from?: string
  to?: string
}

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(withAuditFilters(command.command('list').description('list audit entries, newest first'))),
    terminal,
    async (session, options: AuditSelection & PagingOptions) => {
      const query = await auditQuery(session, options)
      const pages = pagesOf(options, (page) => session.api(audit).listEntries({ query: { ...query, ...page } }))
      await session.output.list(await pages, {
        columns: {
          time: 'time',
          by: 'principalName',
          action: 'action',
          outcome: 'outcome',
          target: 'target',
          'source ip': 'address',
        },
        nothing: 'No audit entry matches.',
      })
    },
  )

  platformCommand(
    command.command('show').description('show an audit entry').argument('<id>'),
    terminal,
    async ({ api, output }, id: string) => output.show(await api(audit).readEntry({ params: { id } })),
  )

  platformCommand(
    withAuditFilters(
      command.command('export').description('export matching entries with their hashes as NDJSON, oldest first'),
    ),
    terminal,
    exportEntries,
  )

  const verifying = withConnectionOptions(
    command
      .command('verify')
      .description('verify the integrity of the audit trail of the platform, or of an exported file')
      .option('--file <path>', 'exported file; needs no connection to a platform')
      .option('--json', 'print JSON'),
  )
  verifying.action(async ({ file, ...options }: ConnectionOptions & { file?: string }) =>
    file === undefined ? verify(await connect(terminal, options)) : verifyFile(terminal, file),
  )
}

/** Adds the options that select entries of the audit trail. */
export function withAuditFilters(command: Command): Command {
  return command
    .option('--action <action>', 'action, such as authorization.createGrant')
    .addOption(new Option('--outcome <outcome>', 'outcome').choices(auditOutcomes))
    .option('--principal <who>', 'id or name of the user, service account or gateway')
    .option('--target <kind/id>', 'target of the action')
    .option('--request <id>', 'id of the request')
    .option('--from <time>', 'at or after this time: 2026-01-31T08:30:00.000Z')
    .option('--to <time>', 'before this time')
}

export async function auditQuery(
  session: Session,
  { action, outcome, principal, target, request, from, to }: AuditSelection,
) {
  return {
    ...(action === undefined ? {} : { action }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(principal === undefined ? {} : { principal: await principalId(session, principal) }),
    ...(target === undefined ? {} : { target }),
    ...(request === undefined ? {} : { requestId: request }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

/** Prints the export line by line, so that a long audit trail does not have to fit into memory. */
async function exportEntries(session: Session, options: AuditSelection): Promise<void> {
  const response = await session.open(audit, 'exportEntries', { query: await auditQuery(session, options) })
  if (response.status >= 400) {
    throw problemOf(audit, { status: response.status, headers: response.headers, body: await response.json() })
  }
  for await (const line of splitResponse(response, '\n')) await session.terminal.print(line)
}

async function verify({ api, output }: Session): Promise<void> {
  const answer = await api(audit).verify({})
  const { intact, checked, head, firstFault } = answer.data
  if (intact)
    return output.done(
      `Intact. Checked entries: ${checked}. Last entry: ${head?.sequence ?? 0}, hash ${head?.hash ?? 'none'}.`,
      answer,
    )
  if (!output.isText) await output.show(answer)
  throw notIntact(firstFault)
}

async function verifyFile(terminal: Terminal, file: string): Promise<void> {
  const { verifyExport } = await import('@millwright/cloud/platform/audit/chain.ts')
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
  const report = await verifyExport(lines).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${file} cannot be read (${error.code ?? error.message})`, { exitCode: exitCodes.usage })
  })
  if (report.firstFault !== null) throw notIntact(report.firstFault)
  await terminal.print(`Intact. Checked entries: ${report.checked}.`)
}

function notIntact(fault: { sequence: number; detail: string } | null): CommandError {
  return new CommandError(`Not intact at entry ${fault?.sequence}: ${fault?.detail}`, {
    next: 'compare the audit trail with an earlier export; only the owner of the database can change entries',
  })
}
