/** How long sliced work may occupy one turn of the event loop. Other requests wait during this time. */
const turnMs = 5

/** The sliced work that waits for its next turn. The work that has waited longest is first. */
const waiting: (() => void)[] = []

/**
 * Splits long synchronous work into turns of the event loop. Call the returned function between two steps of the work.
 * It waits if the time of the turn is used up. In each turn of the loop, only one slice of all sliced work of the
 * process runs. So ten concurrent large requests delay a small request no more than one large request does.
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
