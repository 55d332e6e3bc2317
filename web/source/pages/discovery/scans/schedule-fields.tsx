import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { scanMessages } from './scan-messages.ts'
import { isCronLine, type ScheduleChoice, scheduleIntervals, scheduleKinds } from './schedule.ts'
import { weekdayName } from './schedule-text.ts'

type ScheduleFieldsProps = {
  schedule: ScheduleChoice
  onChange: (schedule: ScheduleChoice) => void
  zone: string
  isSubmitted: boolean
  isRecurring?: boolean
  /** Whether to offer intervals in minutes. Scans are not offered such intervals, because they load the network. */
  isFrequent?: boolean
  /** The name of the choice without a schedule. */
  nowLabel?: string
  /** The hint of the interval in minutes. */
  intervalHint?: string | undefined
}

/** `ScheduleFields` contains the form fields for a schedule. */
export function ScheduleFields({ schedule, onChange, zone, isSubmitted, ...props }: ScheduleFieldsProps) {
  const text = useText(scanMessages)
  const { kind, minutes, time, weekday, cron } = schedule
  const kinds = scheduleKinds.filter(
    (each) =>
      (each !== 'now' || !props.isRecurring) && (each !== 'minutes' || props.isFrequent || schedule.kind === 'minutes'),
  )
  return (
    <>
      <SelectField
        label={text.when}
        value={kind}
        {...(kind !== 'now' && kind !== 'minutes' && { hint: text.zone(zone) })}
        onChange={(chosen) => onChange({ ...schedule, kind: chosen })}
        choices={kinds.map((value) => ({ value, label: (value === 'now' && props.nowLabel) || text[value] }))}
      />
      {kind === 'minutes' && (
        <IntervalField
          value={minutes}
          hint={props.intervalHint}
          onChange={(chosen) => onChange({ ...schedule, minutes: chosen })}
        />
      )}
      {kind === 'weekly' && (
        <WeekdayField value={weekday} onChange={(day) => onChange({ ...schedule, weekday: day })} />
      )}
      {(kind === 'daily' || kind === 'weekly') && (
        <TextField label={text.at} type="time" value={time} onChange={(at) => onChange({ ...schedule, time: at })} />
      )}
      {kind === 'cron' && (
        <TextField
          label={text.cronExpression}
          hint={text.cronHint}
          error={isSubmitted && !isCronLine(cron) ? text.cronWrong : undefined}
          isCode
          value={cron}
          onChange={(line) => onChange({ ...schedule, cron: line })}
        />
      )}
    </>
  )
}

type IntervalFieldProps = { value: number; hint: string | undefined; onChange: (minutes: number) => void }

function IntervalField({ value, hint, onChange }: IntervalFieldProps) {
  const text = useText(scanMessages)
  const formats = useFormats()
  return (
    <SelectField
      label={text.interval}
      {...(hint !== undefined && { hint })}
      value={String(value)}
      onChange={(minutes) => onChange(Number(minutes))}
      choices={scheduleIntervals.map((minutes) => ({ value: String(minutes), label: formats.minutes(minutes) }))}
    />
  )
}

function WeekdayField({ value, onChange }: { value: number; onChange: (day: number) => void }) {
  const text = useText(scanMessages)
  const language = useLanguage()
  const days = [1, 2, 3, 4, 5, 6, 0]
  return (
    <SelectField
      label={text.weekday}
      value={String(value)}
      onChange={(day) => onChange(Number(day))}
      choices={days.map((day) => ({ value: String(day), label: weekdayName(day, language) }))}
    />
  )
}
