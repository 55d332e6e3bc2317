import {
  type RecordingMode,
  type RemotePolicy,
  recordingModes,
  remoteAccess,
  remoteAccessLimits,
} from '@millwright/api/remote-access.ts'
import { type Command, Option } from 'commander'
import { groupId } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

type PolicyOptions = {
  approval?: RemotePolicy['approval']
  recording?: RecordingMode
  maxMinutes?: number
  idleMinutes?: number
  ports?: string
}

/** Adds the commands for the policies of access groups. */
export function addPolicies(remote: Command, terminal: Terminal): void {
  platformCommand(
    remote
      .command('policy')
      .description('show or change the policy of an access group')
      .argument('<access group>', 'id or name')
      .addOption(new Option('--approval <rule>', 'approval by another person').choices(['none', 'required']))
      .addOption(
        new Option('--recording <mode>', 'what is recorded: terminals, or also requests to web pages').choices(
          recordingModes,
        ),
      )
      .option(
        '--max-minutes <minutes>',
        'maximum duration of a session, with all extensions',
        wholeNumber(1, remoteAccessLimits.maxMinutes),
      )
      .option(
        '--idle-minutes <minutes>',
        'time without data after which a session ends',
        wholeNumber(1, remoteAccessLimits.maxIdleMinutes),
      )
      .option('--ports <ports>', 'ports that users can connect to, separated by commas; replaces all ports'),
    terminal,
    policy,
  ).addHelpText(
    'after',
    `
Without options, the command shows the policy. With options, it changes these values and keeps the others.

Examples:
  millwright remote policy line-1
  millwright remote policy line-1 --approval required --recording terminal
  millwright remote policy line-1 --ports 22,80,443,102 --max-minutes 240`,
  )

  platformCommand(
    withPagingOptions(remote.command('policies').description('list the access groups that have their own policy')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, (page) => api(remoteAccess).listPolicies({ query: page }))
      await output.list(await pages, {
        columns: {
          'access group': 'accessGroupName',
          approval: 'policy.approval',
          recording: 'policy.recording',
          'max minutes': 'policy.maxMinutes',
          'idle minutes': 'policy.idleMinutes',
          ports: 'policy.ports',
        },
        nothing: 'No access group has its own policy. All use the default policy.',
      })
    },
  )
}

async function policy(session: Session, group: string, options: PolicyOptions): Promise<void> {
  const client = session.api(remoteAccess)
  const params = { accessGroup: await groupId(session, group) }
  const before = await client.readPolicy({ params })
  const { approval, recording, maxMinutes, idleMinutes, ports } = options
  const changes = {
    ...(approval === undefined ? {} : { approval }),
    ...(recording === undefined ? {} : { recording }),
    ...(maxMinutes === undefined ? {} : { maxMinutes }),
    ...(idleMinutes === undefined ? {} : { idleMinutes }),
    ...(ports === undefined ? {} : { ports: portsIn(ports) }),
  }
  if (Object.keys(changes).length === 0) return session.output.show(before)
  await session.output.show(await client.putPolicy({ params, body: { data: { ...before.data, ...changes } } }))
}

/** Parses a list of ports, such as `22,80,443`. */
export function portsIn(text: string): number[] {
  const ports = text.split(',').map((part) => {
    const port = Number(part)
    if (/^ *\d{1,5} *$/.test(part) && port >= 1 && port <= 65_535) return port
    throw usageError(`"${part}" is not a port. Use ports from 1 to 65535, separated by commas, such as 22,80,443.`)
  })
  return [...new Set(ports)]
}
