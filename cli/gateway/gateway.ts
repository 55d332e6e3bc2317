import { styleText } from 'node:util'
import { requireKnownNames } from '@millwright/cloud/platform/configuration.ts'
import type { RunningGateway } from '@millwright/gateway/gateway.ts'
import { giveBackMemory } from '@millwright/gateway/memory.ts'
import { type Environment, gatewaySettings, readSettings } from '@millwright/gateway/settings.ts'
import type { Command } from 'commander'
import { table } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { ignoreHangUp } from '../server/stop-signals.ts'
import { addManaging } from './gateways.ts'

type Options = { config?: string; home?: string; registryPort?: string; proxyPort?: string; settings?: boolean }

/** `millwright gateway` runs one here; with a word behind it, it is about those that the platform knows. */
export function addCommands(gateway: Command, terminal: Terminal): void {
  addRunning(gateway)
  addManaging(gateway, terminal)
}

export function addRunning(gateway: Command): void {
  gateway
    .description('run the gateway of a shop floor')
    .option('--config <file>', 'the gateway-config.json of the platform; needed only at the first start')
    .option('--home <folder>', 'folder of the key, the registry and the spool')
    .option('--registry-port <port>', 'port where links register; 0 selects a free port')
    .option('--proxy-port <port>', 'port where agents on this machine reach the platform; 0 selects a free port')
    .option('--settings', 'print the settings and exit')
    .addHelpText(
      'after',
      `
The first start: bring a gateway in on the platform (console, or millwright gateway onboard), take its gateway-config.json
(valid for 30 minutes, and once), and start the gateway with it. It makes its own key pair, which never
leaves this machine, and enrols. Later starts need no file.

Links then register at the registry port, under any of the prefixes in MILLWRIGHT_LINK_VENDORS.
Only the gateway connects to the cloud; the cloud never connects here.

Examples:
  millwright gateway onboard 'Hall 4'
  millwright gateway --config gateway-config.json
  millwright gateway --home /var/lib/millwright-gateway
  MILLWRIGHT_GATEWAY_REGISTRY_HOST=0.0.0.0 millwright gateway        links on other machines and in containers
  curl http://127.0.0.1:${gatewaySettings.proxyPort.fallback}/gateway/status                       links, their state, what waits for the cloud`,
    )
    .action((options: Options) => (options.settings ? printSettings() : run(options)))
}

function printSettings(): void {
  const rows = Object.values(gatewaySettings).map(({ variable, fallback, help }) => ({
    variable,
    value: process.env[variable] ?? (fallback === '' ? 'none' : `${fallback} (default)`),
    help,
  }))
  console.log(table(rows))
}

async function run(options: Options): Promise<void> {
  const signals = stopSignals()
  const gateway = await start(options)
  giveBackMemory(() => gateway.status().scans > 0)
  console.log(welcome(gateway))
  await signals
  await gateway.stop()
  process.exit(0)
}

async function start({ config, home, registryPort, proxyPort }: Options): Promise<RunningGateway> {
  const given = {
    [gatewaySettings.configFile.variable]: config,
    [gatewaySettings.home.variable]: home,
    [gatewaySettings.registryPort.variable]: registryPort,
    [gatewaySettings.proxyPort.variable]: proxyPort,
  }
  // Other commands need not load what speaks to links.
  const { startGateway } = await import('@millwright/gateway/gateway.ts')
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  await requireKnownSettings(process.env)
  return startGateway(readSettings({ ...process.env, ...Object.fromEntries(set) }))
}

/** Throws for an unknown setting. Loads the names of the other programs only when the gateway does not know one. */
async function requireKnownSettings(environment: Environment): Promise<void> {
  const own: string[] = Object.values(gatewaySettings).map(({ variable }) => variable)
  if (Object.keys(environment).every((name) => !name.startsWith('MILLWRIGHT_') || own.includes(name))) return
  const { allVariables } = await import('@millwright/cloud/settings.ts')
  requireKnownNames(environment, allVariables())
}

/** Resolves at the first signal; later ones are ignored while it stops. */
function stopSignals(): Promise<void> {
  ignoreHangUp()
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve())
  })
}

function welcome({ name, tenantName, cloudUrl, registryPort, proxyPort }: RunningGateway): string {
  const row = (label: string, value: string) => `  ${styleText('dim', label.padEnd(10))}${value}`
  return [
    `${styleText('bold', `Gateway ${name}`)} of ${tenantName} is ready.`,
    '',
    row('Cloud', cloudUrl),
    row('Registry', `port ${registryPort}, where links register`),
    row('Agents', `http://127.0.0.1:${proxyPort}`),
    row('Status', `http://127.0.0.1:${proxyPort}/gateway/status`),
    '',
    'Ctrl-C stops it.',
  ].join('\n')
}
