import type { CredentialUsage, ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'

type Refusal = Pick<CredentialUsage['refusals'][number], 'address' | 'lastFailedTimestamp' | 'acceptsOther'>

/**
 * `LoginsOf` contains the numbers of logins with credentials and, if their usage is loaded, the latest refusals, newest first.
 * The usage contains a limited number of refusals.
 */
export type LoginsOf = Pick<ListedCredentialInstance, 'logins' | 'lastModifiedTimestamp'> & {
  refusals?: readonly Refusal[] | undefined
}

/**
 * The numbers of devices that refuse credentials: those without other credentials that work, and those with others. If the usage
 * is loaded, only refusals after the last change of the credentials count.
 */
type RefusalCounts = {
  open: number
  withOther: number
  /** Whether there can be more devices, because the usage does not contain all refusals. */
  isAtLeast: boolean
  /** Whether a refusal was after the last change of the credentials. */
  areCurrent: boolean
  /** The time of the latest refusal. */
  lastTimestamp: string | undefined
}

export function refusalsOf(credentials: LoginsOf): RefusalCounts {
  const { logins, lastModifiedTimestamp, refusals = [] } = credentials
  const { refused, refusedWithOther, lastFailedTimestamp = '' } = logins
  const [latest] = refusals
  if (latest === undefined) {
    return {
      open: refused - refusedWithOther,
      withOther: refusedWithOther,
      isAtLeast: false,
      areCurrent: lastFailedTimestamp > lastModifiedTimestamp,
      lastTimestamp: logins.lastFailedTimestamp,
    }
  }
  const current = currentRefusals(credentials)
  const { open, withOther } = refusedDevices(current)
  const isComplete = current.length < refusals.length || open.length + withOther.length >= refused
  return {
    open: open.length,
    withOther: withOther.length,
    isAtLeast: !isComplete,
    areCurrent: current.length > 0,
    lastTimestamp: latest.lastFailedTimestamp,
  }
}

function currentRefusals({ refusals = [], lastModifiedTimestamp }: LoginsOf): readonly Refusal[] {
  return refusals.filter(({ lastFailedTimestamp = '' }) => lastFailedTimestamp > lastModifiedTimestamp)
}

/**
 * Separates the devices without other credentials that work from those with others. As in `logins`, a device is an address: if
 * several gateways reach it, only its first refusal is returned.
 */
export function refusedDevices<Each extends Pick<Refusal, 'address' | 'acceptsOther'>>(
  refusals: readonly Each[],
): { open: Each[]; withOther: Each[] } {
  const devices = [...Map.groupBy(refusals, ({ address }) => address).values()]
  const isWithOther = (device: readonly Each[]) => device.some(({ acceptsOther }) => acceptsOther)
  return {
    open: devices.filter((device) => !isWithOther(device)).flatMap((device) => device.slice(0, 1)),
    withOther: devices.filter(isWithOther).flatMap((device) => device.slice(0, 1)),
  }
}

/** The time of the last result of credentials, and what the result states. Numbers are the devices of the statement. */
export type LastLogin = {
  kind: 'worked' | 'workedBefore' | 'refused' | 'refusedBefore' | 'withoutWorking' | 'allWithOther' | 'someWithOther'
  at: string | undefined
}

/**
 * Returns the last result of credentials. If devices refuse them, the result and its time are those of the refusals, also if
 * another device accepted them later.
 */
export function lastLogin(credentials: LoginsOf): LastLogin {
  const { logins, lastModifiedTimestamp } = credentials
  const { accepted, refused, lastWorkedTimestamp } = logins
  if (refused === 0) {
    const isCurrent = (lastWorkedTimestamp ?? '') > lastModifiedTimestamp
    return { kind: isCurrent ? 'worked' : 'workedBefore', at: lastWorkedTimestamp }
  }
  const { open, withOther, areCurrent, lastTimestamp: at } = refusalsOf(credentials)
  if (!areCurrent) return { kind: 'refusedBefore', at }
  if (withOther === refused) return { kind: 'allWithOther', at }
  if (withOther > 0) return { kind: 'someWithOther', at }
  return { kind: accepted > 0 && open > 0 ? 'withoutWorking' : 'refused', at }
}

/** What a user can do about refusals: change the values, show the devices that no credentials open, or narrow the IP range. */
export type RefusalStep = 'change' | 'devices' | 'narrow'

/**
 * Returns the next steps for the refusals of credentials. Values that all devices refuse are probably wrong. If devices accept
 * other credentials, a smaller IP range avoids the refused logins, which can lock the user on a device.
 */
export function refusalSteps(credentials: LoginsOf, canWrite: boolean): RefusalStep[] {
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
function areProbablyWrong(credentials: LoginsOf): boolean {
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
export function isOpen(credentials: LoginsOf): boolean {
  const { open, areCurrent } = refusalsOf(credentials)
  return areCurrent && open > 0
}

type LockedDevicesOptions = {
  /** The number of all credentials. It is larger than the number of rows until the user scrolls to the end. */
  total: number
  /** Whether the rows are only those that match a search. They do not contain all devices. */
  isSearch: boolean
}

/** Counts each device once that refuses several credentials and accepts no others. Returns undefined if there is none. */
export function lockedDevices<Row extends LoginsOf>(
  rows: readonly Row[],
  { total, isSearch }: LockedDevicesOptions,
): LockedDevices<Row> | undefined {
  const refused = rows.filter(isOpen)
  if (isSearch || refused.length === 0) return undefined
  const openOf = (row: Row) => refusedDevices(currentRefusals(row)).open
  const known = new Set(refused.flatMap(openOf).map(({ address }) => address))
  const isAtLeast = rows.length < total || refused.some((row) => openOf(row).length === 0 || refusalsOf(row).isAtLeast)
  const count = Math.max(1, known.size)
  if (isAtLeast) return { count, isAtLeast }
  const toCorrect = refused.find((row) => areProbablyWrong(row) && openOf(row).length === known.size)
  return { count, isAtLeast, ...(toCorrect !== undefined && { toCorrect }) }
}
