import type { JobPhase } from '@millwright/api/jobs.ts'
import type { Workflow } from '@millwright/api/workflows.ts'
import { firstState } from './transition.ts'
import { groupOf, isFinal } from './workflow.ts'

/** What the names of states and groups say about an end, whoever wrote the workflow. */
const ends: readonly [RegExp, JobPhase][] = [
  [/CANCEL|ABORT|REVOK/i, 'canceled'],
  [/FAIL|ERROR|TERMINAT|REJECT|INVALID|DENIED|TIMEOUT|EXPIRED/i, 'failed'],
]

/** Where a job stands, in words that fit any workflow: its end goes by the name of the state, then by its group's. */
export function phaseOf(workflow: Workflow, state: string): JobPhase {
  if (!isFinal(workflow, state)) return state === firstState(workflow) ? 'waiting' : 'running'
  for (const name of [state, groupOf(workflow, state) ?? '']) {
    const end = ends.find(([pattern]) => pattern.test(name))
    if (end !== undefined) return end[1]
  }
  return 'finished'
}
