import { type MaintenanceWindow, updateLimits } from '@millwright/api/updates.ts'
import { integerOf } from '../../../components/forms/integer.ts'
import { browserTimeZone, cronOf, type ScheduleChoice, scheduleChoiceOf } from '../../discovery/scans/schedule.ts'

/** `WindowForm` contains the fields of a maintenance window as the user types them. */
export type WindowForm = { schedule: ScheduleChoice; minutes: string; zone: string }

export type InvalidWindowField = 'cron' | 'minutes' | 'zone'

/** Returns the form of a window. Without a window, suggests two hours in the night. */
export function windowFormOf(window?: MaintenanceWindow): WindowForm {
  const { cron, minutes, timezone } = window ?? { cron: '0 22 * * *', minutes: 120, timezone: browserTimeZone() }
  return { schedule: scheduleChoiceOf(cron), minutes: String(minutes), zone: timezone }
}

/** Returns the window in a form, or the first field that is not valid. */
export function windowOf({ schedule, minutes, zone }: WindowForm): MaintenanceWindow | { invalid: InvalidWindowField } {
  const cron = cronOf(schedule)
  const hasTime = schedule.kind === 'daily' || schedule.kind === 'weekly'
  if (cron === undefined || (hasTime && !/^\d\d:\d\d$/.test(schedule.time))) return { invalid: 'cron' }
  const duration = integerOf(minutes, updateLimits.windowMinutes)
  if (duration === undefined) return { invalid: 'minutes' }
  if (!isTimeZone(zone.trim())) return { invalid: 'zone' }
  return { cron, minutes: duration, timezone: zone.trim() }
}

function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '' && zone !== ''
  } catch {
    return false
  }
}
