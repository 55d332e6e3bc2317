import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const everyMs = 15_000
/** What a gateway needs at rest, with room to breathe. */
const restBytes = 56 * 1024 * 1024

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/**
 * Gives back what a scan or a burst of registrations took, once it is over: the engine by itself keeps the memory of its
 * garbage for minutes, which on a small machine others need. For a process that is nothing but a gateway.
 */
export function giveBackMemory(isBusy: () => boolean): void {
  // The function is there only after the flag was set, and only in a context that is made then.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  setInterval(() => {
    if (!isBusy() && process.memoryUsage().heapTotal > restBytes) {
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    }
  }, everyMs).unref()
}
