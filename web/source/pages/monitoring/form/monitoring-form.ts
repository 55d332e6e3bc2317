import {
  type Monitoring,
  type MonitoringUpdate,
  monitoringLimits,
  type NewMonitoring,
} from '@millwright/api/monitoring.ts'
import {
  browserTimeZone,
  cronOf,
  runNow,
  type ScheduleChoice,
  scheduleChoiceOf,
} from '../../discovery/scans/schedule.ts'

/** `MonitoringForm` contains the fields of a monitoring as the user types them. */
export type MonitoringForm = {
  name: string
  targetKind: 'filter' | 'list'
  filter: string
  /** The assets that the monitoring names individually. Only the API and the command line can set them. */
  assetIds: readonly string[]
  isAllLinks: boolean
  links: readonly string[]
  templateId: string
  assignWorking: boolean
  /** The keys of additional properties, one per line. */
  keys: string
  schedule: ScheduleChoice
  zone: string
}

/** The form of a new monitoring: all devices, every 15 minutes. */
export function emptyForm(): MonitoringForm {
  return {
    name: '',
    targetKind: 'filter',
    filter: "functional_object_type eq 'Device'",
    assetIds: [],
    isAllLinks: true,
    links: [],
    templateId: '',
    assignWorking: false,
    keys: '',
    schedule: { ...runNow, kind: 'minutes', minutes: 15 },
    zone: browserTimeZone(),
  }
}

export function formOf(monitoring: Monitoring): MonitoringForm {
  const { name, targets, assetLinkIds, instancesTemplateId, assignWorking, keys, schedule } = monitoring
  return {
    name,
    ...('filter' in targets
      ? { targetKind: 'filter', filter: targets.filter, assetIds: [] }
      : { targetKind: 'list', filter: '', assetIds: targets.assetIds }),
    isAllLinks: assetLinkIds.length === 0,
    links: assetLinkIds,
    templateId: instancesTemplateId ?? '',
    assignWorking,
    keys: keys.join('\n'),
    schedule: schedule === undefined ? runNow : scheduleChoiceOf(schedule.cron),
    zone: schedule?.timezone ?? browserTimeZone(),
  }
}

type FormError = 'required' | 'filterRequired' | 'linksRequired' | 'tooManyKeys' | 'keyTooLong' | 'cronWrong'
export type FieldErrors = Partial<Record<keyof MonitoringForm, FormError>>

const maxKeyLength = 256

/** Returns the errors that the form finds before the request. The server checks all fields again. */
export function errorsOf(form: MonitoringForm): FieldErrors {
  const errors: FieldErrors = {}
  if (form.name.trim() === '') errors.name = 'required'
  if (form.targetKind === 'filter' && form.filter.trim() === '') errors.filter = 'filterRequired'
  if (!form.isAllLinks && form.links.length === 0) errors.links = 'linksRequired'
  const keys = keysOf(form)
  if (keys.length > monitoringLimits.keys) errors.keys = 'tooManyKeys'
  else if (keys.some((key) => key.length > maxKeyLength)) errors.keys = 'keyTooLong'
  if (form.schedule.kind !== 'now' && cronOf(form.schedule) === undefined) errors.schedule = 'cronWrong'
  return errors
}

function keysOf({ keys }: MonitoringForm): string[] {
  const lines = keys.split('\n').map((line) => line.trim())
  return [...new Set(lines.filter((line) => line !== ''))]
}

function fieldsOf(form: MonitoringForm) {
  return {
    name: form.name.trim(),
    targets: form.targetKind === 'list' ? { assetIds: [...form.assetIds] } : { filter: form.filter.trim() },
    assetLinkIds: form.isAllLinks ? [] : [...form.links],
    assignWorking: form.templateId !== '' && form.assignWorking,
    keys: keysOf(form),
  }
}

function scheduleOf({ schedule, zone }: MonitoringForm) {
  const cron = cronOf(schedule)
  return cron === undefined ? undefined : { cron, timezone: zone }
}

/** Returns a new monitoring. Without a schedule, it runs once at once. */
export function newMonitoringOf(form: MonitoringForm): NewMonitoring {
  const schedule = scheduleOf(form)
  return {
    ...fieldsOf(form),
    ...(form.templateId !== '' && { instancesTemplateId: form.templateId }),
    ...(schedule !== undefined && { schedule }),
  }
}

/** Returns the fields of the form that differ from the monitoring. */
export function changesOf(form: MonitoringForm, monitoring: Monitoring): MonitoringUpdate {
  const before = formOf(monitoring)
  const all = (each: MonitoringForm) => ({
    ...fieldsOf(each),
    instancesTemplateId: each.templateId || null,
    schedule: scheduleOf(each) ?? null,
  })
  const former: Readonly<Record<string, unknown>> = all(before)
  const changed = Object.entries(all(form)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(former[name]),
  )
  return Object.fromEntries(changed)
}

/** Returns whether a change makes the user the owner: a change of what is checked, or how. */
export function changesOwner(changes: MonitoringUpdate): boolean {
  return Object.keys(changes).some((field) => !['name', 'schedule', 'paused'].includes(field))
}
