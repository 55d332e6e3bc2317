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
