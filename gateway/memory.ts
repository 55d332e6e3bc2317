import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const everyMs = 15_000
/** The memory that an idle gateway needs, with a margin. */
const restBytes = 56 * 1024 * 1024

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/**
 * Runs a garbage collection after a scan or many registrations. V8 would keep unused memory for minutes, and small
 * machines need that memory for other programs. Use this function only in a process that runs nothing but a gateway.
 */
export function releaseMemory(isBusy: () => boolean): void {
  // `gc` exists only in a context that is created after the flag was set.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  setInterval(() => {
    if (!isBusy() && process.memoryUsage().heapTotal > restBytes) {
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    }
  }, everyMs).unref()
}
