import { type RemotePolicy, remoteAccessLimits } from '@millwright/api/remote-access.ts'
import { integerOf } from '../../../components/forms/integer.ts'

/** `PolicyForm` contains the fields of a policy as the user types them. */
export type PolicyForm = Omit<RemotePolicy, 'maxMinutes' | 'idleMinutes' | 'ports'> & {
  maxMinutes: string
  idleMinutes: string
  ports: string
}

export type InvalidPolicyField = 'maxMinutes' | 'idleMinutes' | 'ports'

const highestPort = 65_535

export function formOf({ maxMinutes, idleMinutes, ports, ...policy }: RemotePolicy): PolicyForm {
  return { ...policy, maxMinutes: String(maxMinutes), idleMinutes: String(idleMinutes), ports: ports.join(', ') }
}

/** Returns the policy in a form, or the first field that is not valid. */
export function policyOf(form: PolicyForm): RemotePolicy | { invalid: InvalidPolicyField } {
  const maxMinutes = integerOf(form.maxMinutes, remoteAccessLimits.maxMinutes)
  if (maxMinutes === undefined) return { invalid: 'maxMinutes' }
  const idleMinutes = integerOf(form.idleMinutes, remoteAccessLimits.maxIdleMinutes)
  if (idleMinutes === undefined) return { invalid: 'idleMinutes' }
  const ports = portsOf(form.ports)
  if (ports === undefined) return { invalid: 'ports' }
  return { approval: form.approval, recording: form.recording, maxMinutes, idleMinutes, ports }
}

/** Returns the ports in a list that is separated by commas or spaces, or undefined if one of them is not a port. */
export function portsOf(text: string): number[] | undefined {
  const words = text.split(/[\s,;]+/).filter((word) => word !== '')
  const ports = words.map((word) => integerOf(word, highestPort))
  if (!ports.every((port) => port !== undefined)) return undefined
  const unique = [...new Set(ports)]
  return unique.length > remoteAccessLimits.ports ? undefined : unique
}
