import { setTimeout as delay } from 'node:timers/promises'
import { type AssetLink, discovery } from '@millwright/api/discovery.ts'
import type { Command } from 'commander'
import { pairOf } from '../input/json-input.ts'
import { gatewayId } from '../input/lookup.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { plain } from '../output/text.ts'
import { online, repeated } from '../session/platform-command.ts'
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
}

/** How long a link may take until it answers, and how often it is looked for. */
const patienceMs = 10_000
const lookMs = 250

export function addCommands(discover: Command, terminal: Terminal): void {
  const command = discover
    .option('--gateway <gateway>', 'name or id (default: the only one)')
    .option(
      '--link <link>',
      'id of the asset link, also without the prefix cdm-device-class-driver- (default: the only one that answers)',
    )
    .option('--filter <key=value>', 'a filter of the link; repeatable', repeated)
    .option('--option <key=value>', 'an option of the link', repeated)
    .option('--schedule <cron>', 'cron schedule: minute hour day month weekday')
    .option('--timezone <name>', 'time zone of the schedule: Europe/Berlin (default: UTC)')
    .option('--follow', 'show devices as they are found, and the report at the end', true)
    .option('--no-follow', 'return when the scan is accepted')
  online(command, terminal, start).addHelpText(
    'after',
    `
Ctrl-C stops following, and asks whether the gateway shall stop too.
What a link offers is shown by "millwright gateway links".

Examples:
  millwright discover
  millwright discover --gateway 'Hall 4' --link millwright.links.plant --option size=250
  millwright discover --filter ip_range=10.0.0.0/16 --schedule '0 3 * * *' --timezone Europe/Berlin`,
  )
}

async function start(session: Session, options: Options): Promise<void> {
  const gateway = await gatewayId(session, options.gateway)
  const link = await linkOf(session, gateway, options.link)
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
    return session.output.done(`Discovery ${jobId} is accepted.${next}`, { data: { jobId } })
  }
  await follow(session, { link, begin: create })
}

function schedule(cron: string, timezone: string | undefined) {
  return { cron, ...(timezone === undefined ? {} : { timezone }) }
}

function parameter(option: string): (text: string) => { key: string; value: string } {
  return (text) => {
    const [key, value] = pairOf(text, option)
    return { key, value }
  }
}

type LinkChoice = Pick<AssetLink, 'assetLinkId' | 'deviceClass'>

async function linkOf(session: Session, gateway: string, given: string | undefined): Promise<LinkChoice> {
  if (given !== undefined) return namedLink(session, gateway, given)
  const links = await answeringLinks(session, gateway)
  const usable = links.filter(isUsable)
  const [first, second] = usable
  if (first === undefined) {
    throw new CommandError(noUsableLink(links), {
      exitCode: exitCodes.notFound,
      next: 'start one there: millwright link run plant; millwright gateway links shows them',
    })
  }
  if (second === undefined) return first
  const names = usable.map(({ assetLinkId }) => assetLinkId).join(', ')
  throw usageError(`The gateway has several links: ${names}.`, 'say which one with --link')
}

/** Links of the public SDK register under their id with this prefix. */
const registeredPrefix = 'cdm-device-class-driver-'

/** The link of that id, or of the id with the usual prefix. The platform refuses an id that no link has. */
async function namedLink({ api }: Session, gateway: string, given: string): Promise<LinkChoice> {
  const { data: links } = await api(discovery).listAssetLinks({ params: { gatewayId: gateway } })
  const linkOfId = (id: string) => links.find(({ assetLinkId }) => assetLinkId === id)
  return linkOfId(given) ?? linkOfId(registeredPrefix + given) ?? { assetLinkId: given }
}

/** Names each link with the reason why it cannot scan. */
export function noUsableLink(links: readonly AssetLink[]): string {
  const reasons = links.map(({ assetLinkId, incompatibility, problem }) =>
    plain(`${assetLinkId}: ${incompatibility ?? problem ?? 'does not answer'}`),
  )
  return ['The gateway has no link that answers.', ...reasons].join('\n  ')
}

const isUsable = ({ compatible, reachable }: AssetLink) => compatible && reachable

/** The links of a gateway. A gateway that was just started needs a moment until one of them answers. */
async function answeringLinks({ api, terminal }: Session, gateway: string): Promise<AssetLink[]> {
  const beganAtMs = performance.now()
  for (;;) {
    const { data } = await api(discovery).listAssetLinks({ params: { gatewayId: gateway } })
    if (data.some(isUsable) || performance.now() - beganAtMs > patienceMs) return data
    terminal.progress('Waiting for a link of the gateway to answer')
    await delay(lookMs)
  }
}
