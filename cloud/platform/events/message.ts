import type { Problem } from '@millwright/api/problem.ts'

/** How long a reader whose connection broke waits before it comes back. */
const retryMs = 1_000

/** What answers that carry such messages say: nobody on the way may hold events back, or change them. */
export const streamHeaders = { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }

/** The first words: where it begins, so that who is cut off before the first event resumes there. */
export function openingMessage(position: number): string {
  return `retry: ${retryMs}\nid: ${position}\n\n`
}

/** Dispatches nothing, but moves the reader past events that are not for it: it never resumes from long ago. */
export function heartbeat(position: number): string {
  return `: still here\nid: ${position}\n\n`
}

/** Why it ends. Without an id: the reader resumes after the last event it got. */
export function endMessage(problem: Problem): string {
  return `event: end\ndata: ${JSON.stringify(problem.toDocument())}\n\n`
}
