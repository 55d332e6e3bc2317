import { BackOff, pause } from '@millwright/api/back-off.ts'
import { Failure } from '../../../app/api/failure.ts'
import type { OpenStream, SessionStream } from '../streams/session-stream.ts'
import type { StreamClose } from '../streams/stream-message.ts'
import { afterClose, afterMessage, initialState, type TerminalState } from './terminal-state.ts'

type Size = { columns: number; rows: number }

type ConnectionOptions = {
  openStream: OpenStream
  onOutput: (bytes: Uint8Array<ArrayBuffer>) => void
  /** Is called after a loss of the connection, when a new shell is open. */
  onNewShell: () => void
}

const reconnect = { firstMs: 300, longestMs: 5_000 }
/** The number of attempts after a loss of the connection. Afterwards the user connects with a button. */
const maxAttempts = 12
/** The codes of requests for a ticket that fail because the session is no longer open. */
const closedSessionCodes: readonly string[] = ['not_found', 'conflict', 'forbidden']
const encoder = new TextEncoder()

/** `TerminalConnection` is the connection of a terminal to the shell of a device, over one stream at a time. */
export class TerminalConnection {
  readonly #options: ConnectionOptions
  readonly #watchers = new Set<() => void>()
  readonly #backOff = new BackOff(reconnect)
  readonly #stopped = new AbortController()
  #attempts = 0
  #wasOpen = false
  #size: Size = { columns: 80, rows: 24 }
  #stream: SessionStream | undefined
  #state = initialState

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  get state(): TerminalState {
    return this.#state
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Opens a stream. Rejected requests for a ticket are shown as the state of the terminal. */
  async connect(size: Size = this.#size): Promise<void> {
    this.#size = size
    if (this.#state.status.kind !== 'reconnecting') this.#setState({ ...this.#state, status: { kind: 'connecting' } })
    let stream: SessionStream | undefined
    try {
      stream = await this.#options.openStream(
        { kind: 'terminal', ...this.#size },
        {
          onBytes: this.#options.onOutput,
          onMessage: (message) => {
            this.#setState(afterMessage(this.#state, message))
            if (message.type === 'signed-in') this.#onSignedIn()
          },
          onClose: (close) => {
            if (stream === undefined || stream === this.#stream) this.#onClose(close)
          },
        },
      )
    } catch (error) {
      return this.#onRejected(error)
    }
    this.#stream = stream
    if (this.#stopped.signal.aborted) stream.close()
  }

  /** Connects again after the terminal was closed. */
  reconnect(): Promise<void> {
    this.#attempts = 0
    this.#backOff.reset()
    return this.connect()
  }

  send(text: string): void {
    if (this.#state.status.kind === 'open') this.#stream?.sendBytes(encoder.encode(text))
  }

  /** Sends bytes that are not text, such as mouse reports. Each character of the text is one byte. */
  sendBinary(text: string): void {
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0) & 255)
    if (this.#state.status.kind === 'open') this.#stream?.sendBytes(bytes)
  }

  resize(size: Size): void {
    this.#size = size
    this.#stream?.sendMessage({ type: 'size', ...size })
  }

  /** Sends the answers to the current prompt. */
  answer(answers: readonly string[]): void {
    this.#setState({ ...this.#state, status: { kind: 'connecting' } })
    this.#stream?.sendMessage({ type: 'answers', answers })
  }

  /** Ends the sign-in without an answer. */
  cancelSignIn(): void {
    this.#stream?.close()
    this.#stream = undefined
    this.#setState({ ...this.#state, status: { kind: 'exited' } })
  }

  /** Closes the terminal, because its session has ended. */
  end(): void {
    this.#stream?.close()
    this.#stream = undefined
    this.#setState({ ...this.#state, status: { kind: 'ended' } })
  }

  stop(): void {
    this.#stopped.abort()
    this.#stream?.close()
    this.#watchers.clear()
  }

  #onSignedIn(): void {
    this.#attempts = 0
    this.#backOff.reset()
    if (this.#wasOpen) this.#options.onNewShell()
    this.#wasOpen = true
  }

  #onClose(close: StreamClose): void {
    if (this.#stopped.signal.aborted) return
    this.#stream = undefined
    this.#setState(afterClose(this.#state, close))
    if (this.#state.status.kind === 'reconnecting') this.#connectLater()
  }

  #onRejected(error: unknown): void {
    if (this.#stopped.signal.aborted) return
    if (error instanceof Failure && closedSessionCodes.includes(error.code)) {
      this.#setState({ ...this.#state, status: { kind: 'ended' } })
    } else {
      this.#setState({ ...this.#state, status: { kind: 'reconnecting' } })
      this.#connectLater()
    }
  }

  async #connectLater(): Promise<void> {
    this.#attempts++
    if (this.#attempts > maxAttempts) return this.#setState({ ...this.#state, status: { kind: 'failed' } })
    await pause(this.#backOff.nextMs(), this.#stopped.signal)
    if (!this.#stopped.signal.aborted && this.#state.status.kind === 'reconnecting') await this.connect()
  }

  #setState(state: TerminalState): void {
    if (this.#stopped.signal.aborted) return
    this.#state = state
    for (const watcher of this.#watchers) watcher()
  }
}
