import { Problem } from '@millwright/api/problem.ts'
import type { Transition, Workflow } from '@millwright/api/workflows.ts'
import { initialState, isFinal } from './workflow.ts'

/** The side that moves a job: the client that works on the job (`CLIENT`), or the platform and its users (`WFX`). */
export type Side = Transition['eligible']

export type Step = { from: string; to: string; as: Side }

/**
 * Returns the state of a job after a move. A move to the same state needs no transition, because it is a progress report.
 */
export function moved(workflow: Workflow, { from, to, as }: Step): string {
  const leading = workflow.transitions.filter((transition) => transition.from === from && transition.to === to)
  if (from !== to && leading.length === 0)
    throw new Problem(
      'invalid_transition',
      `There is no transition from ${from} to ${to}${availableTransitions(workflow, from, as)}`,
    )
  if (from !== to && leading.every(({ eligible }) => eligible !== as))
    throw new Problem('invalid_transition', `The transition from ${from} to ${to} is not available to ${as}`)
  return settled(workflow, to)
}

function availableTransitions({ transitions }: Workflow, state: string, as: Side): string {
  const targets = transitions.filter(({ from, eligible }) => from === state && eligible === as).map(({ to }) => to)
  return targets.length === 0 ? `. No transition is available to ${as}` : `. Available to ${as}: ${targets.join(', ')}`
}

/** Follows IMMEDIATE transitions until there is none, and returns the last state. A valid workflow has no cycles. */
export function settled({ transitions }: Workflow, state: string): string {
  const next = transitions.find(({ from, to, action }) => from === state && to !== from && action === 'IMMEDIATE')
  return next === undefined ? state : settled({ transitions } as Workflow, next.to)
}

/** Returns the state of a new job. */
export function firstState(workflow: Workflow): string {
  return settled(workflow, initialState(workflow))
}

/**
 * Returns whether the client has a transition from this state. If not, the job waits for the platform and is not offered to
 * the client.
 */
export function awaitsClient({ transitions }: Workflow, state: string): boolean {
  return transitions.some(({ from, to, eligible }) => from === state && to !== state && eligible === 'CLIENT')
}

/**
 * Returns the state of a job after its client takes it. A new job follows the first transition that does not end the job.
 */
export function stateWhenTaken(workflow: Workflow, state: string): string {
  if (state !== firstState(workflow)) return state
  const begin = workflow.transitions.find(
    ({ from, to, eligible }) => from === state && to !== state && eligible === 'CLIENT' && !isFinal(workflow, to),
  )
  return begin === undefined ? state : settled(workflow, begin.to)
}

/**
 * Returns the states on the shortest path from one state to another, without the first one. A move to the same state is a
 * progress report. Returns undefined if no path exists. The path ignores which side can move the job.
 */
export function pathBetween(workflow: Workflow, from: string, to: string): string[] | undefined {
  if (from === to) return [to]
  const paths = new Map<string, string[]>([[from, []]])
  for (const [state, path] of paths)
    for (const transition of workflow.transitions)
      if (transition.from === state && !paths.has(transition.to)) paths.set(transition.to, [...path, transition.to])
  return paths.get(to)
}
