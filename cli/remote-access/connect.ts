import { remoteAccess, remoteAccessLimits, type SessionRequest, servicePorts } from '@millwright/api/remote-access.ts'
import { type Command, Option } from 'commander'
import { assetId, isId } from '../input/lookup.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { wholeNumber } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { serveLocalPort } from './local-port.ts'
import { withRemoteSession } from './remote-session.ts'
import { runShell } from './shell.ts'
import { serveStandardStreams } from './stdio.ts'
import { showWebPage } from './web-page.ts'

export type SessionOptions = { reason?: string; minutes?: number; credential?: string; port?: number }

type ConnectOptions = SessionOptions & { listen?: number | true; stdio?: boolean }

const maxPort = 65_535

/** Adds the options of a new session to a command. */
export function withSessionOptions(command: Command): Command {
  return command
    .option('--reason <text>', 'why you connect; shown to the person who approves, and in the audit trail')
    .option(
      '--minutes <minutes>',
      'duration of the session (default: the maximum of the policy)',
      wholeNumber(1, remoteAccessLimits.maxMinutes),
    )
    .option('--credential <credential>', 'name or id of the credential with which the gateway signs in (ssh only)')
    .option('--port <port>', 'port of the service on the device, if it is not the default', wholeNumber(1, maxPort))
}

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(
    withSessionOptions(
      command.argument('<asset>', 'id or name').argument('<service>', 'ssh, http, https, or a TCP port of the device'),
    )
      .addOption(
        new Option('--listen [port]', 'open a port on 127.0.0.1 of this machine (default: a free port)')
          .argParser((text: string) => wholeNumber(0, maxPort)(text))
          .conflicts('stdio'),
      )
      .option('--stdio', 'carry the bytes of standard input and output, as ProxyCommand of OpenSSH'),
    terminal,
    connect,
  ).addHelpText('after', help)
}

const help = `
Connects to an asset through its gateway. The gateway opens the connection inside the plant network. The command opens a
session, uses it, and ends it when the command ends. If the access group of the asset requires approval, the command waits
for it.

  ssh        a terminal in this terminal. The exit code is the exit code of the shell. Type ~. at the start of a line to
             end the session, and ~? for help. The host key of the device is stored at the first connection
  http(s)    prints the address of the device's web page, for your browser
  <port>     opens a port on 127.0.0.1 for other programs. Each connection to it is one stream of the session

Ctrl-C ends the session. A second Ctrl-C exits at once.

Examples:
  millwright connect 'Drive 12' ssh
  millwright connect 'Drive 12' ssh --credential 'Hall 4' --reason 'firmware check' --minutes 30
  millwright connect 'Drive 12' http
  millwright connect 'PLC 3' 102 --listen 10102
  millwright connect 'Drive 12' ssh --listen

With "102 --listen 10102", an engineering tool on this machine connects to 127.0.0.1:10102. By default, the policy and
the gateway allow only the ports 22, 80 and 443. To allow others: millwright remote policy, on the platform, and
millwright gateway remote-access, on the gateway.

In ~/.ssh/config, for ssh, scp and rsync:
  Host drive-12
    ProxyCommand millwright connect 'Drive 12' 22 --stdio`

async function connect(session: Session, asset: string, service: string, options: ConnectOptions): Promise<void> {
  const target = targetOf(service, options)
  const { listen, stdio } = options
  const request = await sessionRequest(session, { asset, ...target }, options)
  await withRemoteSession(session, { request, isQuiet: stdio === true, endsWithSignal: stdio === true }, (remote) => {
    if (stdio) return serveStandardStreams(session, remote)
    if (listen !== undefined) return serveLocalPort(session, remote, listen === true ? 0 : listen)
    if (target.service === 'ssh') return runShell(session, remote)
    return target.service === 'tcp' ? serveLocalPort(session, remote, 0) : showWebPage(session, remote)
  })
}

type Target = Pick<SessionRequest, 'service' | 'port'>

/** Returns the service and the port for the argument of the command. */
export function targetOf(text: string, { port, credential }: SessionOptions): Target {
  if (text === 'ssh' || text === 'http' || text === 'https') {
    if (credential !== undefined && text !== 'ssh') throw usageError('--credential is only for ssh.')
    return { service: text, ...(port === undefined || port === servicePorts[text] ? {} : { port }) }
  }
  const number = Number(text)
  if (!/^\d{1,5}$/.test(text) || number < 1 || number > maxPort)
    throw usageError(`"${text}" is not a service. Use ssh, http, https, or a port from 1 to ${maxPort}.`)
  if (port !== undefined) throw usageError('--port is only for ssh, http and https.')
  if (credential !== undefined) throw usageError('--credential is only for ssh.')
  return { service: 'tcp', port: number }
}

/** Returns the id of a credential for the device of an asset. */
async function credentialId({ api }: Session, asset: string, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(remoteAccess).readTarget({ params: { id: asset } })
  const [first, second] = data.credentials.filter(({ name }) => name === nameOrId)
  if (first === undefined) {
    throw new CommandError(`No credential "${nameOrId}" can be used for this asset.`, {
      exitCode: exitCodes.notFound,
      next: `millwright remote target ${asset} lists the credentials`,
    })
  }
  if (second !== undefined) throw usageError(`Several credentials are named "${nameOrId}".`, 'pass the id instead')
  return first.id
}

/** Returns the request for a session. Names are resolved to ids. */
export async function sessionRequest(
  session: Session,
  { asset, service, port }: Target & { asset: string },
  { reason, minutes, credential }: SessionOptions,
): Promise<SessionRequest> {
  const id = await assetId(session, asset)
  return {
    assetId: id,
    service,
    ...(port === undefined ? {} : { port }),
    ...(credential === undefined ? {} : { credentialInstanceId: await credentialId(session, id, credential) }),
    ...(reason === undefined ? {} : { reason }),
    ...(minutes === undefined ? {} : { durationMinutes: minutes }),
  }
}
