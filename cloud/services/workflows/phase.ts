import type { JobPhase } from '@millwright/api/jobs.ts'
import type { Workflow } from '@millwright/api/workflows.ts'
import { firstState } from './transition.ts'
import { groupOf, isFinal } from './workflow.ts'

/** Patterns in the names of states and groups that show how a job ended. */
const ends: readonly [RegExp, JobPhase][] = [
  [/CANCEL|ABORT|REVOK/i, 'canceled'],
  [/FAIL|ERROR|TERMINAT|REJECT|INVALID|DENIED|TIMEOUT|EXPIRED/i, 'failed'],
]

/**
 * Returns the phase of a job in any workflow. The phase of a final state depends on its name, then on the name of its
 * group.
 */
export function phaseOf(workflow: Workflow, state: string): JobPhase {
  if (!isFinal(workflow, state)) return state === firstState(workflow) ? 'waiting' : 'running'
  for (const name of [state, groupOf(workflow, state) ?? '']) {
    const end = ends.find(([pattern]) => pattern.test(name))
    if (end !== undefined) return end[1]
  }
  return 'finished'
}
