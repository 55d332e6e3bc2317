import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  bearer,
  type Caller,
  callerOf,
  databaseEnded,
  type Platform,
  startPlatform,
  temporaryFolder,
  until,
} from './platform.ts'
import { postgresOf, postmasterOf } from './program.ts'
import { fillDisk, mountDisk, unmountDisk } from './small-disk.ts'

/** The number of times that the test kills the database server. A soak run uses more. */
const kills = Number(process.env.MILLWRIGHT_DATABASE_KILLS ?? 2)
const writers = 4
const diskMiB = 400
const readyLimitMs = 1_000

describe('the platform with its embedded database', () => {
  const folder = temporaryFolder()
  /** True when the test can mount a separate small disk. */
  const hasSmallDisk = mountDisk(folder.path, diskMiB)
  let platform: Platform
  let caller: Caller

  before(async () => {
    platform = await startPlatform({ home: folder.path })
    caller = await callerOf(platform)
  })

  after(async () => {
    await platform[Symbol.asyncDispose]()
    await databaseEnded(folder.path)
    if (hasSmallDisk) unmountDisk(folder.path)
    folder[Symbol.dispose]()
  })

  test(`the platform continues without a restart when the database is killed ${kills} times during writes`, async () => {
    await using events = await openEvents(platform, caller)
    for (let round = 1; round <= kills; round++) {
      await using storm = startStorm(caller, `kill-${round}`)
      await until('writes are accepted', () => storm.accepted.size >= 20)
      const before = postmasterOf(folder.path)
      process.kill(before, 'SIGKILL')
      await until('a new server runs', () => postmasterOf(folder.path) !== before)
      await untilReady(platform)
      const count = storm.accepted.size
      await until('writes are accepted again', () => storm.accepted.size >= count + 5)
      await storm.stop()
      await requireApplied(caller, storm.accepted)
    }
    const { data } = await caller.authorization.createAccessGroup({ body: { data: { name: 'after the restarts' } } })
    await until('the event stream that was open before continues', () => events.text().includes(data.id))
    assert.equal(platform.program.child.exitCode, null)
  })

  test('the platform responds to /readyz within a second while the database is stopped, and recovers afterwards', async () => {
    const stopped = postgresOf(folder.path)
    for (const pid of stopped) process.kill(pid, 'SIGSTOP')
    try {
      await until('it is not ready', async () => (await readiness(platform)).status === 503)
      // A busy machine delays every response. The fastest response shows whether the limit works.
      let fastestMs = Number.POSITIVE_INFINITY
      for (let round = 0; round < 30 && fastestMs >= readyLimitMs; round += 1) {
        const answers = await Promise.all(Array.from({ length: 5 }, () => readiness(platform)))
        for (const { status, body } of answers) {
          assert.equal(status, 503)
          assert.match(body.reason ?? '', /^The database is not (responding|reachable)$/)
        }
        fastestMs = Math.min(fastestMs, ...answers.map(({ ms }) => ms))
      }
      assert.ok(fastestMs < readyLimitMs, `${fastestMs} ms`)
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT')
    }
    await untilReady(platform)
    await requireApplied(caller, new Set([await write(caller, 'after-SIGCONT')]))
  })

  test('the platform keeps running after SIGHUP', async () => {
    platform.program.child.kill('SIGHUP')
    await until('it reports that it ignores the signal', () => platform.program.stderr().includes('SIGHUP is ignored'))
    assert.equal((await fetch(`${platform.baseUrl}/healthz`)).status, 200)
    assert.equal(platform.program.child.exitCode, null)
  })

  const noDisk = hasSmallDisk ? false : 'mounting a small disk needs root permissions'
  test('the platform loses no accepted write when the disk is full, and continues when space is available', {
    skip: noDisk,
  }, async () => {
    await using storm = startStorm(caller, 'full-disk')
    await until('writes are accepted', () => storm.accepted.size >= 20)
    const filler = join(folder.path, 'filler')
    fillDisk(filler)
    await until('writes are refused', () => {
      fillDisk(filler)
      return storm.refused() > 0
    })
    await until('it is not ready', async () => {
      fillDisk(filler)
      const { status, body } = await readiness(platform)
      return status === 503 && body.reason !== undefined
    })
    rmSync(filler)
    await untilReady(platform)
    const count = storm.accepted.size
    await until('writes are accepted again', () => storm.accepted.size >= count + 5)
    await storm.stop()
    await requireApplied(caller, storm.accepted)
    assert.equal(platform.program.child.exitCode, null)
  })
})

type Readiness = { status: number; body: { status?: string; reason?: string }; ms: number }

async function readiness({ baseUrl }: Platform): Promise<Readiness> {
  const startedAt = performance.now()
  const response = await fetch(`${baseUrl}/readyz`)
  const body = (await response.json()) as Readiness['body']
  return { status: response.status, body, ms: performance.now() - startedAt }
}

async function untilReady(platform: Platform): Promise<void> {
  await until('it is ready', async () => (await readiness(platform)).status === 200)
}

async function write(caller: Caller, name: string): Promise<string> {
  const asset_identifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }]
  const asset = { functional_object_type: 'Asset', name, asset_identifiers }
  return (await caller.inventory.createAsset({ body: { data: { asset } } })).data.statusId
}

/**
 * Starts writers that send one write after the other until they are stopped. Refusals with 503 are counted. Other
 * refusals fail the test.
 */
function startStorm(caller: Caller, name: string) {
  const accepted = new Set<string>()
  const stopping = new AbortController()
  let refused = 0
  const run = async (writer: number) => {
    for (let count = 0; !stopping.signal.aborted; count++) {
      try {
        accepted.add(await write(caller, `${name}-${writer}-${count}`))
      } catch (error) {
        assert.equal((error as { status?: number }).status, 503, String(error))
        refused++
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
  const running = Promise.all(Array.from({ length: writers }, (_, writer) => run(writer)))
  running.catch(() => stopping.abort())
  const stop = async () => {
    stopping.abort()
    await running
  }
  return {
    accepted,
    refused: () => refused,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function requireApplied(caller: Caller, accepted: ReadonlySet<string>): Promise<void> {
  for (const id of accepted) {
    let state = 'queued'
    await until('accepted writes are applied', async () => {
      // A read may still be refused shortly after an outage.
      const read = await caller.inventory.readStatus({ params: { id }, query: { wait: 30 } }).catch(unless503)
      state = read?.data.state ?? state
      return state !== 'queued'
    })
    assert.equal(state, 'finished')
  }
}

function unless503(error: unknown): undefined {
  if ((error as { status?: number }).status !== 503) throw error
}

async function openEvents({ baseUrl }: Platform, { token }: Caller) {
  const stopping = new AbortController()
  const response = await fetch(`${baseUrl}/events/v1/stream`, {
    headers: { ...bearer(token), accept: 'text/event-stream' },
    signal: stopping.signal,
  })
  assert.equal(response.status, 200)
  let text = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true })
  })().catch(() => {})
  return {
    text: () => text,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await reading
    },
  }
}
