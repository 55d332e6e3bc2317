import { parseArgs } from 'node:util'
import { testHub } from '@millwright/cloud/platform/testing/hub.ts'
import { ensureTemplate, startTestServer } from '@millwright/cloud/platform/testing/server.ts'
import { askAll } from '@millwright/cloud/platform/testing/visibility-model.ts'
import { endure } from '@millwright/e2e/endurance/endurance.ts'
import { enduranceReport } from '@millwright/e2e/endurance/report.ts'
import { temporaryFolder } from '@millwright/e2e/platform.ts'
import { installRelease } from '@millwright/e2e/release.ts'
import { killReplicas } from '@millwright/e2e/replica-kills.ts'
import { upgradeUnderLoad } from '@millwright/e2e/rolling-upgrade.ts'
import { updateFleet } from '@millwright/e2e/update-fleet.ts'
import { deliverEvents } from '@millwright/e2e/webhook-delivery.ts'
import { run } from './checks.ts'
import { readReleases } from './releases.ts'

/**
 * `npm run soak` compares the results of random reads with a simple model of visibility. `--questions` sets the number of
 * reads. `--seed` repeats the run with this seed. Each round has a new plant and uses the next seed.
 *
 * `npm run soak -- --updates 1000` updates this number of simulated devices, 5 % of them with faults, while the gateway and the
 * platform are killed, and compares the result with each device.
 *
 * `npm run soak -- --webhooks` delivers 100,000 events, or the number that follows, while the platform and the receiver are killed 20 times,
 * and compares the log of the receiver with the events. `--kills` sets the number of kills.
 *
 * `npm run soak -- --upgrade` installs the last release of `releases.json` into a temporary folder, and upgrades its processes to this
 * version, one at a time, under load. `--seconds` sets the time of each step. `--from` names another commit.
 *
 * `npm run soak -- --processes` writes 20,000 assets, or the number that follows, through a load balancer to three processes, which are
 * killed in turns. Each write must be applied once, within ten seconds. `--kills` sets the number of kills.
 *
 * `npm run soak -- --minutes 60` runs two processes of the platform, a gateway and a link under mixed load for this time, while processes
 * are killed, the database stops, the disk is full and the network is slow. In the end, the stored data must equal the
 * acknowledged requests. `--seed` sets the order of the faults. A full disk needs root permissions.
 *
 * `npm run soak -- --long` runs the tests whose names end with `.long.test.ts`, and the random tests with ten times as many
 * cases. `--kills` sets the number of kills, and a part of a file name selects some of the files.
 */

const questionsPerRound = 5_000
/** The events of a run with `--webhooks` change this number of assets. One of `failEvery` requests fails. */
const webhookRun = { assets: 500, failEvery: 200 }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    questions: { type: 'string', default: '100000' },
    minutes: { type: 'string' },
    updates: { type: 'string' },
    webhooks: { type: 'boolean', default: false },
    processes: { type: 'boolean', default: false },
    upgrade: { type: 'boolean', default: false },
    from: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    long: { type: 'boolean', default: false },
    kills: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
  },
})
const questions = Number(values.questions)
const firstSeed = Number(values.seed)
if (!Number.isInteger(questions) || questions < 1 || !Number.isInteger(firstSeed)) {
  console.error('--questions and --seed must be whole numbers, for example: npm run soak -- --questions 5000 --seed 7')
  process.exit(1)
}

if (values.long) {
  const kills = values.kills ?? process.env.MILLWRIGHT_CRASHES ?? '3'
  const isPassed = await run(process.execPath, ['tools/test.mjs', '--long', ...positionals], {
    MILLWRIGHT_CRASHES: kills,
    MILLWRIGHT_TEST_FACTOR: process.env.MILLWRIGHT_TEST_FACTOR ?? '10',
  })
  process.exit(isPassed ? 0 : 1)
}

if (values.minutes !== undefined) {
  const minutes = Number(values.minutes)
  if (!Number.isInteger(minutes) || minutes < 1) {
    console.error('--minutes must be a whole number of at least 1, for example: npm run soak -- --minutes 60')
    process.exit(1)
  }
  const result = await endure({ minutes, seed: firstSeed, log: console.log })
  for (const line of enduranceReport(result)) console.log(line)
  console.log(`seed ${firstSeed}: ${result.unexpected} unexpected errors`)
  process.exit(result.unexpected === 0 ? 0 : 1)
}

if (values.updates !== undefined) {
  const devices = Number(values.updates)
  if (!Number.isInteger(devices) || devices < 50) {
    console.error('--updates must be a whole number of at least 50, for example: npm run soak -- --updates 1000')
    process.exit(1)
  }
  using folder = temporaryFolder('soak')
  const kills = Math.ceil(devices / 100)
  const options = { home: folder.path, devices, faultPercent: 5, seed: firstSeed % 65_536, kills }
  const { states, activations, ms } = await updateFleet({ ...options, log: console.log })
  console.log(
    `${devices} devices, seed ${options.seed}, ${kills} kills, ${Math.round(ms / 1000)} s: ${JSON.stringify(states)}, ${activations} activations, each state is true`,
  )
  process.exit(0)
}

if (values.webhooks) {
  const events = Number(positionals[0] ?? 100_000)
  const kills = Number(values.kills ?? 20)
  if (!Number.isInteger(events) || events < 1_000 || !Number.isInteger(kills)) {
    console.error(
      'Events and kills must be whole numbers, with at least 1000 events: npm run soak -- --webhooks 100000',
    )
    process.exit(1)
  }
  using folder = temporaryFolder('soak')
  const options = { home: folder.path, events, kills, ...webhookRun }
  const { duplicates, ms } = await deliverEvents({ ...options, log: console.log })
  console.log(
    `${events} events, ${kills} kills, ${Math.round(ms / 1000)} s: none is lost, each asset is in order, duplicates with the same id: ${JSON.stringify(duplicates)}`,
  )
  process.exit(0)
}

if (values.upgrade) {
  const seconds = Number(values.seconds)
  const release = readReleases().at(-1)
  const commit = values.from ?? release?.commit
  if (commit === undefined || !Number.isInteger(seconds) || seconds < 1) {
    console.error('--seconds must be a whole number of at least 1, for example: npm run soak -- --upgrade --seconds 60')
    process.exit(1)
  }
  const name = values.from ?? release?.version
  using folder = temporaryFolder('release')
  console.log(`installing ${name} (about two minutes)`)
  installRelease({ commit, folder: folder.path })
  const { counts, ms } = await upgradeUnderLoad({ release: folder.path, stepMs: seconds * 1_000, log: console.log })
  console.log(
    `upgrade from ${name}, ${Math.round(ms / 1000)} s: no request failed and nothing is lost: ${JSON.stringify(counts)}`,
  )
  process.exit(0)
}

if (values.processes) {
  const assets = Number(positionals[0] ?? 20_000)
  const kills = Number(values.kills ?? 20)
  if (!Number.isInteger(assets) || assets < 100 || !Number.isInteger(kills)) {
    console.error('Assets and kills must be whole numbers, with at least 100 assets: npm run soak -- --processes 20000')
    process.exit(1)
  }
  const { repeated, longestMs, ms } = await killReplicas({ processes: 3, kills, assets, log: console.log })
  console.log(
    `${assets} assets, ${kills} kills, ${Math.round(ms / 1000)} s: each is written once, ${repeated} requests were repeated, the longest write took ${longestMs} ms`,
  )
  process.exit(0)
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
