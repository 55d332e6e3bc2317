import type { RemoteTarget } from '@millwright/api/remote-access.ts'

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

/** What all devices of a list have in common: the gateway, which is ready, the allowed services and the approval. */
export type SharedConnection = { gatewayId: string; services: readonly string[]; needsApproval: boolean }

/** Returns what all targets have in common. Returns undefined if they differ, or if no session is possible to one of them. */
export function sharedConnection(targets: readonly RemoteTarget[]): SharedConnection | undefined {
  const [first, ...others] = targets.map((target) => ({
    state: connectionState(target),
    gatewayId: target.gatewayId,
    services: allowedServices(target),
    needsApproval: target.policy.approval === 'required',
  }))
  if (first?.gatewayId === undefined || first.state !== 'ready') return undefined
  const { gatewayId, services, needsApproval } = first
  const isShared = others.every(
    (each) =>
      each.state === 'ready' &&
      each.gatewayId === gatewayId &&
      each.needsApproval === needsApproval &&
      each.services.join() === services.join(),
  )
  return isShared ? { gatewayId, services, needsApproval } : undefined
}

/**
 * Returns the interval at which each row polls its target. Polling detects that the gateway goes offline or that its tunnel closes,
 * which has no event. If all devices share a connection, the list polls its first target for all of them, and the rows do not poll.
 */
export function rowIntervalMs(shared: SharedConnection | undefined, intervalMs: number): number | false {
  return shared === undefined ? intervalMs : false
}

/**
 * Returns the targets that are up to date. Only the visible rows load or poll their targets, so those of other rows become older
 * than the newest ones.
 */
export function latestTargets(
  results: readonly { data?: { data: RemoteTarget } | undefined; dataUpdatedAt: number }[],
  maxAgeMs: number,
): RemoteTarget[] {
  const newest = Math.max(...results.map(({ dataUpdatedAt }) => dataUpdatedAt))
  return results.flatMap(({ data, dataUpdatedAt }) =>
    data !== undefined && newest - dataUpdatedAt <= maxAgeMs ? [data.data] : [],
  )
}
