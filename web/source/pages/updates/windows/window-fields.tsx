import { type MaintenanceWindow, updateLimits } from '@millwright/api/updates.ts'
import { localeOf } from '../../../app/language/language.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { scheduleChoiceOf } from '../../discovery/scans/schedule.ts'
import { ScheduleFields } from '../../discovery/scans/schedule-fields.tsx'
import { windowMessages } from './messages.ts'
import { type WindowForm, windowOf } from './window-form.ts'

type WindowFieldsProps = {
  form: WindowForm
  onChange: (form: WindowForm) => void
  isSubmitted: boolean
}

const zones = Intl.supportedValuesOf('timeZone').map((zone) => ({ value: zone, label: zone }))

/** `WindowFields` contains the form fields of a maintenance window. */
export function WindowFields({ form, onChange, isSubmitted }: WindowFieldsProps) {
  const text = useText(windowMessages)
  const window = windowOf(form)
  const invalid = isSubmitted && 'invalid' in window ? window.invalid : undefined
  return (
    <>
      <ScheduleFields
        schedule={form.schedule}
        onChange={(schedule) => onChange({ ...form, schedule })}
        zone={form.zone}
        isSubmitted={isSubmitted}
        isRecurring
      />
      <div className="field-pair">
        <TextField
          label={text.duration}
          type="number"
          error={invalid === 'minutes' ? text.invalidMinutes(updateLimits.windowMinutes) : undefined}
          value={form.minutes}
          onChange={(minutes) => onChange({ ...form, minutes })}
        />
        <TextField
          label={text.zone}
          error={invalid === 'zone' ? text.invalidZone : undefined}
          suggestions={zones}
          value={form.zone}
          onChange={(zone) => onChange({ ...form, zone })}
        />
      </div>
    </>
  )
}

/** A Sunday. The names of weekdays are formatted from this date and the days after it. */
const sunday = Date.UTC(2023, 0, 1, 12)
const dayMs = 86_400_000

/** `WindowText` describes a maintenance window in one line. */
export function WindowText({ window: { cron, minutes, timezone } }: { window: MaintenanceWindow }) {
  const text = useText(windowMessages)
  const formats = useFormats()
  const language = useLanguage()
  const { kind, time, weekday } = scheduleChoiceOf(cron)
  const day = new Intl.DateTimeFormat(localeOf[language], { weekday: 'long', timeZone: 'UTC' })
  const starts = {
    now: cron,
    cron,
    hourly: text.hourly,
    daily: text.daily(time),
    weekly: text.weekly(day.format(sunday + weekday * dayMs), time),
  }[kind]
  return text.line(starts, formats.duration(minutes * 60_000), timezone)
}
