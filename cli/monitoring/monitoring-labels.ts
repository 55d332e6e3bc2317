import { type MonitoredState, type Monitoring, monitoring } from '@millwright/api/monitoring.ts'
import { isId, requireSingle } from '../input/lookup.ts'
import type { Session } from '../session/session.ts'

/** The labels of states in tables and options. The console uses the same words. JSON output contains the API values. */
const labels: Readonly<Record<MonitoredState, string>> = {
  reached: 'reachable',
  failed: 'unreachable',
  unknown: 'unknown',
}

export const stateLabels = Object.values(labels)

export function labelOf(state: unknown): string {
  return labels[state as MonitoredState] ?? String(state)
}

export function stateOf(label: string): MonitoredState {
  const [state = 'unknown'] = Object.entries(labels).find(([, each]) => each === label) ?? []
  return state as MonitoredState
}

/** Returns the numbers of devices by state, such as `3 unreachable, 120 reachable, 4 changed`. */
export function countsText({ failed, reached, unknown, changed }: Monitoring['summary']): string {
  const parts = [`${failed} unreachable`, `${reached} reachable`]
  return [...parts, ...(unknown > 0 ? [`${unknown} unknown`] : []), `${changed} changed`].join(', ')
}

/** Returns the id of a monitoring task. */
export async function monitoringId({ api }: Session, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId
  const { data } = await api(monitoring).listMonitorings({ query: { limit: 100 } })
  const matches = data.filter(({ name }) => name === nameOrId)
  return requireSingle('Monitoring task', nameOrId, { matches, list: 'millwright monitor list' })
}
