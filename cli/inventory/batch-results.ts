import { CommandError, explained } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'
import { isRefusal, type Result, refusalOf } from './write-status.ts'

/** What became of many things that were sent batch by batch: told while it goes on, and in the end. */
export class Tally {
  readonly #session: Session
  readonly #noun: string
  readonly #counts: Record<string, number> = {}
  readonly #faults: string[] = []
  #done = 0

  constructor(session: Session, noun: string) {
    this.#session = session
    this.#noun = noun
  }

  /** The results of a batch, in the order in which its things were given. */
  async add(results: readonly Result[]): Promise<void> {
    const { terminal, output } = this.#session
    for (const result of results) {
      this.#done += 1
      const outcome = isRefusal(result) ? 'failed' : (result.outcome ?? 'done')
      this.#counts[outcome] = (this.#counts[outcome] ?? 0) + 1
      if (isRefusal(result)) this.#faults.push(`${this.#done}: ${explained(refusalOf(result))}`)
      if (output.format === 'ndjson') await terminal.print(JSON.stringify(result))
    }
    terminal.progress(`${this.#done} ${this.#noun}`)
  }

  /** Says which ones failed, and ends with a code that says so. */
  async finish(): Promise<void> {
    const { terminal, output } = this.#session
    for (const fault of this.#faults) terminal.tell(fault)
    const said = Object.entries(this.#counts).map(([outcome, count]) => `${count} ${outcome}`)
    if (output.format !== 'ndjson') await output.done(said.join(', ') || 'There was none.', { data: this.#counts })
    if (this.#faults.length > 0) throw new CommandError(`${this.#faults.length} of ${this.#done} failed.`)
  }
}
