/**
 * Returns the number of random cases of a slow test. `npm test` runs `count` cases. `npm run soak -- --scenarios` sets the
 * environment variable `MILLWRIGHT_TEST_FACTOR`, and runs this many times as many.
 */
export function randomCases(count: number): number {
  return count * Number(process.env.MILLWRIGHT_TEST_FACTOR ?? 1)
}
