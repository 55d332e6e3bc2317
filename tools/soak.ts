import { parseArgs } from 'node:util'
import { testHub } from '@millwright/cloud/platform/testing/hub.ts'
import { ensureTemplate, startTestServer } from '@millwright/cloud/platform/testing/server.ts'
import { askAll } from '@millwright/cloud/platform/testing/visibility-model.ts'

/**
 * `npm run soak` compares the results of random reads with a simple model of visibility. `--questions` sets the number
 * of reads. `--seed` repeats the run with this seed. Each round has a new plant and uses the next seed.
 */

const questionsPerRound = 5_000

const { values } = parseArgs({
  options: {
    questions: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
  },
})
const questions = Number(values.questions)
const firstSeed = Number(values.seed)
if (!Number.isInteger(questions) || questions < 1 || !Number.isInteger(firstSeed)) {
  console.error('--questions and --seed must be whole numbers, for example: npm run soak -- --questions 5000 --seed 7')
  process.exit(1)
}

const server = await startTestServer()
await ensureTemplate(server.address)
process.env.MILLWRIGHT_TEST_SERVER = JSON.stringify(server.address)
try {
  for (let done = 0, seed = firstSeed; done < questions; done += questionsPerRound, seed++) {
    await using hub = await testHub()
    await askAll(hub, { questions: Math.min(questionsPerRound, questions - done), seed })
    console.log(
      `${Math.min(done + questionsPerRound, questions)} of ${questions} questions, seed ${seed}: equal to the model`,
    )
  }
} finally {
  await server.stop()
}
