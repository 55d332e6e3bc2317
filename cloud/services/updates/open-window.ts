import { Problem } from '@millwright/api/problem.ts'
import type { MaintenanceWindow } from '@millwright/api/updates.ts'
import { nextRun, periodAt, requireRun } from '../../platform/tasks/schedule.ts'

/** Maintenance windows: whether they are open at a time, and when all of them are open the next time. */

/** The search for a time at which several windows are open ends after this time. */
const searchDays = 366
/** The search also ends after this number of steps. Each step moves to the next start of a window. */
const mostSteps = 200
/** The maximum number of windows that the search checks in all steps together. */
const mostChecks = 1_000

/** Throws a problem with the code `invalid_window`. `pointer` is the position of the window in the request body. */
export function requireWindow({ cron, timezone }: MaintenanceWindow, pointer: string): void {
  try {
    requireRun({ cron, timezone }, new Date(), pointer)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw new Problem('invalid_window', error.message, error.errors === undefined ? {} : { errors: error.errors })
  }
}

/** Returns whether a window is open at a time. A window is open from its start on, and closed at its end. */
export function isWindowOpen({ cron, timezone, minutes }: MaintenanceWindow, at: Date): boolean {
  return periodAt({ cron, timezone }, minutes, at) !== undefined
}

/**
 * Returns the first time, at `from` or later, at which all windows are open. Returns undefined if the search finds
 * none, for example because two windows never overlap.
 */
export function nextOpening(windows: readonly MaintenanceWindow[], from: Date): Date | undefined {
  const latest = new Date(from.getTime() + searchDays * 86_400_000)
  let at = from
  let checks = 0
  const isClosed = (window: MaintenanceWindow) => {
    checks += 1
    return !isWindowOpen(window, at)
  }
  for (let step = 0; step < mostSteps && checks < mostChecks && at <= latest; step++) {
    const closed = windows.find(isClosed)
    if (closed === undefined) return at
    // Before the next start of this window, it stays closed, so no earlier time is possible.
    const start = nextRun({ cron: closed.cron, timezone: closed.timezone }, at)
    if (start === null) return undefined
    at = start
  }
  return undefined
}

/** Returns the next start of a window after a time. */
export function nextStart({ cron, timezone }: MaintenanceWindow, after: Date): Date | undefined {
  return nextRun({ cron, timezone }, after) ?? undefined
}

/** Returns a text that is equal for equal windows. */
export function windowKey({ cron, minutes, timezone }: MaintenanceWindow): string {
  return `${minutes} ${timezone} ${cron}`
}
