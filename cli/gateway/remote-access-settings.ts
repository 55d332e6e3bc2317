import { join } from 'node:path'
import type { AllowedNetwork, RemoteAccessSettings } from '@millwright/gateway/remote-access/remote-access-settings.ts'
import { type Command, Option } from 'commander'
import { parsePair } from '../input/json-input.ts'
import { usageError } from '../output/error-report.ts'
import { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect } from '../session/platform-command.ts'
import { gatewayHome, noteMissingGateway } from './gateway-home.ts'

type Options = {
  home?: string
  turn?: 'on' | 'off'
  allow?: string[]
  loopback?: 'allow' | 'refuse'
  reset?: boolean
  json?: boolean
}

/** Adds `millwright gateway remote-access`, which shows and changes the local rules for remote sessions. */
export function addRemoteAccessSettings(gateway: Command, terminal: Terminal): void {
  gateway
    .command('remote-access')
    .description('targets that remote sessions can reach through the gateway on this machine')
    .option(
      '--home <folder>',
      'home of the gateway (default: MILLWRIGHT_GATEWAY_HOME, or the folder gateway in MILLWRIGHT_HOME)',
    )
    .addOption(new Option('--turn <state>', 'switch remote access on or off').choices(['on', 'off']))
    .option(
      '--allow <network=ports>',
      'allow these ports in this network, such as 10.0.0.0/24=22,443; repeatable; "none" allows nothing; "found" allows the devices that the gateway found',
      collect,
    )
    .addOption(
      new Option('--loopback <rule>', 'sessions to this machine (127.0.0.0/8 and ::1)').choices(['allow', 'refuse']),
    )
    .option('--reset', 'restore the defaults')
    .addOption(new Option('--json', 'print the settings as JSON'))
    .addHelpText(
      'after',
      `
A session opens only if both the policy on the platform and these settings allow its target. Without a list of networks,
remote sessions reach only devices that the gateway found, and only the ports 22, 80 and 443. With a list, they reach only
the networks and ports in the list. A change applies within about one second, also to open sessions.

Examples:
  millwright gateway remote-access
  millwright gateway remote-access --allow 10.0.0.0/24=22,443 --allow fd00::/64=22
  millwright gateway remote-access --allow found
  millwright gateway remote-access --turn off`,
    )
    .action((options: Options) => run(terminal, options))
}

type FileModule = typeof import('@millwright/gateway/remote-access/remote-access-file.ts')

async function run(terminal: Terminal, options: Options): Promise<void> {
  const file: FileModule = await import('@millwright/gateway/remote-access/remote-access-file.ts')
  const { defaultRemoteAccess } = await import('@millwright/gateway/remote-access/remote-access-settings.ts')
  const { isNetwork } = await import('@millwright/gateway/remote-access/target-rules.ts')
  const home = gatewayHome(terminal.environment, options.home)
  const path = join(home, file.remoteAccessFileName)
  const before = options.reset ? defaultRemoteAccess : await file.readRemoteAccess(path)
  const settings = changed(before, options, isNetwork)
  if (JSON.stringify(settings) !== JSON.stringify(await file.readRemoteAccess(path).catch(() => undefined)))
    await file.writeRemoteAccess(path, settings)
  await new Output(terminal, options.json ? 'json' : 'text').show({ data: settings })
  noteMissingGateway(terminal, home)
}

function changed(
  before: RemoteAccessSettings,
  { turn, allow, loopback }: Options,
  isNetwork: (text: string) => boolean,
): RemoteAccessSettings {
  const settings = structuredClone(before)
  if (turn !== undefined) settings.isEnabled = turn === 'on'
  if (loopback !== undefined) settings.loopback = loopback === 'allow'
  if (allow?.includes('found')) {
    if (allow.length > 1) throw usageError('--allow found cannot be combined with other networks.')
    delete settings.allow
  } else if (allow !== undefined) {
    const kept = allow.includes('none') ? [] : (settings.allow ?? [])
    const added = allow.filter((text) => text !== 'none').map((text) => allowedNetwork(text, isNetwork))
    const networks = new Set(added.map(({ network }) => network))
    settings.allow = [...kept.filter(({ network }) => !networks.has(network)), ...added]
  }
  return settings
}

function allowedNetwork(text: string, isNetwork: (text: string) => boolean): AllowedNetwork {
  const [network, list] = parsePair(text, '--allow')
  if (!isNetwork(network))
    throw usageError(`"${network}" is not a network. Use 10.0.0.0/24, 10.0.0.1-10.0.0.99, fd00::/64 or one address.`)
  const ports = list.split(',').map((port) => {
    const number = /^[1-9]\d{0,4}$/.test(port) ? Number(port) : 0
    if (number < 1 || number > 65_535)
      throw usageError(`"${port}" in --allow ${text} is not a port from 1 to 65535. Separate ports by commas.`)
    return number
  })
  return { network, ports: [...new Set(ports)] }
}
