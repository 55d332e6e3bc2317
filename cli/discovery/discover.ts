import { setTimeout as delay } from 'node:timers/promises'
import { type AssetLink, discovery } from '@millwright/api/discovery.ts'
import { isRequiredParameter } from '@millwright/api/link-parameter.ts'
import { plannedFunctions } from '@millwright/api/sent-function.ts'
import type { Command } from 'commander'
import { parsePair } from '../input/json-input.ts'
import { gatewayId } from '../input/lookup.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { sanitize } from '../output/text.ts'
import { addressesText, countAddresses, printFunctions } from '../scan/scan-plan.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { follow } from './scan-progress.ts'

type Options = {
  gateway?: string
  link?: string
  filter?: string[]
  option?: string[]
  schedule?: string
  timezone?: string
  follow: boolean
  dryRun?: boolean
}

/** The time that the command waits for a usable link of the gateway, and the interval between two checks. */
const linkTimeoutMs = 10_000
const pollMs = 250

export function addCommands(discover: Command, terminal: Terminal): void {
  const command = discover
    .option('--gateway <gateway>', 'name or id of the gateway (default: the only gateway)')
    .option(
      '--link <link>',
      'id of the link, or the name of a built-in link such as snmp; the prefix cdm-device-class-driver- can be left out (default: the only reachable link whose required filters are given)',
    )
    .option('--filter <key=value>', 'scope of the scan, with a filter of the link; repeatable', collect)
    .option('--option <key=value>', 'option of the link; repeatable', collect)
    .option('--schedule <cron>', 'cron schedule instead of one scan now: minute hour day month weekday')
    .option('--timezone <name>', 'time zone of the schedule, such as Europe/Berlin (default: UTC)')
    .option('--dry-run', 'print what the link would send, and start no scan')
    .option('--follow', 'show devices as they are found, and the report at the end', true)
    .option('--no-follow', 'exit when the scan is accepted')
  platformCommand(command, terminal, start).addHelpText(
    'after',
    `
Ctrl-C stops the output, and asks whether to cancel the scan on the gateway too.
"millwright gateway links" lists links with their filters and options.

Examples:
  millwright discover
  millwright discover --gateway 'Hall 4' --link millwright.links.plant --option size=250
  millwright discover --link snmp --filter ip_range=10.0.0.0/24 --dry-run
  millwright discover --filter ip_range=10.0.0.0/16 --schedule '0 3 * * *' --timezone Europe/Berlin`,
  )
}

async function start(session: Session, options: Options): Promise<void> {
  const gateway = await gatewayId(session, options.gateway)
  const link = await linkOf(session, gateway, options)
  if (options.dryRun) return printPlan(session, link, options)
  const data = {
    assetLinkId: link.assetLinkId,
    ...(options.filter === undefined ? {} : { discoveryFilters: options.filter.map(parameter('--filter')) }),
    ...(options.option === undefined ? {} : { discoveryOptions: options.option.map(parameter('--option')) }),
    ...(options.schedule === undefined ? {} : { schedule: schedule(options.schedule, options.timezone) }),
  }
  const create = async () =>
    (await session.api(discovery).createDiscovery({ params: { gatewayId: gateway }, body: { data } })).jobId
  if (options.schedule !== undefined || !options.follow) {
    const jobId = await create()
    const next = options.schedule === undefined ? ` (millwright discoveries show ${jobId} --follow)` : ''
    return session.output.done(`Scan ${jobId} accepted.${next}`, { data: { jobId } })
  }
  await follow(session, { link, start: create })
}

/** Prints the functions that the link would send with these options, and the number of addresses. */
async function printPlan(session: Session, link: LinkChoice, { filter = [], option = [] }: Options): Promise<void> {
  const { assetLinkId, sends, filters = [], options = [] } = link
  if (sends === undefined) {
    throw new CommandError(
      sanitize(`The link ${assetLinkId} does not list what it sends, because it is not budgeted or not known.`),
      { exitCode: exitCodes.notFound, next: 'to list links: millwright gateway links' },
    )
  }
  const scope = pairsOf('--filter', filter, filters)
  const values = Object.fromEntries(pairsOf('--option', option, options))
  const of = (name: string) => scope.filter(([key]) => key === name).map(([, value]) => value)
  const [ranges, excluded] = [of('ip_range'), of('exclude')]
  const addresses = ranges.length === 0 ? undefined : countAddresses(ranges, excluded)
  const rows = plannedFunctions(sends, options, values).map((sent) => ({ link: assetLinkId, ...sent }))
  if (!session.output.isText) return session.output.done('', { data: { ranges, excluded, addresses, sends: rows } })
  await printFunctions(session.terminal, rows)
  const visited = addresses === undefined ? '' : ` The scan would visit ${addressesText(addresses)}.`
  await session.output.printText(
    `Nothing was sent.${visited} The budget of the gateway applies. No function changes values or settings of a device.`,
  )
}

