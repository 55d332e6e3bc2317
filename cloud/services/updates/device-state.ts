import { type DeviceState, finalDeviceStates, updateLimits } from '@millwright/api/updates.ts'
import type { DeviceChange, DeviceReport, DeviceRow } from './device-store.ts'

/**
 * The state machine of a device. The job of the current step determines the state of its device. Reports about a job can
 * arrive late and repeatedly, so a report never moves a device back, and a final device does not change. After a step that
 * is not the last one, the device waits for the job of its next step.
 */

/** The status of a job, as the gateway reported it. */
export type JobReport = {
  state: string
  progress?: number | undefined
  message?: string | undefined
  result?: Record<string, unknown> | undefined
}

const finalStates: ReadonlySet<string> = new Set(finalDeviceStates)

export function isFinalState(state: DeviceState): boolean {
  return finalStates.has(state)
}

/** The order of the states. A report with a lower order than the state of the device is late. */
const orders: Readonly<Record<DeviceState, number>> = {
  waiting: 0,
  downloading: 1,
  transferring: 1,
  prepared: 2,
  activating: 3,
  verifying: 4,
  succeeded: 5,
  failed: 5,
  unknown: 5,
  skipped: 5,
  canceled: 5,
}

/** The states of devices by the states of their jobs. A job in another state does not change its device. */
const stateOfJob: Readonly<Record<string, DeviceState>> = {
  CREATED: 'waiting',
  PREPARING: 'downloading',
  PREPARED: 'prepared',
  ACTIVATE: 'activating',
  ACTIVATING: 'activating',
  VERIFYING: 'verifying',
  ACTIVATED: 'succeeded',
  FAILED: 'failed',
  CANCELED: 'canceled',
  UNKNOWN: 'unknown',
}

/** The fields of a device in its final state. */
export function ended(
  state: Extract<DeviceState, (typeof finalDeviceStates)[number]>,
  reason: string | null,
): DeviceChange {
  return {
    state,
    reason: reason === null ? null : shortened(reason),
    isStarted: false,
    ...(state === 'succeeded' ? { progress: 100 } : {}),
  }
}

/** Returns how a report about its job changes a device. Returns undefined if it does not. */
export function deviceAfter(device: DeviceRow, job: JobReport): DeviceChange | undefined {
  const state = stateWithPhase(job)
  if (state === undefined || isFinalState(device.state) || orders[state] < orders[device.state]) return undefined
  if (isFinalState(state)) return endOfStep(device, job, state)
  const progress = job.progress ?? (state === device.state ? device.progress : 0)
  const isActivated = orders[state] >= orders.activating
  const change: DeviceChange = {
    state,
    progress,
    // The reason of a device that waited no longer applies. The reason of a cancellation does.
    ...(state !== device.state && device.cancelAt === null ? { reason: null } : {}),
    ...(isActivated && device.cancelAt !== null
      ? { reason: 'The activation began before the cancellation, and is completed' }
      : {}),
  }
  const isSame =
    state === device.state && progress === device.progress && (change.reason ?? device.reason) === device.reason
  return isSame ? undefined : change
}

function stateWithPhase({ state, result }: JobReport): DeviceState | undefined {
  return state === 'PREPARING' && result?.phase === 'transferring' ? 'transferring' : stateOfJob[state]
}

function endOfStep(device: DeviceRow, job: JobReport, state: DeviceState): DeviceChange {
  const report = reportOf(device, job)
  const reported = {
    ...(report?.version === undefined ? {} : { reportedVersion: report.version }),
    ...(report === undefined ? {} : { report }),
  }
  if (state === 'succeeded' && device.step + 1 < device.steps.length && device.cancelAt === null)
    return {
      ...reported,
      state: 'waiting',
      progress: 0,
      step: device.step + 1,
      reason: null,
      jobId: null,
      isJobCreated: false,
      activationAt: null,
    }
  if (state === 'succeeded' && device.step + 1 < device.steps.length)
    return {
      ...reported,
      ...ended('canceled', `${device.reason ?? 'Canceled'}. The device has an intermediate version`),
    }
  if (state === 'succeeded') return { ...reported, ...ended('succeeded', null) }
  if (state === 'canceled') return { ...reported, ...ended('canceled', device.reason ?? job.message ?? 'Canceled') }
  return { ...reported, ...ended(state as 'failed' | 'unknown', failureReason(job)) }
}

function failureReason({ state, message, result }: JobReport): string {
  if (message !== undefined && message !== '') return message
  if (typeof result?.code === 'string' && result.code !== '') return result.code
  return state === 'UNKNOWN' ? 'The result of the activation is not known' : 'The gateway reported no reason'
}

/** Returns what the gateway reported about the device itself. */
function reportOf({ jobId }: DeviceRow, { result = {} }: JobReport): DeviceReport | undefined {
  const version = typeof result.version === 'string' ? result.version.slice(0, updateLimits.text) : undefined
  const asset = isObject(result.asset) ? result.asset : undefined
  if (jobId === null || (version === undefined && asset === undefined)) return undefined
  return { jobId, ...(version === undefined ? {} : { version }), ...(asset === undefined ? {} : { asset }) }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the end of a device whose job was deleted, so that its result is lost. If the platform has not requested the
 * activation, the artefact was not activated.
 */
export function afterLostJob({ activationAt }: Pick<DeviceRow, 'activationAt'>): DeviceChange {
  return activationAt === null
    ? ended('failed', 'The job of the update was deleted before the activation')
    : ended('unknown', 'The job of the update was deleted after the activation was requested')
}

export function shortened(reason: string): string {
  return reason.length <= updateLimits.reason ? reason : `${reason.slice(0, updateLimits.reason - 1)}…`
}
