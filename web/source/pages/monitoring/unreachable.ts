import type { MonitoredState, Monitoring, MonitoringResult } from '@millwright/api/monitoring.ts'

type Task = Pick<Monitoring, 'id' | 'name'>
type Result = Pick<MonitoringResult, 'assetId' | 'assetName'>
type State = { assetId: string; state: MonitoredState; sinceTimestamp?: string }

/** `UnreachableDevice` is a device whose newest check failed, with the tasks that could not reach it. */
export type UnreachableDevice = { id: string; name: string; sinceTimestamp: string | undefined; tasks: Task[] }

/**
 * Returns each unreachable device once, latest outage first. `results` contains the failed results of each task. A device that
 * another task reached later is left out, because its current state is not `failed`.
 */
export function latestOutages(
  tasks: readonly Task[],
  results: readonly (readonly Result[])[],
  states: readonly State[],
): UnreachableDevice[] {
  const devices = new Map<string, UnreachableDevice>()
  const current = new Map(states.map((state) => [state.assetId, state]))
  for (const [index, { id, name }] of tasks.entries()) {
    for (const { assetId, assetName = assetId } of results[index] ?? []) {
      const { state, sinceTimestamp } = current.get(assetId) ?? {}
      if (state !== 'failed') continue
      const device = devices.get(assetId) ?? { id: assetId, name: assetName, sinceTimestamp, tasks: [] }
      devices.set(assetId, { ...device, tasks: [...device.tasks, { id, name }] })
    }
  }
  return [...devices.values()].toSorted((one, other) =>
    (other.sinceTimestamp ?? '').localeCompare(one.sinceTimestamp ?? ''),
  )
}
