import type { Problem } from '@millwright/api/problem.ts'

/** How long a reader waits before it reconnects. */
const retryMs = 1_000

/** Headers of streams: proxies must not buffer or change the events. */
export const streamHeaders = { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }

/**
 * The first message. It contains the start position, so that a reader that disconnects before the first event resumes
 * there.
 */
export function openingMessage(position: number): string {
  return `retry: ${retryMs}\nid: ${position}\n\n`
}

/**
 * A comment that dispatches no event. Its id moves the reader past events that it does not receive, so that it resumes
 * from a recent position.
 */
export function heartbeat(position: number): string {
  return `: still here\nid: ${position}\n\n`
}

/** The reason for the end of a stream. It has no id, so that the reader resumes after the last event it received. */
export function endMessage(problem: Problem): string {
  return `event: end\ndata: ${JSON.stringify(problem.toDocument())}\n\n`
}
