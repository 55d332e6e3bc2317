/** How long sliced work may occupy one turn of the event loop: other requests wait meanwhile. */
const turnMs = 5

/** Sliced work that waits for its next turn, the longest wait first. */
const waiting: (() => void)[] = []

/**
 * Splits long synchronous work into turns of the event loop: call the returned function between two steps. It waits when
 * the turn is used up. Of all sliced work of the process, one slice runs in each turn of the loop, so that ten large
 * requests at once delay a small one no more than a single large request does.
 */
export function createYield(): () => Promise<void> | undefined {
  let start = performance.now()
  return () => {
    if (performance.now() - start < turnMs) return undefined
    return nextTurn().then(() => {
      start = performance.now()
    })
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(runNext)
  })
}

function runNext(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(runNext)
}
