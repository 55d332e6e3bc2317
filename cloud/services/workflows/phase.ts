import type { JobPhase } from '@millwright/api/jobs.ts'
import type { Workflow } from '@millwright/api/workflows.ts'
import { firstState } from './transition.ts'
import { groupOf, isFinal } from './workflow.ts'

/** Patterns in the names of states and groups, with the phase that each indicates for an ended job. */
const ends: readonly [RegExp, JobPhase][] = [
  [/CANCEL|ABORT|REVOK/i, 'canceled'],
  [/FAIL|ERROR|TERMINAT|REJECT|INVALID|DENIED|TIMEOUT|EXPIRED|UNKNOWN/i, 'failed'],
]

/**
 * Returns the phase of a job in any workflow. The name of a final state determines the phase. If it matches no pattern, the
 * name of the group of the state does.
 */
export function phaseOf(workflow: Workflow, state: string): JobPhase {
  if (!isFinal(workflow, state)) return state === firstState(workflow) ? 'waiting' : 'running'
  for (const name of [state, groupOf(workflow, state) ?? '']) {
    const end = ends.find(([pattern]) => pattern.test(name))
    if (end !== undefined) return end[1]
  }
  return 'finished'
}
