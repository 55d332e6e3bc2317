import { setTimeout as delay } from 'node:timers/promises'
import { type Monitoring, type MonitoringRun, monitoring } from '@millwright/api/monitoring.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { Table } from '../output/table.ts'
import { formatCount, sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'
import { countsText } from './monitoring-labels.ts'
import { resultColumns } from './monitoring-queries.ts'

/** This file follows a run of a monitoring task. */

const pollMs = 500
/** The number of unreachable devices that are printed at the end of a run. */
const printedResults = 20

type FollowedRun = {
  id: string
  name: string
  /** The id of the run. Without it, the latest run is followed. */
  runId?: string
}

/** Waits for the end of a run and prints the unreachable devices. Ctrl-C stops following; the run continues. */
export async function followRun(session: Session, run: FollowedRun): Promise<void> {
  const interruption = new AbortController()
  const release = session.terminal.onInterrupt(() => interruption.abort())
  const name = JSON.stringify(run.name)
  try {
    await printEnd(session, await untilEnd(session, run, interruption.signal))
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    throw new CommandError('The run continues.', {
      exitCode: exitCodes.interrupted,
      next: `results: millwright monitor results ${name}; cancel the run: millwright monitor cancel ${name}`,
    })
  } finally {
    release()
  }
}

type EndedRun = { monitoring: Monitoring; run: MonitoringRun }

async function untilEnd(
  { api, terminal }: Session,
  { id, runId }: FollowedRun,
  signal: AbortSignal,
): Promise<EndedRun> {
  for (;;) {
    const { data } = await api(monitoring).readMonitoring({ params: { id } })
    const { latestRun: run } = data
    const isOther = runId !== undefined && run?.id !== runId
    if (run !== undefined && !isOther && run.endedTimestamp !== undefined) return { monitoring: data, run }
    // A later run can only start after the end of this run.
    if (run !== undefined && isOther && run.id > runId) return { monitoring: data, run }
    terminal.progress(
      run?.state === 'running' ? `${run.progress} %  ${countsText(data.summary)}` : 'Waiting for the gateway',
    )
    await delay(pollMs, undefined, { signal })
  }
}

/** Prints the end of a run. Throws if the run failed or a device is unreachable, so that the exit code shows it. */
async function printEnd(session: Session, { monitoring: { id, name, summary }, run }: EndedRun): Promise<void> {
  const { output, terminal } = session
  await output.done(`${sanitize(name)}: ${countsText(summary)}`, { data: run })
  if (run.state === 'canceled') throw new CommandError('The run was canceled.')
  if (run.state === 'failed') throw new CommandError(`The run failed: ${sanitize(run.message ?? 'unknown reason')}`)
  if (summary.failed === 0) return
  if (output.isText) {
    const query = { state: 'failed', limit: printedResults } as const
    const { data } = await session.api(monitoring).listMonitoringResults({ params: { id }, query })
    for (const line of new Table(resultColumns, terminal).lines(data)) await terminal.print(line)
  }
  throw new CommandError(`${formatCount(summary.failed, 'device')} unreachable.`, {
    next: `millwright monitor results ${JSON.stringify(name)} --state unreachable`,
  })
}
