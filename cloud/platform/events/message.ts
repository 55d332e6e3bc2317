import type { Problem } from '@millwright/api/problem.ts'

/** How long a reader waits before it reconnects. */
const retryMs = 1_000

/** The headers of streams. With them, proxies do not buffer or change the events. */
export const streamHeaders = { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }

/**
 * Returns the first message of a stream. It contains the start position, so that a reader that disconnects before the
 * first event resumes there.
 */
export function openingMessage(position: number): string {
  return `retry: ${retryMs}\nid: ${position}\n\n`
}

/**
 * Returns a comment that dispatches no event. Its id moves the position of the reader past events that the reader does
 * not receive, so that the reader resumes from a recent position.
 */
export function heartbeat(position: number): string {
  return `: still here\nid: ${position}\n\n`
}

/**
 * Returns the last message, with the reason why the stream ends. It has no id, so that the reader resumes after the
 * last event it received.
 */
export function endMessage(problem: Problem): string {
  return `event: end\ndata: ${JSON.stringify(problem.toDocument())}\n\n`
}
