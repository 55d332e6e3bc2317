import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const everyMs = 15_000
/** The heap size of an idle gateway, with a margin. */
const restBytes = 56 * 1024 * 1024

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/**
 * Periodically runs a garbage collection while the gateway is idle and has a large heap, for example after a scan. V8
 * would keep the unused memory for minutes, and small machines need that memory for other programs. Use this function
 * only in a process that runs nothing but a gateway.
 */
export function releaseMemory(isBusy: () => boolean): void {
  // The function `gc` exists only in a context that is created after the flag was set.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  setInterval(() => {
    if (!isBusy() && process.memoryUsage().heapTotal > restBytes) {
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    }
  }, everyMs).unref()
}
