/**
 * This file counts the outcomes of requests and rounds, and decides whether a failure was injected. A failure is injected if a
 * fault was active between the start of the request and its failure, or ended less than `recoveryMs` before the start. Every
 * other failure is unexpected, and fails the run.
 */

/** The time after a fault in which requests can still fail: a load balancer and leases notice the end of a process late. */
const recoveryMs = 15_000
const storedMessages = 100
const messageCharacters = 600

export type OutcomeCounts = { requests: number; injected: number; unexpected: number }

export class Outcomes {
  readonly counts = new Map<string, OutcomeCounts>()
  /** The first unexpected errors. */
  readonly messages: string[] = []
  readonly #log: (line: string) => void
  #unexpected = 0
  #isFaultActive = false
  #faultEndedAt = Number.NEGATIVE_INFINITY

  constructor(log: (line: string) => void) {
    this.#log = log
  }

  get unexpected(): number {
    return this.#unexpected
  }

  beginFault(): void {
    this.#isFaultActive = true
  }

  endFault(): void {
    this.#isFaultActive = false
    this.#faultEndedAt = performance.now()
  }

  /** Returns whether a fault can be the cause of a failure of work that started at this time. */
  isInjected(startedAt: number): boolean {
    return this.#isFaultActive || startedAt < this.#faultEndedAt + recoveryMs
  }

  completed(kind: string): void {
    this.#of(kind).requests += 1
  }

  /** Counts a failure of work that a fault can cause. */
  failed(kind: string, startedAt: number, error: unknown): void {
    if (this.isInjected(startedAt)) this.#of(kind).injected += 1
    else this.unexpectedError(kind, error)
  }

  /** Counts an error that no fault may cause, such as lost data. */
  unexpectedError(kind: string, error: unknown): void {
    this.#of(kind).unexpected += 1
    this.#unexpected += 1
    const text = `${kind}: ${describe(error)}`
    this.#log(`UNEXPECTED ${text}`)
    if (this.messages.length < storedMessages) this.messages.push(text)
  }

  #of(kind: string): OutcomeCounts {
    const counts = this.counts.get(kind) ?? { requests: 0, injected: 0, unexpected: 0 }
    this.counts.set(kind, counts)
    return counts
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, messageCharacters)
  const { code, status } = error as { code?: string; status?: number }
  const details = [code, status].filter((detail) => detail !== undefined).join(' ')
  const cause = error.cause === undefined ? '' : ` (${describe(error.cause)})`
  return `${error.name} ${details}: ${error.message}${cause}`.slice(0, messageCharacters)
}
