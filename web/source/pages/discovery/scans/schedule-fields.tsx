import { localeOf } from '../../../app/language/language.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { scanMessages } from './scan-messages.ts'
import { isCronLine, type Timing, timingKinds } from './schedule.ts'

type Given = { timing: Timing; onChange: (timing: Timing) => void; zone: string; isTold: boolean; isPlan?: boolean }

/** When a scan runs. */
export function TimingFields({ timing, onChange, zone, isTold, isPlan }: Given) {
  const text = useText(scanMessages)
  const kinds = timingKinds.filter((kind) => !isPlan || kind !== 'now')
  const { kind, time, weekday, cron } = timing
  return (
    <>
      <SelectField
        label={text.when}
        value={kind}
        {...(kind !== 'now' && { hint: text.zone(zone) })}
        onChange={(chosen) => onChange({ ...timing, kind: chosen })}
        choices={kinds.map((value) => ({ value, label: text[value] }))}
      />
      {kind === 'weekly' && <WeekdayField value={weekday} onChange={(day) => onChange({ ...timing, weekday: day })} />}
      {(kind === 'daily' || kind === 'weekly') && (
        <TextField label={text.at} type="time" value={time} onChange={(at) => onChange({ ...timing, time: at })} />
      )}
      {kind === 'cron' && (
        <TextField
          label={text.cronLine}
          hint={text.cronHint}
          error={isTold && !isCronLine(cron) ? text.cronWrong : undefined}
          isCode
          value={cron}
          onChange={(line) => onChange({ ...timing, cron: line })}
        />
      )}
    </>
  )
}

/** The first of January 2023 was a Sunday. */
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
