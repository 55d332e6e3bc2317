import { styleText } from 'node:util'
import { requireKnownNames } from '@millwright/cloud/platform/configuration.ts'
import type { RunningGateway } from '@millwright/gateway/gateway.ts'
import { releaseMemory } from '@millwright/gateway/memory.ts'
import { type Environment, gatewaySettings, readSettings } from '@millwright/gateway/settings.ts'
import type { Command } from 'commander'
import { table } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { ignoreHangUp } from '../server/stop-signals.ts'
import { addBudget } from './budget.ts'
import { addCertificates } from './certificates.ts'
import { addManagement } from './gateways.ts'
import { addRemoteAccessSettings } from './remote-access-settings.ts'

type Options = { config?: string; home?: string; registryPort?: string; proxyPort?: string; settings?: boolean }

/**
 * Adds `millwright gateway`, which runs a gateway on this machine, and its subcommands, which manage the gateways of
 * the platform.
 */
export function addCommands(gateway: Command, terminal: Terminal): void {
  gateway.enablePositionalOptions()
  addRunCommand(gateway)
  addManagement(gateway, terminal)
  addBudget(gateway, terminal)
  addRemoteAccessSettings(gateway, terminal)
  addCertificates(gateway, terminal)
}

function addRunCommand(gateway: Command): void {
  gateway
    .description('run the gateway of a shop floor: it connects to the platform, and links register with it')
    .option('--config <file>', 'gateway-config.json from the platform; required at the first start only')
    .option('--home <folder>', 'folder for the key, the registry and data that waits for the platform')
    .option('--registry-port <port>', 'port where links register; 0 selects a free port')
    .option('--proxy-port <port>', 'port where agents on this machine reach the platform; 0 selects a free port')
    .option('--settings', 'print the settings and exit')
    .addHelpText(
      'after',
      `
First start: register a gateway on the platform (console, or millwright gateway onboard). This creates a
gateway-config.json, which is valid for 30 minutes and for one enrolment. Start the gateway with this file. The gateway
creates its key pair, which never leaves this machine, and enrols. Later starts do not need the file.

The gateway runs the built-in links that MILLWRIGHT_GATEWAY_LINKS names (plant,snmp,… or all). "millwright gateway links
enable" and "disable" start and stop them later. Other links register at the registry port, with one of the vendor
prefixes in MILLWRIGHT_LINK_VENDORS. The gateway opens all connections to the platform. The platform never connects to the gateway.

Examples:
  millwright gateway onboard 'Hall 4'
  millwright gateway --config gateway-config.json
  millwright gateway --home /var/lib/millwright-gateway
  MILLWRIGHT_GATEWAY_LINKS=ip-scan,snmp millwright gateway           with links to real networks
  MILLWRIGHT_GATEWAY_TLS_HOST=10.0.0.5 MILLWRIGHT_GATEWAY_TLS_PORT=50052 millwright gateway   links on other machines
  curl http://127.0.0.1:${gatewaySettings.proxyPort.fallback}/gateway/status                       links, their state, data that waits`,
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
  await gateway.startLinks()
  releaseMemory(() => gateway.status().scans > 0 || gateway.status().updates.running > 0)
  console.log(welcome(gateway))
  await signals
  await gateway.stop()
  process.exit(0)
}

async function start({ config, home, registryPort, proxyPort }: Options): Promise<RunningGateway> {
  const options = {
    [gatewaySettings.configFile.variable]: config,
    [gatewaySettings.home.variable]: home,
    [gatewaySettings.registryPort.variable]: registryPort,
    [gatewaySettings.proxyPort.variable]: proxyPort,
  }
  // The import is dynamic, so that the other commands of the CLI do not load the gateway.
  const [{ startGateway }, { builtInLinks }] = await Promise.all([
    import('@millwright/gateway/gateway.ts'),
    import('@millwright/links/catalogue.ts'),
  ])
  const set = Object.entries(options).filter(([, value]) => value !== undefined)
  await requireKnownSettings(process.env)
  return startGateway(readSettings({ ...process.env, ...Object.fromEntries(set) }), { builtInLinks })
}

/**
 * Throws if the environment contains an unknown setting. The list of all settings is loaded only when a name is not a
 * gateway setting.
 */
async function requireKnownSettings(environment: Environment): Promise<void> {
  const own: string[] = Object.values(gatewaySettings).map(({ variable }) => variable)
  if (Object.keys(environment).every((name) => !name.startsWith('MILLWRIGHT_') || own.includes(name))) return
  const { allVariables } = await import('@millwright/cloud/settings.ts')
  requireKnownNames(environment, allVariables())
}

/** Resolves at the first SIGINT or SIGTERM. Later signals are ignored while the gateway stops. */
function stopSignals(): Promise<void> {
  ignoreHangUp()
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve())
  })
}

function welcome(gateway: RunningGateway): string {
  const { name, tenantName, cloudUrl, cloudTrust, registryPort, proxyPort, tlsPort, agentTlsPort } = gateway
  const row = (label: string, value: string) => `  ${styleText('dim', label.padEnd(10))}${value}`
  return [
    `${styleText('bold', `Gateway ${name}`)} of ${tenantName} is ready.`,
    '',
    row('Platform', `${cloudUrl} (${cloudTrust})`),
    row('Registry', `port ${registryPort}, for links`),
    ...(tlsPort === undefined ? [] : [row('', `port ${tlsPort}, with mutual TLS for links on other machines`)]),
    row('Agents', `http://127.0.0.1:${proxyPort}`),
    ...(agentTlsPort === undefined
      ? []
      : [row('', `port ${agentTlsPort}, with mutual TLS for agents on other machines`)]),
    row('Status', `http://127.0.0.1:${proxyPort}/gateway/status`),
    '',
    'Ctrl-C stops it.',
  ].join('\n')
}
