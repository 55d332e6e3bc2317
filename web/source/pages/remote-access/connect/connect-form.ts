import { type RemoteService, type RemoteTarget, servicePorts } from '@millwright/api/remote-access.ts'

/** The durations, in minutes, that a user can choose. The policy limits them. */
const durations = [15, 30, 60, 120, 240, 480, 1_440]
/** The duration that is chosen first, if the policy allows it. */
const usualMinutes = 60

/** The reasons why no session can be opened for which the console has its own text, by problem code. */
const obstacles = {
  remote_access_off: 'switchedOff',
  gateway_offline: 'gatewayOffline',
  no_address: 'noAddress',
} as const
export type Obstacle = (typeof obstacles)[keyof typeof obstacles]

/** Returns why no session can be opened. Returns undefined for another reason, and if a session is possible. */
export function obstacleOf({ problem }: Pick<RemoteTarget, 'problem'>): Obstacle | undefined {
  const known: Readonly<Record<string, Obstacle>> = obstacles
  return problem !== undefined && Object.hasOwn(known, problem.code) ? known[problem.code] : undefined
}

/** Returns the durations that a policy allows. Its maximum is always one of them. */
export function durationsOf(maxMinutes: number): number[] {
  return [...durations.filter((minutes) => minutes < maxMinutes), maxMinutes]
}

export function firstDuration(maxMinutes: number): number {
  return Math.min(usualMinutes, maxMinutes)
}

/** Returns the port that is offered for a service: its usual port, or for `tcp` the first allowed port without a service. */
export function firstPort(service: RemoteService, allowed: readonly number[]): number | undefined {
  const usual = servicePorts[service]
  if (usual !== undefined) return usual
  const known = Object.values(servicePorts)
  return allowed.find((port) => !known.includes(port)) ?? allowed[0]
}
