import { test } from 'node:test'
import { testHub } from './platform/testing/hub.ts'
import { askAll } from './platform/testing/visibility-model.ts'

/** The number of random requests. `npm run soak` sends 100,000. */
const questions = process.env.MILLWRIGHT_TEST_ARRANGEMENT === 'split' ? 200 : 2_000

test('returns exactly the readable data in every service, for random queries and access group changes', async () => {
  await using hub = await testHub()
  await askAll(hub, { questions, seed: 1 })
})
