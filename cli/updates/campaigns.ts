import {
  type Campaign,
  type CampaignState,
  type CampaignTargets,
  campaignStates,
  type DeviceState,
  deviceStates,
  type PlanOutcome,
  planOutcomes,
  updateLimits,
  updates,
  type Wave,
} from '@millwright/api/updates.ts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { assetIds, isId, requireSingle } from '../input/lookup.ts'
import { CommandError, usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { displayText } from '../output/text.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { artefactId } from './artefacts.ts'
import { countsText, followCampaign, printPlanSummary } from './campaign-progress.ts'
import { localTimezone, windowOf } from './windows.ts'

const columns: Columns = {
  id: 'id',
  name: 'name',
  state: 'state',
  artefact: ({ artefact }) => {
    const { name, version } = artefact as Campaign['artefact']
    return `${name} ${version}`
  },
  devices: 'devices',
  counts: ({ counts }) => countsText(counts as Campaign['counts']),
  started: 'startedTimestamp',
  by: 'createdBy.name',
}

const planColumns: Columns = {
  asset: ({ assetName, assetId }) => assetName ?? assetId,
  outcome: 'outcome',
  from: 'fromVersion',
  steps: ({ steps }) => (steps as { version: string }[]).map(({ version }) => version).join(' > '),
  wave: 'wave',
  order: 'order',
  'next window': 'nextWindow',
  reason: 'reason',
}

const deviceColumns: Columns = {
  asset: ({ assetName, assetId }) => assetName ?? assetId,
  wave: 'wave',
  state: 'state',
  progress: ({ progress }) => `${progress} %`,
  from: 'fromVersion',
  to: 'toVersion',
  reported: 'reportedVersion',
  attempt: 'attempt',
  reason: 'reason',
}

type TargetOptions = { filter?: string; asset?: string[] }

type CampaignOptions = TargetOptions & {
  name?: string
  wave?: Wave[]
  stopAt: number
  window?: string
  windowMinutes?: number
  timezone: string
  approval?: boolean
  concurrent: number
  verifyMinutes: number
  downgrade?: boolean
}

type InstallOptions = CampaignOptions & { yes?: boolean; wait: boolean }

/** Adds the commands for campaigns. */
export function addCampaigns(parent: Command, terminal: Terminal): void {
  platformCommand(
    withCampaignOptions(
      parent
        .command('install')
        .description('create a campaign, show its plan, and start it after a confirmation')
        .argument('<artefact>', 'id, name or name@version'),
    )
      .option('--yes', 'start without a question')
      .option('--no-wait', 'exit after the start'),
    terminal,
    install,
  ).addHelpText(
    'after',
    `
Examples:
  millwright updates install 'Firmware 2.1' --asset 'Drive 12' --yes
  millwright updates install 'Firmware 2.1' --filter "firmware_version eq '2.0'" --wave 5 --wave 25% --stop-at 5
  millwright updates install 'Firmware 2.1' --filter "name eq 'Drive 12'" --window '0 22 * * 6' --window-minutes 360`,
  )

  platformCommand(
    withCampaignOptions(
      parent
        .command('create')
        .description('create a campaign as a draft')
        .argument('<artefact>', 'id, name or name@version'),
    ),
    terminal,
    async (session, artefact: string, options: CampaignOptions) => {
      const answer = await create(session, artefact, options)
      const { id } = answer.data
      await session.output.done(
        `Campaign ${id} created. To see what it would do: millwright updates plan ${id}`,
        answer,
      )
    },
  )

  platformCommand(
    parent
      .command('plan')
      .description('show what a draft would do with each asset, and why')
      .argument('<campaign>', 'id or name')
      .addOption(new Option('--outcome <outcome>', 'only assets with this outcome').choices(planOutcomes))
      .option('--limit <count>', 'maximum number of assets', wholeNumber(1, 1_000), 100),
    terminal,
    plan,
  )

  platformCommand(
    withPagingOptions(parent.command('campaigns').description('list campaigns, newest first')).addOption(
      new Option('--state <state>', 'state of the campaigns').choices(campaignStates),
    ),
    terminal,
    async (session, { state, ...options }: PagingOptions & { state?: CampaignState }) => {
      const filter = state === undefined ? {} : { state }
      const pages = pagesOf(options, (page) => session.api(updates).listCampaigns({ query: { ...filter, ...page } }))
      await session.output.list(await pages, {
        columns,
        nothing: 'No campaigns. To start one: millwright updates install',
      })
    },
  )

  platformCommand(
    parent
      .command('show')
      .description('show a campaign, or follow it to its end')
      .argument('<campaign>', 'id or name')
      .option('--follow', 'wait for the end and show the progress'),
    terminal,
    async (session, name: string, { follow }: { follow?: boolean }) => {
      const id = await campaignId(session, name)
      if (follow === true) return followCampaign(session, id)
      await session.output.show(await session.api(updates).readCampaign({ params: { id } }))
    },
  )

  platformCommand(
    withPagingOptions(
      parent.command('devices').description('list the devices of a campaign').argument('<campaign>', 'id or name'),
    )
      .addOption(new Option('--state <state>', 'devices in this state').choices(deviceStates))
      .option('--wave <number>', 'devices of this wave', wholeNumber(1, updateLimits.waves + 1)),
    terminal,
    listDevices,
  )

  addChanges(parent, terminal)
}

/** Adds the commands that change a campaign. */
function addChanges(parent: Command, terminal: Terminal): void {
  const simple = [
    ['start', 'start a draft; its targets no longer change', 'startCampaign'],
    ['approve', 'approve a campaign of another person', 'approveCampaign'],
    ['pause', 'pause a campaign: no other device starts, and prepared devices wait', 'pauseCampaign'],
    ['resume', 'continue a paused or stopped campaign', 'resumeCampaign'],
    [
      'cancel',
      'cancel a campaign: prepared devices discard the artefact, and running activations are completed',
      'cancelCampaign',
    ],
  ] as const
  for (const [name, description, operation] of simple)
    platformCommand(
      parent.command(name).description(description).argument('<campaign>', 'id or name'),
      terminal,
      async (session, campaign: string) => {
        const id = await campaignId(session, campaign)
        const answer = await session.api(updates)[operation]({ params: { id } })
        await session.output.done(stateText(answer.data), answer)
      },
    )

  platformCommand(
    parent
      .command('retry')
      .description('update failed devices again; unknown and canceled devices only with --asset')
      .argument('<campaign>', 'id or name')
      .option('--asset <asset>', 'only this asset: id or name; repeatable', collect),
    terminal,
    async (session, campaign: string, { asset }: { asset?: string[] }) => {
      const id = await campaignId(session, campaign)
      const body = asset === undefined ? {} : { body: { data: { assetIds: await assetIds(session, asset) } } }
      const answer = await session.api(updates).retryCampaign({ params: { id }, ...body })
      await session.output.done(stateText(answer.data), answer)
    },
  )

  platformCommand(
    parent
      .command('delete')
      .description('delete a draft or an ended campaign')
      .argument('<campaign>', 'id or name')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, campaign: string, options: { yes?: boolean }) => {
      const id = await campaignId(session, campaign)
      await confirm(session, `Delete campaign "${campaign}"?`, options)
      await session.api(updates).deleteCampaign({ params: { id } })
      await session.output.done(`Campaign ${campaign} deleted.`, { data: { id } })
    },
  )
}

