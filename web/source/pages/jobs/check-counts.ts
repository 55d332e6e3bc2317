/** The numbers of devices that a check of a gateway reached, did not reach, and could not check. */
export type CheckCounts = { reached: number; failed: number; unchecked: number }

const checkedDevices = /^(\d+) devices? reached(?:, (\d+) not reachable)?(?:, (\d+) not checked)?$/

/** Returns the numbers in the message of a gateway that checked devices, or undefined for the message of an older gateway. */
export function checkCountsOf(message: string | undefined): CheckCounts | undefined {
  const [, reached, failed = 0, unchecked = 0] = checkedDevices.exec(message ?? '') ?? []
  if (reached === undefined) return undefined
  return { reached: Number(reached), failed: Number(failed), unchecked: Number(unchecked) }
}
