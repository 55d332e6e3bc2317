import { type MaintenanceWindow, updateLimits } from '@millwright/api/updates.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { ScheduleFields } from '../../discovery/scans/schedule-fields.tsx'
import { useScheduleText } from '../../discovery/scans/schedule-text.ts'
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

/** `WindowText` describes a maintenance window in one line. */
export function WindowText({ window: { cron, minutes, timezone } }: { window: MaintenanceWindow }) {
  const text = useText(windowMessages)
  const formats = useFormats()
  const scheduleText = useScheduleText()
  return text.line(scheduleText(cron), formats.duration(minutes * 60_000), timezone)
}
