import { type MaintenanceWindow, updateLimits, updates } from '@millwright/api/updates.ts'
import type { Command } from 'commander'
import { type HierarchyOption, nodeId } from '../input/node-lookup.ts'
import { type PagingOptions, pagesOf, wholeNumber, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'

export type WindowOptions = { cron: string; minutes: number; timezone: string }

/** The time zone of this machine. */
export const localTimezone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Adds the commands for the maintenance windows of hierarchy nodes. */
export function addWindows(parent: Command, terminal: Terminal): void {
  const windows = parent.command('windows').description('maintenance windows of hierarchy nodes')

  platformCommand(
    withPagingOptions(windows.command('list').description('list the maintenance windows')),
    terminal,
    async (session, options: PagingOptions) => {
      const pages = pagesOf(options, (page) => session.api(updates).listWindows({ query: page }))
      await session.output.list(await pages, {
        columns: {
          node: ({ nodePath, nodeId: id }) => nodePath ?? id,
          starts: 'window.cron',
          minutes: 'window.minutes',
          timezone: 'window.timezone',
          'next start': 'nextStart',
        },
        nothing: 'No maintenance windows. Devices can be updated at any time, unless the campaign has a window.',
      })
    },
  )

  platformCommand(
    windows
      .command('set')
      .description('set the maintenance window of a node and all nodes below')
      .argument('<node>', 'id or path of the node')
      .requiredOption('--cron <expression>', 'starts of the window, such as "0 22 * * 6"')
      .requiredOption('--minutes <minutes>', 'duration', wholeNumber(1, updateLimits.windowMinutes))
      .option('--timezone <zone>', 'time zone, such as Europe/Berlin', localTimezone)
      .option('--hierarchy <hierarchy>', 'hierarchy of the path (default: the only hierarchy)'),
    terminal,
    async (session, node: string, { hierarchy, ...window }: HierarchyOption & WindowOptions) => {
      const params = { nodeId: await nodeId(session, node, { hierarchy }) }
      const answer = await session.api(updates).putWindow({ params, body: { data: windowOf(window) } })
      await session.output.done(`Next window of ${node}: ${answer.data.nextStart ?? 'none'}`, answer)
    },
  )

  platformCommand(
    windows
      .command('remove')
      .description('remove the maintenance window of a node')
      .argument('<node>', 'id or path of the node')
      .option('--hierarchy <hierarchy>', 'hierarchy of the path (default: the only hierarchy)'),
    terminal,
    async (session, node: string, { hierarchy }: HierarchyOption) => {
      const params = { nodeId: await nodeId(session, node, { hierarchy }) }
      await session.api(updates).deleteWindow({ params })
      await session.output.done(`Maintenance window of ${node} removed.`, { data: params })
    },
  )
}

export function windowOf({ cron, minutes, timezone }: WindowOptions): MaintenanceWindow {
  return { cron, minutes, timezone }
}
