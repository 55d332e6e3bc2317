import type { JobPhase } from '@millwright/api/jobs.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import type { JobErrors } from './job-errors.ts'
import { jobMessages } from './messages.ts'

const tones: Record<JobPhase, Tone> = {
  waiting: 'info',
  running: 'info',
  finished: 'good',
  failed: 'bad',
  canceled: 'neutral',
}

type JobPhaseChipProps = {
  phase: JobPhase
  /** The errors of a finished job, to which the chip links. */
  errors?: JobErrors | undefined
  /** Whether the chip shows the errors in few words, for narrow columns. */
  isShort?: boolean
}

export function JobPhaseChip({ phase, errors, isShort = false }: JobPhaseChipProps) {
  const text = useText(jobMessages)
  const formats = useFormats()
  if (errors === undefined) return <StatusChip tone={tones[phase]}>{text[phase]}</StatusChip>
  const number = formats.number(errors.count)
  const isUnchecked = errors.kind === 'unchecked'
  const shown = isUnchecked
    ? text.finishedUnchecked(errors.count, number)
    : text.finishedWithErrors(errors.count, number)
  const short = isUnchecked ? text.notChecked(number) : text.finishedShort(errors.count, number)
  return (
    <Link to={errors.to} search={(errors.search ?? {}) as never} title={shown} className="chip-link">
      <StatusChip tone="warning">{isShort ? short : shown}</StatusChip>
    </Link>
  )
}
