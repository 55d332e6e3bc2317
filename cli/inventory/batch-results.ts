import { CommandError, errorText } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'
import { isFailure, problemOfResult, type Result } from './write-status.ts'

/** `BatchResults` counts the results of items that are sent in batches, and reports progress and failures. */
export class BatchResults {
  readonly #session: Session
  readonly #noun: string
  readonly #counts: Record<string, number> = {}
  readonly #failures: string[] = []
  #done = 0

  constructor(session: Session, noun: string) {
    this.#session = session
    this.#noun = noun
  }

  /** Adds the results of a batch, in the order of its items. */
  async add(results: readonly Result[]): Promise<void> {
    const { terminal, output } = this.#session
    for (const result of results) {
      this.#done += 1
      const outcome = isFailure(result) ? 'failed' : (result.outcome ?? 'done')
      this.#counts[outcome] = (this.#counts[outcome] ?? 0) + 1
      if (isFailure(result)) this.#failures.push(`${this.#done}: ${errorText(problemOfResult(result))}`)
      if (output.format === 'ndjson') await terminal.print(JSON.stringify(result))
    }
    terminal.progress(`${this.#done} ${this.#noun}`)
  }

  /** Prints the failed items and the counts. Throws if an item failed, so that the exit code shows the failure. */
  async finish(): Promise<void> {
    const { terminal, output } = this.#session
    for (const failure of this.#failures) terminal.note(failure)
    const counts = Object.entries(this.#counts).map(([outcome, count]) => `${count} ${outcome}`)
    if (output.format !== 'ndjson') await output.done(counts.join(', ') || 'No items.', { data: this.#counts })
    if (this.#failures.length > 0) throw new CommandError(`${this.#failures.length} of ${this.#done} failed.`)
  }
}
