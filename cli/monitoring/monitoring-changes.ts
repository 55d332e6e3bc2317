import { discovery } from '@millwright/api/discovery.ts'
import { type MonitoringTargets, monitoring } from '@millwright/api/monitoring.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import type { Command } from 'commander'
import { templateId } from '../credentials/templates.ts'
import { linkWithId } from '../discovery/discover.ts'
import { confirm } from '../input/confirmation.ts'
import { assetIds } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { monitoringId } from './monitoring-labels.ts'
import { followRun } from './run-progress.ts'

/** This file adds the commands that create, change, pause and delete monitorings. */

type FieldOptions = {
  filter?: string
  asset?: string[]
  link?: string[]
  template?: string
  key?: string[]
  assignWorking?: boolean
  schedule?: string
  timezone?: string
}

type UpdateOptions = FieldOptions & { name?: string }

export function addChanges(monitor: Command, terminal: Terminal): void {
  platformCommand(
    withFieldOptions(
      monitor
        .command('create')
        .description('create a monitoring task; without a schedule, it runs once now')
        .argument('<name>', 'name of the monitoring'),
    )
      .option('--assign-working', 'assign a copy of the credentials that worked to each asset')
      .option('--no-follow', 'without a schedule: exit when the run is accepted'),
    terminal,
    create,
  )

  platformCommand(
    withFieldOptions(
      monitor
        .command('update')
        .description('change a monitoring task; a change of more than name and schedule makes you its owner')
        .argument('<monitoring>', 'id or name')
        .option('--name <name>', 'new name'),
    )
      .option('--assign-working', 'assign a copy of the credentials that worked to each asset')
      .option('--no-assign-working', 'do not assign credentials'),
    terminal,
    update,
  )

  for (const [name, paused, description] of [
    ['pause', true, 'stop the schedule; a current run continues'],
    ['resume', false, 'continue the schedule'],
  ] as const) {
    platformCommand(
      monitor.command(name).description(description).argument('<monitoring>', 'id or name'),
      terminal,
      async (session, nameOrId: string) => {
        const id = await monitoringId(session, nameOrId)
        const answer = await session.api(monitoring).updateMonitoring({ params: { id }, body: { data: { paused } } })
        await session.output.done(`${nameOrId} ${name}d`, answer)
      },
    )
  }

  platformCommand(
    monitor
      .command('delete')
      .description('delete a monitoring task with its schedule, runs and results; assets stay')
      .argument('<monitoring>', 'id or name')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, nameOrId: string, options: { yes?: boolean }) => {
      const id = await monitoringId(session, nameOrId)
      await confirm(session, `Delete ${nameOrId} with its runs and results?`, options)
      await session.api(monitoring).deleteMonitoring({ params: { id } })
      await session.output.done(`${nameOrId} deleted`, { data: { id } })
    },
  )
}

/** Adds the options for the fields. `none` in a change removes the value. */
function withFieldOptions(command: Command): Command {
  return command
    .option('--filter <filter>', 'assets that match at the time of each run, such as "startswith(name, \'Line 1\')"')
    .option('--asset <asset>', 'name or id of an asset, instead of a filter; repeatable', collect)
    .option('--link <link>', 'check only through this link, such as snmp; repeatable; none: all links', collect)
    .option('--template <template>', 'monitoring set whose credentials are used; none: no credentials')
    .option(
      '--key <key>',
      'property to read in addition to the firmware version; repeatable; none: no property',
      collect,
    )
    .option('--schedule <cron>', 'cron schedule: minute hour day month weekday; none: no schedule')
    .option('--timezone <name>', 'time zone of the schedule, such as Europe/Berlin (default: UTC)')
}

async function create(session: Session, name: string, options: FieldOptions & { follow: boolean }): Promise<void> {
  const targets = await targetsOf(session, options)
  if (targets === undefined)
    throw usageError(
      'The devices are missing.',
      `pass --filter or --asset, for example --filter "functional_object_type eq 'Device'"`,
    )
  const { instancesTemplateId, schedule, ...fields } = await fieldsOf(session, options)
  const data = {
    name,
    targets,
    ...fields,
    ...(instancesTemplateId == null ? {} : { instancesTemplateId }),
    ...(schedule == null ? {} : { schedule }),
  }
  const answer = await session.api(monitoring).createMonitoring({ body: { data } })
  const { id } = answer.data
  if (data.schedule === undefined && options.follow) return followRun(session, { id, name })
  await session.output.done(`Monitoring task ${name} created: ${id}`, answer)
  if (session.output.isText) session.terminal.note(`Results: millwright monitor results ${JSON.stringify(name)}`)
}

async function update(session: Session, nameOrId: string, { name, ...options }: UpdateOptions): Promise<void> {
  const targets = await targetsOf(session, options)
  const data = {
    ...(name === undefined ? {} : { name }),
    ...(targets === undefined ? {} : { targets }),
    ...(await fieldsOf(session, options)),
  }
  if (Object.keys(data).length === 0) throw usageError('Pass at least one option with a new value.')
  const id = await monitoringId(session, nameOrId)
  const answer = await session.api(monitoring).updateMonitoring({ params: { id }, body: { data } })
  await session.output.done(`${nameOrId} changed. Its owner is ${answer.data.owner.name}`, answer)
}

async function targetsOf(session: Session, { filter, asset }: FieldOptions): Promise<MonitoringTargets | undefined> {
  if (filter !== undefined && asset !== undefined) throw usageError('Pass either --filter or --asset.')
  if (filter !== undefined) return { filter }
  return asset === undefined ? undefined : { assetIds: await assetIds(session, asset) }
}

/** Returns the fields of a request. Options that were not passed are left out. */
async function fieldsOf(
  session: Session,
  { link, template, key, assignWorking, schedule: cron, timezone }: FieldOptions,
) {
  if (timezone !== undefined && (cron === undefined || cron === 'none'))
    throw usageError('--timezone needs --schedule.', 'pass the cron expression of the schedule too')
  const schedule = cron === 'none' ? null : { cron: cron ?? '', ...(timezone === undefined ? {} : { timezone }) }
  return {
    ...(link === undefined ? {} : { assetLinkIds: isNone(link) ? [] : await linkIds(session, link) }),
    ...(template === undefined
      ? {}
      : { instancesTemplateId: template === 'none' ? null : await templateId(session, template) }),
    ...(key === undefined ? {} : { keys: isNone(key) ? [] : key }),
    ...(assignWorking === undefined ? {} : { assignWorking }),
    ...(cron === undefined ? {} : { schedule }),
  }
}

function isNone(values: readonly string[]): boolean {
  return values.length === 1 && values[0] === 'none'
}

/** Returns the ids of links. Names of built-in links are searched in the links of all gateways. */
async function linkIds({ api }: Session, names: readonly string[]): Promise<string[]> {
  const { data: gateways } = await api(onboarding).listGateways({ query: { limit: 100 } })
  const answers = await Promise.all(
    gateways.map(({ id }) => api(discovery).listAssetLinks({ params: { gatewayId: id } })),
  )
  const links = answers.flatMap(({ data }) => data)
  return names.map((name) => {
    const link = linkWithId(links, name)
    if (link !== undefined) return link.assetLinkId
    throw usageError(`No gateway has the link "${name}".`, 'millwright gateway links')
  })
}
