import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { withoutStatusCode } from '../../../app/language/link-message.ts'
import { causeOf, type ErrorCause } from './error-cause.ts'
import type { errorMessages } from './error-messages.ts'

/** `IndexedError` is an error with its index in the report. The index identifies the row, because errors have no id. */
export type IndexedError = DeviceError & { place: number }

/** The errors with the same cause. */
export type ErrorGroup = ErrorCause & {
  code: string
  errors: IndexedError[]
  /** Whether an error contains more than its cause, so that each row shows it. */
  hasProblems: boolean
}

/** Returns the errors by cause, the most frequent cause first. */
export function errorGroupsOf(errors: readonly DeviceError[], text: (typeof errorMessages)['en']): ErrorGroup[] {
  const indexed = errors.map((error, place) => ({ ...error, place }))
  return [...Map.groupBy(indexed, (error) => causeOf(error, text).name).values()]
    .map((group) => ({
      ...causeOf(group[0] ?? { code: 0 }, text),
      errors: group,
      hasProblems: !group.every(({ description }) => plainProblem.test(withoutStatusCode(description))),
    }))
    .toSorted((one, other) => other.errors.length - one.errors.length)
}

/**
 * Returns the groups with at most this number of errors in all. Each group gets as many as the others, unless it has fewer, so that
 * no cause is left out because another one is more frequent.
 */
export function limitedGroups(groups: readonly ErrorGroup[], limit: number): ErrorGroup[] {
  let left = limit
  const shares = new Map<ErrorGroup, number>()
  const smallestFirst = groups.toSorted((one, other) => one.errors.length - other.errors.length)
  smallestFirst.forEach((group, index) => {
    const share = Math.min(group.errors.length, Math.ceil(left / (smallestFirst.length - index)))
    shares.set(group, share)
    left -= share
  })
  return groups.map((group) => ({ ...group, errors: group.errors.slice(0, shares.get(group)) }))
}

/** Matches a problem that the cause "no answer" or "sign-in failed" contains. It can start with the name of the device. */
const plainProblem = /^(?:The device|\S+) (?:does not respond\.?|is protected\b.*)$/
const namedProblem = /^(?!The )(\S+) (?:does not respond|is protected)\b/

/**
 * Returns the name of the device at the start of a problem. A module has the address of the device through which it is reached, so
 * that only the problem names the module.
 */
export function namedDevice(description: string): string | undefined {
  return namedProblem.exec(withoutStatusCode(description))?.[1]
}
