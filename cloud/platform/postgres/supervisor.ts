import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { Server, ServerExit } from './server.ts'

/**
 * Keeps a server running. A server that ends without a call of `stop` is restarted. The first restart is immediate, the
 * next ones use exponential back-off. The attempts continue until one succeeds, because the causes are temporary (a
 * full disk, a killed process). They end only when the data folder was deleted or `stop` is called.
 */

export type Supervised = {
  /** Resolves when the server has ended permanently. */
  exited: Promise<ServerExit>
  stop(): Promise<void>
}

type Options = {
  /** Starts the server process. */
  start: () => Promise<Server>
  untilReady: (server: Server) => Promise<void>
  /** Returns true if the data folder was deleted, so that a restart cannot succeed. */
  isGone: () => boolean
  warn: (sentence: string) => void
}

/** If a server ran at least this long before it ended, it is restarted at once. */
const stableMs = 60_000

/** Starts the server and restarts it when it ends unexpectedly. Throws if the first start fails. */
export async function supervise(options: Options): Promise<Supervised> {
  const supervisor = new Supervisor(options)
  await supervisor.start().catch(async (error: unknown) => {
    await supervisor.stop()
    throw error
  })
  const exited = supervisor.run()
  return {
    exited,
    async stop() {
      await supervisor.stop()
      await exited
    },
  }
}

class Supervisor {
  readonly #options: Options
  readonly #stopping = new AbortController()
  #server: Server | undefined
  readonly #backOff = new BackOff({ firstMs: 500, longestMs: 15_000 })
  /** The pause before the next attempt. */
  #pauseMs = 0
  #readyAtMs = 0

  constructor(options: Options) {
    this.#options = options
  }

  async start(): Promise<void> {
    const server = await this.#options.start()
    this.#server = server
    if (this.#stopping.signal.aborted) await server.stop()
    await this.#options.untilReady(server)
    this.#readyAtMs = performance.now()
  }

  async run(): Promise<ServerExit> {
    for (;;) {
      const exit = await (this.#server as Server).exited
      if (this.#isOver()) return exit
      this.#options.warn(`PostgreSQL ended unexpectedly (${exit.lastLogLine}). Restarting it.`)
      if (performance.now() - this.#readyAtMs > stableMs) {
        this.#pauseMs = 0
        this.#backOff.reset()
      }
      await this.#restart()
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#server?.stop()
  }

  #isOver(): boolean {
    return this.#stopping.signal.aborted || this.#options.isGone()
  }

  /** Restarts the server. Returns when the server is ready, or when there are no further attempts. */
  async #restart(): Promise<void> {
    while (!this.#isOver()) {
      await pause(this.#pauseMs, this.#stopping.signal, { ref: false })
      if (this.#isOver()) return
      this.#pauseMs = this.#backOff.nextMs()
      try {
        await this.start()
        this.#options.warn('PostgreSQL is running again.')
        return
      } catch (error) {
        if (this.#isOver()) return
        const next = `Next attempt in ${this.#pauseMs / 1_000} seconds.`
        this.#options.warn(`${error instanceof Error ? error.message : error} ${next}`)
        await this.#server?.stop()
      }
    }
  }
}
