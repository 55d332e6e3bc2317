export type PrimaryAction = 'onboard' | 'connect' | 'scan' | 'find'

type ActionState = {
  management: string
  reachability: string
  canWrite: boolean
  canConnect: boolean
  canScan: boolean
  /** Whether no gateway of the asset is known, and the user can run a scan that finds the asset. */
  canFind: boolean
}

/**
 * Returns the action that fits the state of an asset best: onboard a new asset, scan again if the device does not respond, connect
 * to the device, or find its gateway with a scan. Returns undefined if the user can do none of them.
 */
export function primaryActionOf(state: ActionState): PrimaryAction | undefined {
  const { management, reachability, canWrite, canConnect, canScan, canFind } = state
  if (management === 'unknown' && canWrite) return 'onboard'
  if (management === 'ignored') return undefined
  if (canFind) return 'find'
  if (reachability === 'failed') return canScan ? 'scan' : undefined
  return canConnect ? 'connect' : canScan ? 'scan' : undefined
}
