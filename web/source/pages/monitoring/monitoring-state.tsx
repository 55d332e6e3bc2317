import type { MonitoredState, Monitoring, MonitoringRun } from '@millwright/api/monitoring.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import { monitoringMessages } from './messages.ts'
import { isRunning } from './monitoring-data.ts'

type ShownState = 'running' | 'scheduled' | 'paused' | 'manual'

const tones: Readonly<Record<ShownState, Tone>> = {
  running: 'info',
  scheduled: 'good',
  paused: 'warning',
  manual: 'neutral',
}

function shownState(monitoring: Monitoring): ShownState {
  if (isRunning(monitoring)) return 'running'
  if (monitoring.schedule === undefined) return 'manual'
  return monitoring.schedule.paused ? 'paused' : 'scheduled'
}

/** `MonitoringState` shows the state of a monitoring, or the progress of its run. */
export function MonitoringState({ monitoring }: { monitoring: Monitoring }) {
  const text = useText(monitoringMessages)
  const state = shownState(monitoring)
  const progress = monitoring.latestRun?.progress ?? 0
  if (state === 'running' && progress > 0) return <Progress value={progress} label={text.progress} />
  return <StatusChip tone={tones[state]}>{text[state]}</StatusChip>
}

const runTones: Readonly<Record<MonitoringRun['state'], Tone>> = {
  created: 'info',
  running: 'info',
  finished: 'good',
  failed: 'bad',
  canceled: 'neutral',
}

/** `RunState` shows the state of a run. A finished run with devices that it could not check has a warning. */
export function RunState({ run: { state, counts } }: { run: Pick<MonitoringRun, 'state' | 'counts'> }) {
  const text = useText(monitoringMessages)
  const formats = useFormats()
  const unchecked = counts?.unknown ?? 0
  if (state === 'finished' && unchecked > 0)
    return <StatusChip tone="warning">{text.finishedUnchecked(formats.number(unchecked))}</StatusChip>
  return <StatusChip tone={runTones[state]}>{state === 'created' ? text.waiting : text[state]}</StatusChip>
}

const resultTones: Readonly<Record<MonitoredState, Tone>> = { reached: 'good', failed: 'bad', unknown: 'info' }

/** `ResultState` shows whether a device is reachable. */
export function ResultState({ state }: { state: MonitoredState }) {
  const text = useText(monitoringMessages)
  return <StatusChip tone={resultTones[state]}>{state === 'failed' ? text.unreachable : text[state]}</StatusChip>
}
