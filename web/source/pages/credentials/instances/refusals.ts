import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'

type Logins = Pick<ListedCredentialInstance, 'logins' | 'lastModifiedTimestamp'>

/** The numbers of devices that refuse credentials: those without other credentials that work, and those with others. */
type Refusals = {
  open: number
  withOther: number
  /** Whether the latest refusal was after the last change of the credentials. */
  areCurrent: boolean
}

export function refusalsOf({ logins, lastModifiedTimestamp }: Logins): Refusals {
  const { refused, refusedWithOther, lastFailedTimestamp = '' } = logins
  return {
    open: refused - refusedWithOther,
    withOther: refusedWithOther,
    areCurrent: lastFailedTimestamp > lastModifiedTimestamp,
  }
}

/** What a user can do about refusals: change the values, show the devices that no credentials open, or narrow the IP range. */
export type RefusalStep = 'change' | 'devices' | 'narrow'

/**
 * Returns the next steps for the refusals of credentials. Values that all devices refuse are probably wrong. If devices accept
 * other credentials, a smaller IP range avoids the refused logins, which can lock the user on a device.
 */
export function refusalSteps(credentials: Logins, canWrite: boolean): RefusalStep[] {
  const { open, withOther, areCurrent } = refusalsOf(credentials)
  if (!areCurrent) return []
  const steps: (RefusalStep | false)[] = [
    canWrite && areProbablyWrong(credentials) && 'change',
    open > 0 && 'devices',
    canWrite && withOther > 0 && 'narrow',
  ]
  return steps.filter((step) => step !== false)
}

/** Returns whether all devices refuse the current values, and accept no other credentials. */
function areProbablyWrong(credentials: Logins): boolean {
  const { open, withOther, areCurrent } = refusalsOf(credentials)
  return areCurrent && open > 0 && withOther === 0 && credentials.logins.accepted === 0
}

/** The devices that accept none of their credentials. */
export type LockedDevices<Row> = {
  count: number
  /** Whether there can be more devices than `count`. */
  isAtLeast: boolean
  /** The credentials to correct: all the devices refuse them, and no device accepts them. */
  toCorrect?: Row
}

/** Returns whether devices refuse the current values of credentials and accept no others. */
export function isOpen(credentials: Logins): boolean {
  const { open, areCurrent } = refusalsOf(credentials)
  return areCurrent && open > 0
}

/**
 * Counts each device once that refuses several credentials and accepts no others. `refusedBy` contains the devices of the first
 * rows that are open, in the same order. It can be incomplete.
 */
export function lockedDevices<Row extends Logins>(
  rows: readonly Row[],
  refusedBy: readonly (readonly string[])[],
): LockedDevices<Row> | undefined {
  const refused = rows.filter(isOpen)
  if (refused.length === 0) return undefined
  const known = new Set(refusedBy.flat())
  const isAtLeast = refused.some((row, index) => (refusedBy[index]?.length ?? 0) < refusalsOf(row).open)
  if (isAtLeast) return { count: Math.max(known.size, ...refused.map((row) => refusalsOf(row).open)), isAtLeast }
  const toCorrect = refused.find((row, index) => areProbablyWrong(row) && refusedBy[index]?.length === known.size)
  return { count: known.size, isAtLeast, ...(toCorrect !== undefined && { toCorrect }) }
}
