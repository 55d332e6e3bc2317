import type { RemotePolicy, RemoteTarget } from '@millwright/api/remote-access.ts'

/** The state of the connection to a device through its gateway. The list of devices has a text for each state. */
export type ConnectionState = 'ready' | 'offline' | 'switchedOff' | 'noAddress' | 'noPermission' | 'notPossible'

const statesByProblem: Readonly<Record<string, ConnectionState>> = {
  gateway_offline: 'offline',
  remote_access_off: 'switchedOff',
  no_address: 'noAddress',
  forbidden: 'noPermission',
}

/**
 * Returns the state of the connection to a device. A session that needs an approval can be requested while the gateway is
 * offline, so an offline gateway is not always a problem of the target.
 */
export function connectionState({ problem, isGatewayConnected }: RemoteTarget): ConnectionState {
  if (problem === undefined) return isGatewayConnected ? 'ready' : 'offline'
  return Object.hasOwn(statesByProblem, problem.code) ? (statesByProblem[problem.code] ?? 'notPossible') : 'notPossible'
}

const namesByPort: Readonly<Record<number, string>> = { 22: 'SSH', 80: 'HTTP', 443: 'HTTPS' }

/**
 * Returns the names of the services that the policy of a device allows. The platform does not know which ports are open on the
 * device. Without a wildcard host, the ports of web pages can only be used as TCP ports.
 */
export function allowedServices({ policy, isWebAvailable }: Pick<RemoteTarget, 'policy' | 'isWebAvailable'>): string[] {
  const nameOf = (port: number) => (isWebAvailable || port === 22 ? namesByPort[port] : undefined)
  const ports = policy.ports.toSorted((one, other) => one - other)
  const others = ports.filter((port) => nameOf(port) === undefined)
  return [...ports.flatMap((port) => nameOf(port) ?? []), ...(others.length === 0 ? [] : [`TCP ${others.join(', ')}`])]
}

type GroupPolicy = { accessGroupName: string; policy: Pick<RemotePolicy, 'approval'> }

/**
 * Returns the names of the access groups whose devices need an approval. Returns undefined if no group of an incomplete list
 * needs one, because other groups may need it.
 */
export function groupsWithApproval(
  policies: readonly GroupPolicy[],
  { total }: { total: number },
): string[] | undefined {
  const names = policies.filter(({ policy }) => policy.approval === 'required').map((group) => group.accessGroupName)
  return names.length === 0 && policies.length < total ? undefined : names
}
