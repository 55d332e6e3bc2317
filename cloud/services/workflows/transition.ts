import { Problem } from '@millwright/api/problem.ts'
import type { Transition, Workflow } from '@millwright/api/workflows.ts'
import { initialState, isFinal } from './workflow.ts'

/** Who moves a job: the client that works on it, or the engine and those who manage it. */
export type Side = Transition['eligible']

export type Step = { from: string; to: string; as: Side }

/** Where a job is after somebody moved it. Staying where it is needs no transition: it is a report of progress. */
export function moved(workflow: Workflow, { from, to, as }: Step): string {
  const leading = workflow.transitions.filter((transition) => transition.from === from && transition.to === to)
  if (from !== to && leading.length === 0)
    throw new Problem(
      'invalid_transition',
      `There is no transition from ${from} to ${to}${possible(workflow, from, as)}`,
    )
  if (from !== to && leading.every(({ eligible }) => eligible !== as))
    throw new Problem('invalid_transition', `The transition from ${from} to ${to} is not for ${as}`)
  return settled(workflow, to)
}

function possible({ transitions }: Workflow, state: string, as: Side): string {
  const targets = transitions.filter(({ from, eligible }) => from === state && eligible === as).map(({ to }) => to)
  return targets.length === 0 ? `, and none for ${as} at all` : `; for ${as} there are ${targets.join(', ')}`
}

/** Where a job comes to rest: IMMEDIATE transitions are followed by themselves. A sound workflow has no cycles. */
export function settled({ transitions }: Workflow, state: string): string {
  const next = transitions.find(({ from, to, action }) => from === state && to !== from && action === 'IMMEDIATE')
  return next === undefined ? state : settled({ transitions } as Workflow, next.to)
}

/** Where a new job is. */
export function firstState(workflow: Workflow): string {
  return settled(workflow, initialState(workflow))
}

/** Whether the client has something to do: there is a transition for it. A job that waits for the engine is not offered. */
export function awaitsClient({ transitions }: Workflow, state: string): boolean {
  return transitions.some(({ from, to, eligible }) => from === state && to !== state && eligible === 'CLIENT')
}

/** Where a job goes when its client takes it: a new one begins with the first transition that does not end it. */
export function stateWhenTaken(workflow: Workflow, state: string): string {
  if (state !== firstState(workflow)) return state
  const begin = workflow.transitions.find(
    ({ from, to, eligible }) => from === state && to !== state && eligible === 'CLIENT' && !isFinal(workflow, to),
  )
  return begin === undefined ? state : settled(workflow, begin.to)
}
