import { test } from 'node:test'
import { testHub } from './platform/testing/hub.ts'
import { askAll } from './platform/testing/visibility-model.ts'

/** The number of random requests. `npm run soak` sends 100,000. */
const questions = process.env.MILLWRIGHT_TEST_ARRANGEMENT === 'split' ? 200 : 2_000

test('shows exactly what the caller can read in every service, for random queries and moves between access groups', async () => {
  await using hub = await testHub()
  await askAll(hub, { questions, seed: 1 })
})
