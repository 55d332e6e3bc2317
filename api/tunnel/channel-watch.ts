import type { MessageChannel } from './channel.ts'

type ChannelWatchOptions = {
  channel: MessageChannel
  /** The time in which the other side must answer a check, and start the channel. */
  answerMs: number
  /** Returns the time without a message after which the channel is checked. */
  idleMs: () => number
  sendPing: () => void
  onSilent: () => void
}

/**
 * `ChannelWatch` finds a channel whose other side does not answer. The first message must arrive within `answerMs`. Later,
 * a channel without a message for `idleMs` is checked with a ping, and the next message must arrive within `answerMs`.
 */
export class ChannelWatch {
  readonly channel: MessageChannel
  readonly #options: ChannelWatchOptions
  #receivedAt = performance.now()
  #waitsForAnswer = true
  #isStopped = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: ChannelWatchOptions) {
    this.channel = options.channel
    this.#options = options
    this.#schedule()
  }

  /** A message arrived. */
  received(): void {
    this.#receivedAt = performance.now()
    if (!this.#waitsForAnswer) return
    this.#waitsForAnswer = false
    this.reschedule()
  }

  /** Applies a changed `idleMs`. */
  reschedule(): void {
    if (this.#isStopped || this.#waitsForAnswer) return
    clearTimeout(this.#timer)
    this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    const { answerMs, idleMs } = this.#options
    const dueAt = this.#receivedAt + (this.#waitsForAnswer ? answerMs : idleMs())
    this.#timer = setTimeout(
      // Messages that arrived while the process was busy are read before the check.
      () => setImmediate(() => this.#check(dueAt)),
      Math.max(1, dueAt - performance.now()),
    )
    this.#timer.unref()
  }

  #check(dueAt: number): void {
    if (this.#isStopped) return
    const { answerMs, idleMs, sendPing, onSilent } = this.#options
    const currentDueAt = this.#receivedAt + (this.#waitsForAnswer ? answerMs : idleMs())
    if (currentDueAt <= dueAt) {
      if (this.#waitsForAnswer) {
        this.stop()
        onSilent()
        return
      }
      this.#waitsForAnswer = true
      this.#receivedAt = performance.now()
      sendPing()
    }
    this.#schedule()
  }
}