function stateText({ id, state, stateReason, counts }: Campaign): string {
  const reason = stateReason === undefined ? '' : ` (${displayText(stateReason)})`
  return `Campaign ${id} is ${state}${reason}: ${countsText(counts)}`
}

function withCampaignOptions(command: Command): Command {
  return command
    .option(
      '--filter <filter>',
      'assets that match, such as "firmware_version eq \'2.0\'"; see docs/reference/filters.md',
    )
    .option('--asset <asset>', 'this asset: id or name; repeatable', collect)
    .option('--name <name>', 'name of the campaign (default: the artefact and the date)')
    .option(
      '--wave <size>',
      'size of a wave: a number of devices, or a percentage such as 25%; repeatable; the remaining devices form one more wave',
      addWave,
    )
    .option('--stop-at <percent>', 'stop when more than this percentage of a wave is failed or unknown', percent, 10)
    .option('--window <cron>', 'starts of the maintenance window, such as "0 22 * * 6"')
    .option('--window-minutes <minutes>', 'duration of the window', wholeNumber(1, updateLimits.windowMinutes))
    .option('--timezone <zone>', 'time zone of the window', localTimezone)
    .option('--approval', 'another person must approve the campaign')
    .option('--concurrent <count>', 'devices at the same time', wholeNumber(1, updateLimits.concurrentDevices), 20)
    .option(
      '--verify-minutes <minutes>',
      'minutes after the activation in which a device must report the new version',
      wholeNumber(updateLimits.verifyMinutes.minimum, updateLimits.verifyMinutes.maximum),
      updateLimits.verifyMinutes.default,
    )
    .option('--downgrade', 'also update devices that have a newer version')
}

function percent(text: string): number {
  const value = Number(text.replace(/%$/, ''))
  if (text !== '' && value >= 0 && value <= 100) return value
  throw new InvalidArgumentError('Expected a percentage from 0 to 100.')
}

