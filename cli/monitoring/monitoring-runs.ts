import { monitoring } from '@millwright/api/monitoring.ts'
import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import { monitoringId } from './monitoring-labels.ts'
import { followRun } from './run-progress.ts'

/** This file adds the commands that start and cancel runs. */

export function addRuns(monitor: Command, terminal: Terminal): void {
  platformCommand(
    monitor
      .command('run')
      .description('run a monitoring task now; the exit code is 1 if a device is unreachable or the run fails')
      .argument('<monitoring>', 'id or name')
      .option('--no-follow', 'exit when the run is accepted'),
    terminal,
    async (session, nameOrId: string, { follow }: { follow: boolean }) => {
      const id = await monitoringId(session, nameOrId)
      const answer = await session.api(monitoring).runMonitoring({ params: { id } })
      const { runId } = answer.data
      if (follow) return followRun(session, { id, name: nameOrId, runId })
      await session.output.done(`Run ${runId} accepted.`, answer)
    },
  )

  platformCommand(
    monitor
      .command('cancel')
      .description('cancel the current run; results that are stored stay')
      .argument('<monitoring>', 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await monitoringId(session, nameOrId)
      const answer = await session.api(monitoring).cancelMonitoring({ params: { id } })
      await session.output.done(`Run ${answer.data.runId} is being canceled.`, answer)
    },
  )
}
