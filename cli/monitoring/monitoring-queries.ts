import {
  type Availability,
  type Monitoring,
  type MonitoringResult,
  monitoring,
  monitoringLimits,
} from '@millwright/api/monitoring.ts'
import { type Command, Option } from 'commander'
import { assetId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import { type Columns, Table } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { displayText } from '../output/text.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { labelOf, monitoringId, stateLabels, stateOf } from './monitoring-labels.ts'

/** This file adds the commands that read monitoring tasks, their runs and results, and the availability of assets. */

const columns: Columns = {
  name: 'name',
  state: (row) => stateText(row as Monitoring),
  unreachable: 'summary.failed',
  reachable: 'summary.reached',
  unknown: 'summary.unknown',
  changed: 'summary.changed',
  'last run': (row) => lastRunOf(row as Monitoring),
  schedule: 'schedule.cron',
  'next run': ({ schedule }) => (schedule as Monitoring['schedule'])?.nextRuns[0],
  owner: 'owner.name',
}

export const resultColumns: Columns = {
  asset: ({ assetName, assetId: id }) => assetName ?? id,
  state: ({ state }) => labelOf(state),
  since: 'sinceTimestamp',
  checked: 'checkedTimestamp',
  firmware: 'firmwareVersion',
  link: 'assetLinkId',
  values: ({ values }) => valuesText(values as MonitoringResult['values']),
  message: (row) => messageOf(row as Pick<MonitoringResult, 'message' | 'error'>),
}

type ListOptions = PagingOptions & { scheduled?: boolean }
type ResultOptions = PagingOptions & { state?: string; changed?: boolean }

export function addQueries(monitor: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(
      monitor.command('list').description('list monitoring tasks with their last results, by name'),
    ).option('--scheduled', 'only monitoring tasks with a schedule'),
    terminal,
    async (session, { scheduled, ...options }: ListOptions) => {
      const filter = scheduled === undefined ? {} : { scheduled }
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(monitoring).listMonitorings({ query: { ...filter, limit, offset } }),
      )
      await session.output.list(await pages, {
        columns,
        nothing: 'No monitoring tasks. To add one: millwright monitor create',
      })
    },
  )

  platformCommand(
    monitor
      .command('show')
      .description('show the settings, the schedule and the latest run of a monitoring')
      .argument('<monitoring>', 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await monitoringId(session, nameOrId)
      await session.output.show(await session.api(monitoring).readMonitoring({ params: { id } }))
    },
  )

  platformCommand(
    withPagingOptions(
      monitor
        .command('results')
        .description('list the last result of each device: unreachable devices first, then changed ones')
        .argument('<monitoring>', 'id or name'),
    )
      .addOption(new Option('--state <state>', 'devices in this state').choices(stateLabels))
      .option('--changed', 'only devices for which the last check found a change'),
    terminal,
    listResults,
  )

  platformCommand(
    withPagingOptions(
      monitor
        .command('runs')
        .description('list the runs of a monitoring task, newest first')
        .argument('<monitoring>', 'id or name'),
    ),
    terminal,
    async (session, nameOrId: string, options: PagingOptions) => {
      const id = await monitoringId(session, nameOrId)
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(monitoring).listMonitoringRuns({ params: { id }, query: { limit, offset } }),
      )
      await session.output.list(await pages, {
        columns: {
          number: 'number',
          trigger: 'trigger',
          state: 'state',
          devices: 'counts.targets',
          unreachable: 'counts.failed',
          reachable: 'counts.reached',
          unknown: 'counts.unknown',
          changed: 'counts.changed',
          started: 'startedTimestamp',
          ended: 'endedTimestamp',
          message: 'message',
        },
        nothing: 'The monitoring task has no runs yet.',
      })
    },
  )

  platformCommand(
    monitor
      .command('availability')
      .description('show the state of an asset, its availability and its outages')
      .argument('<asset>', 'id or name')
      .option(
        '--days <count>',
        `number of days, up to ${monitoringLimits.availabilityDays}`,
        wholeNumber(1, monitoringLimits.availabilityDays),
        30,
      ),
    terminal,
    showAvailability,
  )
}

async function listResults(
  session: Session,
  nameOrId: string,
  { state, changed, ...options }: ResultOptions,
): Promise<void> {
  const id = await monitoringId(session, nameOrId)
  const filter = {
    ...(state === undefined ? {} : { state: stateOf(state) }),
    ...(changed === undefined ? {} : { changed }),
  }
  const pages = pagesOf(options, ({ limit, offset }) =>
    session.api(monitoring).listMonitoringResults({ params: { id }, query: { ...filter, limit, offset } }),
  )
  const isFiltered = Object.keys(filter).length > 0
  await session.output.list(await pages, {
    columns: resultColumns,
    nothing: isFiltered ? 'No device matches.' : 'No results yet: millwright monitor run',
  })
}

async function showAvailability(session: Session, asset: string, { days }: { days: number }): Promise<void> {
  const id = await assetId(session, asset)
  const answer = await session.api(monitoring).readAvailability({ params: { id }, query: { days } })
  const { output, terminal } = session
  if (!output.isText) return output.show(answer)
  const { state, sinceTimestamp, availablePercent, changes, results } = answer.data
  const since = sinceTimestamp === undefined ? '' : ` since ${displayText(sinceTimestamp)}`
  await output.printText(`${labelOf(state)}${since}`)
  await output.printText(
    availablePercent === undefined
      ? `No availability in the last ${days} days: no monitoring task has checked the asset.`
      : `${percentText(availablePercent)} available in the last ${days} days`,
  )
  const outages = changes.filter((change) => change.state === 'failed')
  if (outages.length > 0) for (const line of outageTable(outages, answer.data.to)) await terminal.print(line)
  for (const { monitoringName, checkedTimestamp, ...result } of results) {
    const message = messageOf(result)
    const reason = message === undefined ? '' : `: ${displayText(message)}`
    await output.printText(`${displayText(monitoringName)} checked it at ${displayText(checkedTimestamp)}${reason}`)
  }
}

/** Returns why a device was not reached or read, or why the inventory refused its report. */
function messageOf({ message, error }: Pick<MonitoringResult, 'message' | 'error'>): string | undefined {
  return message ?? error?.detail
}

/** Returns a percentage with two decimal places, rounded down, so that only full availability is 100 %. */
export function percentText(percent: number): string {
  return `${Math.floor(percent * 100) / 100} %`
}

function outageTable(outages: Availability['changes'], now: string): string[] {
  const table = new Table({
    'unreachable from': 'from',
    to: ({ to }) => (to === now ? 'now' : to),
    minutes: ({ from, to }) => Math.ceil((Date.parse(String(to)) - Date.parse(String(from))) / 60_000),
  })
  return table.lines(outages)
}

/** Returns the state of a monitoring task, such as `running 40 %`. */
function stateText({ latestRun, schedule }: Monitoring): string {
  if (latestRun?.state === 'created') return 'waiting'
  if (latestRun?.state === 'running') return `running ${latestRun.progress} %`
  if (schedule === undefined) return 'manual only'
  return schedule.paused ? 'paused' : 'active'
}

function lastRunOf({ latestRun }: Monitoring): string | undefined {
  return latestRun?.endedTimestamp ?? latestRun?.createdTimestamp
}

function valuesText(values: MonitoringResult['values']): string {
  return values.map(({ key, value, problem }) => `${key}=${displayText(problem ?? value)}`).join(', ')
}
