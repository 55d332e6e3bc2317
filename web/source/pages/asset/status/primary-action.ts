export type PrimaryAction = 'onboard' | 'connect' | 'scan'

type ActionState = {
  management: string
  reachability: string
  canWrite: boolean
  canConnect: boolean
  canScan: boolean
}

/**
 * Returns the action that fits the state of an asset best: onboard a new asset, scan again if the device does not respond, or
 * connect to the device. Returns undefined if the user can do none of them.
 */
export function primaryActionOf(state: ActionState): PrimaryAction | undefined {
  const { management, reachability, canWrite, canConnect, canScan } = state
  if (management === 'unknown' && canWrite) return 'onboard'
  if (management === 'ignored') return undefined
  if (reachability === 'failed') return canScan ? 'scan' : undefined
  return canConnect ? 'connect' : canScan ? 'scan' : undefined
}
