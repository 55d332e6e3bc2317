import { createContext, Script } from 'node:vm'

/**
 * The global object of a script that limits the time of synchronous work. The engine can interrupt only a script that
 * it runs with a time limit, so this script calls the work. The script is not a sandbox, because the work is code of
 * the product.
 */
const call: { work: (() => unknown) | undefined } = { work: undefined }
const context = createContext(call)
const script = new Script('work()')

export class TookTooLong extends Error {}

export type TimeLimit = {
  milliseconds: number
  /**
   * On a busy machine the work is repeated with a longer limit, up to `patience` times the limit. 1 means that it is
   * not repeated.
   */
  patience: number
}

/**
 * Returns the result of the work. Throws `TookTooLong` if the work exceeds the time limit or the stack. If `patience`
 * is larger than 1, only the processor time of this thread counts, and the work may run more than once.
 */
export function within<Result>({ milliseconds, patience }: TimeLimit, work: () => Result): Result {
  call.work = work
  try {
    for (let limit = milliseconds; ; limit *= 2) {
      const before = process.threadCpuUsage()
      try {
        return script.runInContext(context, { timeout: limit }) as Result
      } catch (error) {
        const { user, system } = process.threadCpuUsage(before)
        const isBusy = (user + system) / 1000 < milliseconds / 2 && limit < milliseconds * patience
        if (isTimeout(error) && isBusy) continue
        if (isTimeout(error) || error instanceof RangeError)
          throw new TookTooLong(`took more than ${milliseconds} ms`, { cause: error })
        throw error
      }
    }
  } finally {
    call.work = undefined
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
