import { setTimeout as delay } from 'node:timers/promises'
import {
  type Assignment,
  assignmentOutcomes,
  hierarchy,
  type ItemResult,
  unfinishedStates,
} from '@millwright/api/hierarchy.ts'
import type { Command } from 'commander'
import { throwOnFailure } from '../inventory/write-status.ts'
import { CommandError } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'

/** This file prints the results of assignments, and follows assignments that run in the background. */

export type AssignmentOptions = { wait?: boolean }

const pollMs = 250

export function withWaitOption(command: Command): Command {
  return command.option('--wait', 'wait for the end of the assignment, with its progress')
}

type Counts = Pick<Assignment, (typeof assignmentOutcomes)[number]>

/** Returns the counts of the outcomes that occurred, such as `2 assigned, 1 moved`. */
export function countsText(counts: Counts): string {
  const parts = assignmentOutcomes.filter((outcome) => counts[outcome] > 0)
  return parts.map((outcome) => `${counts[outcome]} ${outcome}`).join(', ') || 'No asset changed'
}

type Results = { data: Counts & { assignmentId: string; results: ItemResult[] } }

/**
 * Prints the results of an assignment whose assets were given by id. Throws if an asset failed, so that the exit code
 * shows the failure.
 */
export async function printResults(session: Session, answer: Results): Promise<void> {
  const { assignmentId, results, ...counts } = answer.data
  await session.output.done(countsText(counts), answer)
  if (counts.assigned + counts.moved + counts.removed > 0) noteUndo(session, assignmentId)
  throwOnFailure(
    session,
    results,
    results.map(({ assetId }) => assetId),
  )
}

function noteUndo({ output, terminal }: Session, id: string): void {
  if (output.isText) terminal.note(`To undo: millwright hierarchy assignment undo ${id}`)
}

/** Prints an accepted assignment. With `wait`, waits until the assignment ends and prints its result. */
export async function printAccepted(
  session: Session,
  accepted: { data: Assignment },
  { wait = false }: AssignmentOptions,
): Promise<void> {
  const { id } = accepted.data
  if (wait) return printEnd(session, await untilEnd(session, accepted.data))
  await session.output.done(
    `Assignment ${id} accepted. To follow it: millwright hierarchy assignment show ${id} --wait`,
    accepted,
  )
}

/** Polls an assignment until it ends, and shows its progress. */
export async function untilEnd(session: Session, first: Assignment): Promise<Assignment> {
  let assignment = first
  while (unfinishedStates.includes(assignment.state)) {
    const { progress, total } = assignment
    session.terminal.progress(`${progress} % of ${total}: ${countsText(assignment)}`)
    await delay(pollMs)
    assignment = (await session.api(hierarchy).readAssignment({ params: { id: assignment.id } })).data
  }
  return assignment
}

/** Prints an assignment that ended. Throws unless all assets succeeded. */
export async function printEnd(session: Session, assignment: Assignment): Promise<void> {
  const { id, state, failed, problem, kind } = assignment
  await session.output.done(countsText(assignment), { data: assignment })
  if (kind !== 'undo' && assignment.assigned + assignment.moved + assignment.removed > 0) noteUndo(session, id)
  if (state !== 'finished')
    throw new CommandError(`The assignment ${state === 'failed' ? `failed: ${problem?.detail}` : 'was canceled'}.`)
  if (failed > 0)
    throw new CommandError(`${failed} of ${assignment.total} failed.`, {
      next: `list the errors: millwright hierarchy assignment results ${id} --outcome failed`,
    })
}
