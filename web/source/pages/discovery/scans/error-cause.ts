import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import type { errorMessages } from './error-messages.ts'

type Text = (typeof errorMessages)['en']
/** The cause of an error in words, what the user can do, in a sentence and in few words, and the code for the support. */
export type ErrorCause = { name: string; advice: string; action: string; code: string }

/** The status code of gRPC for a device that requires credentials. */
export const unauthenticated = 16

/** Returns whether a device rejected the sign-in, or requires credentials. */
export function needsSignIn({ code, reason }: Pick<DeviceError, 'code' | 'reason'>): boolean {
  return code === unauthenticated && reason === undefined
}

/** The status codes of gRPC, which the protocol of asset links uses, each with its name and its texts. */
const causes = {
  3: ['INVALID_ARGUMENT', 'invalidArgument'],
  4: ['DEADLINE_EXCEEDED', 'timeout'],
  5: ['NOT_FOUND', 'notFound'],
  7: ['PERMISSION_DENIED', 'denied'],
  8: ['RESOURCE_EXHAUSTED', 'exhausted'],
  9: ['FAILED_PRECONDITION', 'precondition'],
  12: ['UNIMPLEMENTED', 'unimplemented'],
  13: ['INTERNAL', 'internal'],
  14: ['UNAVAILABLE', 'unavailable'],
  [unauthenticated]: ['UNAUTHENTICATED', 'unauthenticated'],
} as const satisfies Record<number, readonly [string, keyof Text]>

/** Returns the cause of an error. An error with a reason was found by the inventory, other errors by the asset link. */
export function causeOf({ code, reason }: Pick<DeviceError, 'code' | 'reason'>, text: Text): ErrorCause {
  if (reason !== undefined) {
    const kind = reason === 'identity_taken' ? 'taken' : 'refused'
    return { name: text[kind], advice: text[`${kind}Advice`], action: text[`${kind}Action`], code: reason }
  }
  const [codeName, kind] = Object.hasOwn(causes, code) ? causes[code as keyof typeof causes] : (['', 'other'] as const)
  const texts = { name: text[kind], advice: text[`${kind}Advice`], action: text[`${kind}Action`] }
  return { ...texts, code: `${codeName} ${code}`.trim() }
}

type CountedCause = Pick<DeviceError, 'code' | 'reason'> & { count: number }

/** Returns the numbers of errors by cause in words, the most frequent cause first. */
export function causeCountsText(
  counts: readonly CountedCause[],
  { text, number }: { text: Text; number: (value: number) => string },
): string {
  const groups = Map.groupBy(counts, (each) => causeOf(each, text).name)
  return [...groups]
    .map(([name, causes]) => ({ name, count: causes.reduce((sum, { count }) => sum + count, 0) }))
    .toSorted((one, other) => other.count - one.count)
    .map(({ name, count }) => `${name}: ${number(count)}`)
    .join(', ')
}
