import type { Discovery } from '@millwright/api/discovery.ts'
import type { ReactNode } from 'react'
import { useOfflineGateways } from '../../../app/api/gateways.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { TwoLines } from '../../../components/tables/two-lines.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { discoveryMessages } from '../messages.ts'
import { timeLeftOf } from './time-left.ts'

type RunningStateProps = { gatewayId: string; progress: number | undefined }

/**
 * `RunningState` shows in a row of a table that a job runs, with its progress. If the gateway of the job is offline, it shows this
 * instead, because the job continues only when the gateway is online again.
 */
export function RunningState({ gatewayId, progress = 0 }: RunningStateProps) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const isOffline = useOfflineGateways().has(gatewayId)
  if (isOffline) {
    return (
      <span title={text.gatewayOfflineHint}>
        <StatusChip tone="warning">{text.gatewayOffline}</StatusChip>
      </span>
    )
  }
  return (
    <span className="running-state">
      <StatusChip tone="info">
        {progress === 0 ? text.running : text.runningAt(formats.percent(progress / 100))}
      </StatusChip>
      <progress aria-label={text.progress} max={100} value={progress || undefined} />
    </span>
  )
}

/** `CancelScan` is the button in a row that cancels a running scan. */
export function CancelScan({ name, onCancel }: { name: string; onCancel: () => void }) {
  const text = useText(discoveryMessages)
  return (
    <button type="button" className="link-button cell-action" aria-label={text.cancelOf(name)} onClick={onCancel}>
      {text.cancelShort}
    </button>
  )
}

type RunTimes = Parameters<typeof timeLeftOf>[0]
type FoundDevices = RunTimes & Pick<Discovery, 'found'>

type FoundSoFarProps = {
  run: FoundDevices
  /** What the second line shows, after the time at which an interrupted scan started again. */
  second?: ReactNode
}

/**
 * `FoundSoFar` shows how many devices a running scan has found, the estimated time until its end and, after an interruption, when it
 * started again.
 */
export function FoundSoFar({ run, second }: FoundSoFarProps) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const left = useTimeLeft(run, { isShort: true })
  const shown = [text.foundSoFar(formats.number(run.found)), left].filter(Boolean).join(', ')
  const restarted = run.restartedTimestamp
  return (
    <TwoLines
      title={restarted === undefined ? shown : text.interrupted}
      second={
        <>
          {restarted !== undefined && (
            <>
              {text.startedAgain} <Time at={restarted} isCompact />
            </>
          )}
          {restarted !== undefined && second !== undefined && ' · '}
          {second}
        </>
      }
    >
      {shown}
    </TwoLines>
  )
}

/** Returns the estimated time until a running scan ends in words, or undefined if there is no estimate. */
export function useTimeLeft(run: RunTimes, { isShort = false } = {}): string | undefined {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const leftMs = timeLeftOf(run)
  if (leftMs === undefined) return undefined
  if (leftMs === 0) return text.timeLeftShort(`< ${formats.duration(60_000)}`)
  return isShort ? text.timeLeftShort(formats.duration(leftMs)) : text.timeLeft(formats.duration(leftMs))
}

type InterruptionNoteProps = { run: Pick<Discovery, 'restartedTimestamp' | 'endedTimestamp'> | undefined }

/** `InterruptionNote` explains the figures of a run that was interrupted and started again. */
export function InterruptionNote({ run }: InterruptionNoteProps) {
  const text = useText(discoveryMessages)
  if (run?.restartedTimestamp === undefined) return null
  return (
    <p className="quiet run-note">
      {text.interrupted} {text.startedAgain} <Time at={run.restartedTimestamp} isExact />.{' '}
      {run.endedTimestamp === undefined && text.restartedFigures}
    </p>
  )
}
