import { createHook } from 'node:async_hooks'

/**
 * Node assigns tests to the test or the file that contains them with a hook that tracks every promise. The hook takes
 * about a tenth of the processor time of all tests, and keeps memory. Promises are needed only while a file is loaded:
 * tests inside tests use the context of their test. `trackPromises` turns this tracking on and off. Without it, an
 * uncaught error has no test.
 */

type Hook = ReturnType<typeof createHook>

const prototype: Hook = Object.getPrototypeOf(createHook({}))
const untracked = Object.getOwnPropertySymbols(createHook({})).find(
  ({ description }) => description === 'kNoPromiseHook',
)
const { enable } = prototype

/** The hook of the test runner. It is the first hook of this process. */
let hookOfRunner: Hook | undefined

prototype.enable = function (this: Hook) {
  hookOfRunner = this
  prototype.enable = enable
  return enable.call(this)
}

export function trackPromises(isTracked: boolean): void {
  // Another version of Node can have no such option. All promises are then tracked.
  if (hookOfRunner === undefined || untracked === undefined) return
  hookOfRunner.disable()
  Object.assign(hookOfRunner, { [untracked]: !isTracked })
  hookOfRunner.enable()
}
