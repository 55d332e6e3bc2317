import { setTimeout as delay } from 'node:timers/promises'
import { StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'

type HeldLock = {
  /** Whether the terminal is closed. Its last output is still being stored. */
  isClosing: boolean
  released: Promise<void>
}

export type TerminalLock = {
  /** Records that the terminal is closed, so that the next terminal waits for the release. */
  close(): void
  release(): void
}

/** The time that a new terminal waits until the last output of a closed terminal is stored. */
const waitMs = 10_000

/**
 * `TerminalLocks` holds the locks of the recorded sessions that have a terminal in this process. A recording shows one
 * terminal at a time. The lock of a terminal is released after its recording is stored, which is later than the end of its
 * stream. A new terminal waits for the release if the former terminal is closed. It is refused if the former one is open.
 */
export class TerminalLocks {
  readonly #held = new Map<string, HeldLock>()

  /** Locks the terminal of a session. Throws a refusal if another terminal is open. */
  async acquire(sessionId: string): Promise<TerminalLock> {
    const deadline = performance.now() + waitMs
    for (let former = this.#held.get(sessionId); former !== undefined; former = this.#held.get(sessionId)) {
      const leftMs = deadline - performance.now()
      if (!former.isClosing || leftMs <= 0) throw busy(former)
      const timeout = new AbortController()
      await Promise.race([former.released, delay(leftMs, undefined, { signal: timeout.signal }).catch(() => {})])
      timeout.abort()
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const lock: HeldLock = { isClosing: false, released: promise }
    this.#held.set(sessionId, lock)
    return {
      close() {
        lock.isClosing = true
      },
      release: () => {
        if (this.#held.get(sessionId) === lock) this.#held.delete(sessionId)
        resolve()
      },
    }
  }
}

function busy({ isClosing }: HeldLock): StreamRefusal {
  return new StreamRefusal({
    code: 'busy',
    detail: isClosing
      ? 'The recording of the former terminal is still being stored. Retry in a few seconds'
      : 'The session is recorded, so only one terminal can be open at a time. Close the other terminal',
  })
}
