import type { LinkParameter } from './gatekeeper.ts'

/** Returns whether a scan needs a value for this parameter from the user, such as the range of a real network. */
export function isRequiredParameter({ mandatory, defaultValue }: LinkParameter): boolean {
  return mandatory && defaultValue === undefined
}
