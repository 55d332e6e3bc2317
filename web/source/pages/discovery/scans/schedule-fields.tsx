import { localeOf } from '../../../app/language/language.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { scanMessages } from './scan-messages.ts'
import { isCronLine, type ScheduleChoice, scheduleKinds } from './schedule.ts'

type ScheduleFieldsProps = {
  schedule: ScheduleChoice
  onChange: (schedule: ScheduleChoice) => void
  zone: string
  isSubmitted: boolean
  isRecurring?: boolean
}

/** `ScheduleFields` contains the form fields for the schedule of a scan. */
export function ScheduleFields({ schedule, onChange, zone, isSubmitted, isRecurring }: ScheduleFieldsProps) {
  const text = useText(scanMessages)
  const kinds = scheduleKinds.filter((kind) => !isRecurring || kind !== 'now')
  const { kind, time, weekday, cron } = schedule
  return (
    <>
      <SelectField
        label={text.when}
        value={kind}
        {...(kind !== 'now' && { hint: text.zone(zone) })}
        onChange={(chosen) => onChange({ ...schedule, kind: chosen })}
        choices={kinds.map((value) => ({ value, label: text[value] }))}
      />
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

/**
 * The timestamp of a Sunday (1 January 2023). The names of the weekdays are formatted from this date and the days after
 * it.
 */
const sunday = Date.UTC(2023, 0, 1, 12)
const dayMs = 86_400_000

function WeekdayField({ value, onChange }: { value: number; onChange: (day: number) => void }) {
  const text = useText(scanMessages)
  const names = new Intl.DateTimeFormat(localeOf[useLanguage()], { weekday: 'long', timeZone: 'UTC' })
  const days = [1, 2, 3, 4, 5, 6, 0]
  return (
    <SelectField
      label={text.weekday}
      value={String(value)}
      onChange={(day) => onChange(Number(day))}
      choices={days.map((day) => ({ value: String(day), label: names.format(sunday + day * dayMs) }))}
    />
  )
}
