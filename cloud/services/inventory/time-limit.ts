import { createContext, Script } from 'node:vm'

/**
 * Nothing but the engine can interrupt a function that does not come back, and only a script that it runs with a time
 * limit. So the work is called by such a script; it still is our own code with our own objects, no sandbox.
 */
const call: { work: (() => unknown) | undefined } = { work: undefined }
const context = createContext(call)
const script = new Script('work()')

export class TookTooLong extends Error {}

/** The result of the work, or `TookTooLong` when it takes more time than this, or more stack than there is. */
export function within<Result>(milliseconds: number, work: () => Result): Result {
  call.work = work
  try {
    return script.runInContext(context, { timeout: milliseconds }) as Result
  } catch (error) {
    if (error instanceof RangeError || (error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
      throw new TookTooLong(`took more than ${milliseconds} ms`, { cause: error })
    }
    throw error
  } finally {
    call.work = undefined
  }
}
