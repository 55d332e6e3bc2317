import { join } from 'node:path'
import { parseIpRange } from '@millwright/api/ip-range.ts'
import { defaultBudget, type ScanBudget } from '@millwright/api/scan-budget.ts'
import { type Command, Option } from 'commander'
import { parsePair } from '../input/json-input.ts'
import { usageError } from '../output/error-report.ts'
import { Output } from '../output/output.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect } from '../session/platform-command.ts'
import { gatewayHome, noteMissingGateway } from './gateway-home.ts'

type Options = {
  home?: string
  set?: string[]
  exclude?: string[]
  protocols?: string
  hours?: string
  localAddresses?: 'allow' | 'refuse'
  multicast?: 'allow' | 'deny' | 'default'
  reset?: boolean
  json?: boolean
}

/** Adds `millwright gateway budget`, which shows and changes the budget of the gateway on this machine. */
export function addBudget(gateway: Command, terminal: Terminal): void {
  gateway
    .command('budget')
    .description('limits of the traffic to devices, shared by all links of the gateway on this machine')
    .option(
      '--home <folder>',
      'home of the gateway (default: MILLWRIGHT_GATEWAY_HOME, or the folder gateway in MILLWRIGHT_HOME)',
    )
    .option('--set <limit=number>', 'set a limit, such as perDevice.requestsPerSecond=5; repeatable', collect)
    .option(
      '--exclude <range>',
      'send nothing to these addresses, in addition to those excluded before; repeatable; "none" removes all',
      collect,
    )
    .option('--protocols <names>', 'allow only these protocols, separated by commas; "all" allows all')
    .option('--hours <spans>', 'allow traffic only in these hours, such as 22:00-05:00; "all" allows all')
    .addOption(
      new Option(
        '--local-addresses <rule>',
        'scans of this machine (127.0.0.0/8) and of link-local addresses (169.254.0.0/16)',
      ).choices(['allow', 'refuse']),
    )
    .addOption(
      new Option(
        '--multicast <rule>',
        'multicast and broadcast packets, which all devices of a segment receive; "default" allows them if no address is excluded',
      ).choices(['allow', 'deny', 'default']),
    )
    .option('--reset', 'restore the defaults')
    .addOption(new Option('--json', 'print the budget as JSON'))
    .addHelpText(
      'after',
      `
A link takes a permit from the gateway before it sends anything. The gateway gives permits within this budget. A change
applies within about one second, also to running scans. The budget does not limit links that take no permits:
"millwright gateway links" shows them as not budgeted.

Limits: perDevice and perGateway, each with datagramsPerSecond, connectionsPerSecond, requestsPerSecond, connections.

Examples:
  millwright gateway budget
  millwright gateway budget --set perDevice.requestsPerSecond=5 --set perDevice.connections=1
  millwright gateway budget --exclude 10.0.0.7 --exclude 10.0.8.0/24 --hours 22:00-05:00
  millwright gateway budget --protocols snmp,opcua`,
    )
    .action((options: Options) => run(terminal, options))
}

async function run(terminal: Terminal, options: Options): Promise<void> {
  const { budgetFileName, readBudget, writeBudget } = await import('@millwright/gateway/permits/budget-file.ts')
  const home = gatewayHome(terminal.environment, options.home)
  const file = join(home, budgetFileName)
  const before = options.reset ? defaultBudget : await readBudget(file)
  if (options.protocols !== undefined) await requireProtocols(options.protocols, before)
  const budget = changed(before, options)
  if (JSON.stringify(budget) !== JSON.stringify(await readBudget(file).catch(() => undefined)))
    await writeBudget(file, budget)
  await new Output(terminal, options.json ? 'json' : 'text').show({ data: budget })
  noteMissingGateway(terminal, home)
}

function changed(before: ScanBudget, options: Options): ScanBudget {
  const { set = [], exclude, protocols, hours, localAddresses, multicast } = options
  const budget = structuredClone(before)
  for (const text of set) setLimit(budget, text)
  if (exclude !== undefined) {
    for (const range of exclude) requireRange(range)
    const kept = exclude.includes('none') ? [] : budget.excludedAddresses
    budget.excludedAddresses = [...new Set([...kept, ...exclude.filter((range) => range !== 'none')])]
  }
  if (protocols === 'all') delete budget.protocols
  else if (protocols !== undefined) budget.protocols = listOf(protocols)
  if (localAddresses === 'refuse') delete budget.localAddresses
  else if (localAddresses === 'allow') budget.localAddresses = true
  if (multicast === 'default') delete budget.multicast
  else if (multicast !== undefined) budget.multicast = multicast === 'allow'
  if (hours === 'all') delete budget.hours
  else if (hours !== undefined) budget.hours = listOf(hours).map(spanOf)
  return budget
}

/**
 * Requires that a built-in link has each protocol. A misspelled name would stop the links of that protocol. Protocols of
 * other links are accepted if `budget.json` already contains them.
 */
async function requireProtocols(text: string, { protocols = [] }: ScanBudget): Promise<void> {
  if (text === 'all') return
  const { builtInLinks, manifestOf } = await import('@millwright/links/catalogue.ts')
  const manifests = await Promise.all(builtInLinks.map(manifestOf))
  const sent = manifests.flatMap(({ sends = [] }) => sends.map(({ protocol }) => protocol))
  const known = [...new Set([...sent, ...protocols])].toSorted()
  const unknown = listOf(text).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw usageError(
      `Unknown protocol "${unknown}" in --protocols. Use one or more of ${known.join(', ')}.`,
      'write the protocol of a link of another manufacturer to budget.json',
    )
}

function listOf(text: string): string[] {
  return text.split(',').map((part) => part.trim())
}

function setLimit(budget: ScanBudget, text: string): void {
  const [path, value] = parsePair(text, '--set')
  const [part, limit, ...rest] = path.split('.')
  const isKnown = (part === 'perDevice' || part === 'perGateway') && rest.length === 0 && limit !== undefined
  if (!isKnown || !Object.hasOwn(defaultBudget[part], limit)) {
    const limits = Object.keys(defaultBudget.perDevice).join(', ')
    throw usageError(`"${path}" is not a limit. Use perDevice or perGateway, a dot, and one of ${limits}.`)
  }
  if (!/^[1-9]\d{0,8}$/.test(value))
    throw usageError(`${path} must be a whole number of at least 1, but is "${value}".`)
  budget[part][limit as keyof ScanBudget['perDevice']] = Number(value)
}

function requireRange(text: string): void {
  if (text === 'none' || parseIpRange(text) !== undefined) return
  throw usageError(`"${text}" is not an address range. Use 10.0.0.0/24, 10.0.0.1-10.0.0.99 or one address.`)
}

function spanOf(text: string): { from: string; to: string } {
  const [from = '', to = '', ...rest] = text.split('-')
  const isTime = (part: string) => /^([01]\d|2[0-3]):[0-5]\d$/.test(part)
  if (isTime(from) && isTime(to) && from !== to && rest.length === 0) return { from, to }
  throw usageError(`"${text}" is not a span of hours from 00:00 to 23:59. Use 22:00-05:00, or "all" for the whole day.`)
}
