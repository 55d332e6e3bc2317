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
    canWrite && open > 0 && withOther === 0 && credentials.logins.accepted === 0 && 'change',
    open > 0 && 'devices',
    canWrite && withOther > 0 && 'narrow',
  ]
  return steps.filter((step) => step !== false)
}