function addWave(text: string, before: readonly Wave[] = []): Wave[] {
  if (text.endsWith('%')) {
    const value = percent(text)
    if (value === 0) throw new InvalidArgumentError('Expected a percentage above 0.')
    return [...before, { percent: value }]
  }
  return [...before, { count: wholeNumber(1, updateLimits.targets)(text) }]
}

async function create(session: Session, artefact: string, options: CampaignOptions): Promise<{ data: Campaign }> {
  const { window, windowMinutes, timezone } = options
  if ((window === undefined) !== (windowMinutes === undefined))
    throw usageError('--window and --window-minutes must be used together.', 'pass both options, or none of them')
  const targets = await targetsOf(session, options)
  const id = await artefactId(session, artefact)
  const name = options.name ?? `${artefact.slice(0, 100)} ${new Date().toISOString().slice(0, 16).replace('T', ' ')}`
  const data = {
    name,
    artefactId: id,
    targets,
    waves: options.wave ?? [],
    stopOnFailurePercent: options.stopAt,
    ...(window === undefined || windowMinutes === undefined
      ? {}
      : { window: windowOf({ cron: window, minutes: windowMinutes, timezone }) }),
    approval: options.approval === true ? ('required' as const) : ('none' as const),
    concurrentDevices: options.concurrent,
    verifyMinutes: options.verifyMinutes,
    allowsDowngrade: options.downgrade === true,
  }
  return session.api(updates).createCampaign({ body: { data } })
}

async function targetsOf(session: Session, { filter, asset }: TargetOptions): Promise<CampaignTargets> {
  if (filter !== undefined && asset !== undefined)
    throw usageError('--filter and --asset cannot be combined.', 'pass one of them')
  if (asset !== undefined) return { assetIds: await assetIds(session, asset) }
  if (filter !== undefined) return { filter }
  throw usageError('The targets are missing.', 'pass --filter, or --asset for each asset')
}

async function plan(
  session: Session,
  campaign: string,
  { outcome, limit }: { outcome?: PlanOutcome; limit: number },
): Promise<void> {
  const id = await campaignId(session, campaign)
  const query = { limit, ...(outcome === undefined ? {} : { outcome }) }
  const answer = await session.api(updates).planCampaign({ params: { id }, query })
  if (!session.output.isText) return session.output.show(answer)
  await printPlanSummary(session, answer.data)
  await session.output.list(
    { data: answer.data.devices },
    { columns: planColumns, nothing: 'No asset matches the targets of the campaign.' },
  )
  if (answer.data.nextOffset !== undefined)
    session.terminal.note(`${answer.data.devices.length} assets shown. To show more, pass --limit.`)
}

async function install(session: Session, artefact: string, options: InstallOptions): Promise<void> {
  const { data: campaign } = await create(session, artefact, options)
  const params = { id: campaign.id }
  const discard = () =>
    session
      .api(updates)
      .deleteCampaign({ params })
      .catch(() => {})
  try {
    const { data } = await session.api(updates).planCampaign({ params, query: { limit: 1 } })
    await printPlanSummary(session, data)
    const devices = data.summary.outcomes.update
    if (devices === 0)
      throw new CommandError('No device can be updated.', { next: 'read the reasons above, or choose other targets' })
    await confirm(session, `Update ${devices} ${devices === 1 ? 'device' : 'devices'}?`, options)
  } catch (error) {
    await discard()
    throw error
  }
  const started = await session.api(updates).startCampaign({ params })
  if (!options.wait || started.data.state === 'pending-approval')
    return session.output.done(stateText(started.data), started)
  await followCampaign(session, campaign.id)
}

async function listDevices(
  session: Session,
  campaign: string,
  { state, wave, ...options }: PagingOptions & { state?: DeviceState; wave?: number },
): Promise<void> {
  const id = await campaignId(session, campaign)
  const filters = { ...(state === undefined ? {} : { state }), ...(wave === undefined ? {} : { wave }) }
  const pages = pagesOf(options, (page) =>
    session.api(updates).listDevices({ params: { id }, query: { ...filters, ...page } }),
  )
  await session.output.list(await pages, {
    columns: deviceColumns,
    nothing: 'No devices. The devices of a campaign are fixed when it starts.',
  })
}

/** Returns the id of a campaign. */
async function campaignId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const matches: Campaign[] = []
  for (let offset = 0, total = 1; offset < total; offset += 100) {
    const { data, meta } = await api(updates).listCampaigns({ query: { limit: 100, offset } })
    matches.push(...data.filter(({ name }) => name === nameOrId))
    total = meta.totalElements ?? 0
  }
  return requireSingle('Campaign', nameOrId, { matches, list: 'millwright updates campaigns' })
}
