import { setTimeout as delay } from 'node:timers/promises'

/**
 * `npm run soak -- --long` runs the long tests. It sets the environment variable `MILLWRIGHT_TEST_FACTOR`.
 */
export const isLongRun = process.env.MILLWRIGHT_TEST_FACTOR !== undefined

/** Returns the number of random cases of a slow test: `count`, or in a run of the long tests this many times as many. */
export function randomCases(count: number): number {
  return count * Number(process.env.MILLWRIGHT_TEST_FACTOR ?? 1)
}

/** The options of a test that takes too long for `npm test`, for example because it transfers a large content. */
export const onlyInLongRuns = isLongRun ? {} : { skip: 'takes long: npm run soak -- --long runs it' }

/**
 * Returns a function that waits before a condition is checked again. Each pause is longer than the one before, up to a
 * fifth of a second, so that a test that waits for long needs little processor time.
 */
export function growingPause(): () => Promise<void> {
  let ms = 5
  return async () => {
    await delay(ms)
    ms = Math.min(ms * 1.5, 200)
  }
}
