import type { JobPhase } from '@millwright/api/jobs.ts'
import { useText } from '../../app/language/language-context.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import { jobMessages } from './messages.ts'

const tones: Record<JobPhase, Tone> = {
  waiting: 'info',
  running: 'info',
  finished: 'good',
  failed: 'bad',
  canceled: 'warning',
}

/** Returns whether a job in this phase has ended. */
export function hasEnded(phase: JobPhase): boolean {
  return phase === 'finished' || phase === 'failed' || phase === 'canceled'
}

export function JobPhaseChip({ phase }: { phase: JobPhase }) {
  const text = useText(jobMessages)
  return <StatusChip tone={tones[phase]}>{text[phase]}</StatusChip>
}