/** Returns keys and values. Refuses a key that the link does not declare. */
function pairsOf(name: string, texts: readonly string[], declared: readonly { key: string }[]): [string, string][] {
  return texts.map((text) => {
    const [key, value] = parsePair(text, name)
    if (declared.some((one) => one.key === key)) return [key, value]
    throw usageError(`${name} ${text}: the link declares ${declared.map((one) => one.key).join(', ') || 'none'}.`)
  })
}

function schedule(cron: string, timezone: string | undefined) {
  return { cron, ...(timezone === undefined ? {} : { timezone }) }
}

function parameter(option: string): (text: string) => { key: string; value: string } {
  return (text) => {
    const [key, value] = parsePair(text, option)
    return { key, value }
  }
}

type LinkChoice = Pick<AssetLink, 'assetLinkId' | 'deviceClass' | 'sends'> &
  Partial<Pick<AssetLink, 'filters' | 'options'>>

async function linkOf(session: Session, gateway: string, options: Options): Promise<LinkChoice> {
  if (options.link !== undefined) return namedLink(session, gateway, options.link)
  const given = [...(options.filter ?? []), ...(options.option ?? [])].map((text) => text.split('=')[0])
  const hasRequired = ({ filters, options: parameters }: AssetLink) =>
    [...filters, ...parameters].every((one) => !isRequiredParameter(one) || given.includes(one.key))
  const links = await readLinks(session, gateway)
  const reachable = links.filter(isUsable)
  const usable = reachable.some(hasRequired) ? reachable.filter(hasRequired) : reachable
  const [first, second] = usable
  if (first === undefined) {
    throw new CommandError(noUsableLink(links), {
      exitCode: exitCodes.notFound,
      next: 'start one on its machine: millwright gateway links enable plant; to list links: millwright gateway links',
    })
  }
  if (second === undefined) return first
  const names = usable.map(({ assetLinkId }) => assetLinkId).join(', ')
  throw usageError(`The gateway has several links: ${names}.`, 'select one with --link')
}

/** Links that use the public SDK register with this prefix before their id. */
const registeredPrefix = 'cdm-device-class-driver-'

/** The ids of the built-in links begin with this prefix. */
const builtInPrefix = 'millwright.links.'

/**
 * Returns the link with this id, or the link whose id is one of the prefixes followed by this id. If there is neither,
 * the id is returned unchanged, and the platform rejects it.
 */
async function namedLink({ api }: Session, gateway: string, linkId: string): Promise<LinkChoice> {
  const { data: links } = await api(discovery).listAssetLinks({ params: { gatewayId: gateway } })
  return linkWithId(links, linkId) ?? { assetLinkId: linkId }
}

/** Returns the link with this id, or with this id after one of the prefixes. */
export function linkWithId(links: readonly AssetLink[], linkId: string): AssetLink | undefined {
  const ids = ['', registeredPrefix, builtInPrefix].map((prefix) => prefix + linkId)
  return ids.map((id) => links.find(({ assetLinkId }) => assetLinkId === id)).find((link) => link !== undefined)
}

/** Returns a message that names each link and the reason why the link cannot scan. */
export function noUsableLink(links: readonly AssetLink[]): string {
  const reasons = links.map(({ assetLinkId, incompatibility, problem }) =>
    sanitize(`${assetLinkId}: ${incompatibility ?? problem ?? 'not reachable'}`),
  )
  return ['The gateway has no usable link.', ...reasons].join('\n  ')
}

const isUsable = ({ compatible, reachable }: AssetLink) => compatible && reachable

/**
 * Returns the links of a gateway. Waits until one link is usable, because a gateway that has just started has no links
 * yet.
 */
async function readLinks({ api, terminal }: Session, gateway: string): Promise<AssetLink[]> {
  const startedAtMs = performance.now()
  for (;;) {
    const { data } = await api(discovery).listAssetLinks({ params: { gatewayId: gateway } })
    if (data.some(isUsable) || performance.now() - startedAtMs > linkTimeoutMs) return data
    terminal.progress('Waiting for a link of the gateway')
    await delay(pollMs)
  }
}
