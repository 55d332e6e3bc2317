import type { AnyJob } from '@millwright/api/jobs.ts'
import { locationOf } from '../../app/navigation/subject-location.ts'

/** The numbers of devices that a check of a gateway reached, did not reach, and could not check. */
export type CheckCounts = { reached: number; failed: number; unchecked: number }

const checkedDevices = /^(\d+) devices? reached(?:, (\d+) not reachable)?(?:, (\d+) not checked)?$/

/** Returns the numbers in the message of a gateway that checked devices, or undefined for the message of an older gateway. */
export function checkCountsOf(message: string | undefined): CheckCounts | undefined {
  const [, reached, failed = 0, unchecked = 0] = checkedDevices.exec(message ?? '') ?? []
  if (reached === undefined) return undefined
  return { reached: Number(reached), failed: Number(failed), unchecked: Number(unchecked) }
}

type CheckJob = Pick<AnyJob, 'type' | 'phase' | 'message' | 'subject'>

/** Returns whether a job is a check that did not reach some of its devices, and has a page that lists them. */
export function hasUnreachable({ type, phase, message, subject }: CheckJob): boolean {
  if (type !== 'monitoring' || phase !== 'finished' || locationOf(subject?.reference ?? '') === undefined) return false
  return (checkCountsOf(message)?.failed ?? 0) > 0
}
