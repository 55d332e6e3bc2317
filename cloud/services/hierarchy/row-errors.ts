import { Problem } from '@millwright/api/problem.ts'

/** The maximum number of rows whose errors one response contains. */
const reportedRows = 10

/** `RowErrors` collects the first error of each invalid row of a request, for a limited number of rows. */
export class RowErrors {
  readonly #problems = new Map<number, Problem>()

  /** True if the other rows need not be checked. */
  get isFull(): boolean {
    return this.#problems.size >= reportedRows
  }

  has(order: number): boolean {
    return this.#problems.has(order)
  }

  /** Adds the error of a row. `order` is the index or the line of the row. */
  add(order: number, problem: Problem): void {
    if (!this.has(order)) this.#problems.set(order, problem)
  }

  /** Runs a check of a row. If it throws a problem, the problem is added, and the result is `otherwise`. */
  check<Result>(order: number, run: () => Result, otherwise: Result): Result {
    try {
      return run()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      this.add(order, error)
      return otherwise
    }
  }

  /** If there are errors, throws the one of the first row together with the others. */
  throwFirst(): void {
    const sorted = [...this.#problems].toSorted(([one], [other]) => one - other)
    const problems = sorted.slice(0, reportedRows).map(([, problem]) => problem)
    const [first] = problems
    if (first === undefined) return
    const errors = problems.flatMap((problem) => problem.errors ?? [])
    throw new Problem(first.code, first.message, { errors, cause: first })
  }
}
