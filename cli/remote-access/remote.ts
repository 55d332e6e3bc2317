import {
  type RemoteSession,
  remoteAccess,
  remoteAccessLimits,
  type SessionState,
  sessionStates,
} from '@millwright/api/remote-access.ts'
import { type Command, Option } from 'commander'
import { saveResponse } from '../files/download.ts'
import { assetId, gatewayId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { displayText, formatBytes } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addCopy } from './copy.ts'
import { addPolicies } from './policies.ts'
import { addSwitches } from './switches.ts'

/** This file adds `millwright remote`, which manages remote sessions, their policies and switches. */

const columns: Columns = {
  id: 'id',
  state: 'state',
  asset: 'assetName',
  service: (row) => serviceText(row as RemoteSession),
  user: 'requestedBy.name',
  created: 'createdTimestamp',
  'ends or ended': ({ endedTimestamp, expiresTimestamp }) => endedTimestamp ?? expiresTimestamp,
  ending: 'ending',
  sent: ({ sentBytes }) => formatBytes(Number(sentBytes)),
  received: ({ receivedBytes }) => formatBytes(Number(receivedBytes)),
  reason: 'reason',
}

function serviceText({ service, port }: RemoteSession): string {
  return service === 'tcp' ? `tcp ${port}` : service
}

type ListOptions = PagingOptions & { state?: SessionState; asset?: string; gateway?: string; awaitsMe?: boolean }

export function addCommands(remote: Command, terminal: Terminal): void {
  remote.addHelpText(
    'after',
    `
"millwright connect" opens a session. These commands list, approve and end sessions, and control what users can open.`,
  )

  platformCommand(
    withPagingOptions(remote.command('sessions').description('list running and past sessions, newest first'))
      .addOption(new Option('--state <state>', 'state of the sessions').choices(sessionStates))
      .option('--asset <asset>', 'sessions of this asset: id or name')
      .option('--gateway <gateway>', 'sessions through this gateway: id or name')
      .option('--awaits-me', 'only sessions that you can approve or deny now'),
    terminal,
    list,
  )

  platformCommand(
    remote.command('show').description('show a session').argument('<id>'),
    terminal,
    async ({ api, output }, id: string) => output.show(await api(remoteAccess).readSession({ params: { id } })),
  )

  addDecisions(remote, terminal)

  platformCommand(
    remote.command('end').description('end a session immediately, also of another user').argument('<id>'),
    terminal,
    async ({ api, output }, id: string) => {
      await api(remoteAccess).endSession({ params: { id } })
      await output.done(`Session ${id} ended.`, { data: { id } })
    },
  )

  platformCommand(
    remote
      .command('extend')
      .description('extend a session, up to the maximum duration of its policy')
      .argument('<id>')
      .requiredOption('--minutes <minutes>', 'minutes to add', wholeNumber(1, remoteAccessLimits.maxMinutes)),
    terminal,
    async ({ api, output }, id: string, { minutes }: { minutes: number }) => {
      const answer = await api(remoteAccess).extendSession({ params: { id }, body: { data: { minutes } } })
      await output.done(`Session ${id} ends at ${displayText(answer.data.expiresTimestamp)}.`, answer)
    },
  )

  platformCommand(
    remote
      .command('recording')
      .description('save the recording of an ended session')
      .argument('<id>')
      .requiredOption('--file <file>', 'file to write; - is standard output'),
    terminal,
    async (session, id: string, { file }: { file: string }) => {
      const response = await session.open(remoteAccess, 'readRecording', { params: { id } })
      await saveResponse(session, response, { contract: remoteAccess, file, data: { id } })
    },
  ).addHelpText(
    'after',
    `
A terminal is in asciicast format, version 2. A web session is a log with one JSON object per request.

Examples:
  millwright remote recording 019a1e0d-57cf-77f3-92dd-e7c00fda9e0e --file drive-12.cast
  asciinema play drive-12.cast`,
  )

  addCopy(remote, terminal)
  addPolicies(remote, terminal)
  addSwitches(remote, terminal)
  addHostKeys(remote, terminal)
}

async function list(session: Session, { state, asset, gateway, awaitsMe, ...options }: ListOptions): Promise<void> {
  const filters = {
    ...(state === undefined ? {} : { state }),
    ...(asset === undefined ? {} : { assetId: await assetId(session, asset) }),
    ...(gateway === undefined ? {} : { gatewayId: await gatewayId(session, gateway) }),
    ...(awaitsMe ? { awaitsMe } : {}),
  }
  const pages = pagesOf(options, (page) => session.api(remoteAccess).listSessions({ query: { ...filters, ...page } }))
  await session.output.list(await pages, { columns, nothing: 'No sessions. To open one: millwright connect' })
}

/** Adds the commands with which another person approves or denies a session. */
function addDecisions(remote: Command, terminal: Terminal): void {
  platformCommand(
    remote.command('approve').description('approve a session of another user').argument('<id>'),
    terminal,
    async ({ api, output }, id: string) => {
      const answer = await api(remoteAccess).approveSession({ params: { id } })
      await output.done(`Session ${id} of ${displayText(answer.data.requestedBy.name)} approved.`, answer)
    },
  )

  platformCommand(
    remote
      .command('deny')
      .description('deny a session of another user')
      .argument('<id>')
      .option('--reason <text>', 'reason, shown to the user'),
    terminal,
    async ({ api, output }, id: string, { reason }: { reason?: string }) => {
      const data = reason === undefined ? {} : { reason }
      const answer = await api(remoteAccess).denySession({ params: { id }, body: { data } })
      await output.done(`Session ${id} of ${displayText(answer.data.requestedBy.name)} denied.`, answer)
    },
  )
}

function addHostKeys(remote: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(
      remote
        .command('host-keys')
        .description('list the stored host keys and certificates of an asset')
        .argument('<asset>', 'id or name'),
    ),
    terminal,
    async (session, asset: string, options: PagingOptions) => {
      const id = await assetId(session, asset)
      const pages = pagesOf(options, (page) =>
        session.api(remoteAccess).listHostKeys({ query: { assetId: id, ...page } }),
      )
      await session.output.list(await pages, {
        columns: {
          id: 'id',
          port: 'port',
          algorithm: 'algorithm',
          fingerprint: 'fingerprint',
          'first seen': 'firstSeenTimestamp',
          'last seen': 'lastSeenTimestamp',
        },
        nothing: 'No host keys yet. The first session stores the key of the device.',
      })
    },
  )

  platformCommand(
    remote
      .command('forget-host-key')
      .description('delete a host key; the next session stores the current key of the device')
      .argument('<id>'),
    terminal,
    async ({ api, output }, id: string) => {
      await api(remoteAccess).deleteHostKey({ params: { id } })
      await output.done(`Host key ${id} deleted.`, { data: { id } })
    },
  )
}
