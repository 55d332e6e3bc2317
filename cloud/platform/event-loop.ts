import { setImmediate } from 'node:timers/promises'

/** How long work may occupy one turn of the event loop: other requests wait meanwhile. */
const turnMs = 5

/** Splits long synchronous work into turns of the event loop: call it between steps. It waits when the turn is used up. */
export function createYield(): () => Promise<void> | undefined {
  let start = performance.now()
  return () => {
    if (performance.now() - start < turnMs) return undefined
    return setImmediate().then(() => {
      start = performance.now()
    })
  }
}
