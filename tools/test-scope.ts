import { createRequire } from 'node:module'

/**
 * This module replaces the method by which `node:test` finds the test that a piece of code belongs to. `node:test` uses
 * an async hook that runs for each promise of the process, which takes about a fifth of the processor time of the tests.
 * `AsyncLocalStorage` gives the same answer and needs no hook. The module must be loaded before `node:test`, because
 * `node:test` reads the exports of `node:async_hooks` only once. Afterwards, the exports are restored.
 */
const asyncHooks: typeof import('node:async_hooks') = createRequire(import.meta.url)('node:async_hooks')
const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = asyncHooks

const runningTest = new AsyncLocalStorage<number>()
let registerTest: ((asyncId: number, type: string, triggerAsyncId: number, test: object) => void) | undefined

/** `TestScope` is the base class of tests and suites. Their code runs with their id in `runningTest`. */
class TestScope extends AsyncResource {
  constructor(type: string, options?: ConstructorParameters<typeof AsyncResource>[1]) {
    super(type, options)
    registerTest?.(this.asyncId(), type, this.triggerAsyncId(), this)
  }

  override runInAsyncScope<This, Result>(
    work: (this: This, ...workArguments: never[]) => Result,
    thisArgument?: This,
    ...workArguments: never[]
  ): Result {
    const scoped = () => Reflect.apply(work, thisArgument, workArguments)
    return super.runInAsyncScope(() => runningTest.run(this.asyncId(), scoped))
  }
}

Object.assign(asyncHooks, {
  AsyncResource: TestScope,
  executionAsyncId: () => runningTest.getStore() ?? executionAsyncId(),
  createHook({ init }: Parameters<typeof createHook>[0]) {
    registerTest = init
    return createHook({})
  },
})
await import('node:test')
Object.assign(asyncHooks, { AsyncResource, executionAsyncId, createHook })
