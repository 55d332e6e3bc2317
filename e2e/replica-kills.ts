import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '@millwright/api/problem.ts'
import { type Caller, until } from './platform.ts'
import { Replicas } from './replicas.ts'

/**
 * This file writes assets through a load balancer while the processes of the platform are killed in turns. Each request has an
 * `Idempotency-Key` and is repeated until it has a response. In the end, each accepted write must be applied once, each asset must
 * have one event, and no response may have another status than the expected ones.
 */

export type KillOptions = {
  /** The number of processes, of kills, and of assets that are written. */
  processes: number
  kills: number
  assets: number
  log?: (line: string) => void
}

export type KillResult = { assets: number; repeated: number; longestMs: number; ms: number }

const writersAtOnce = 8
const eventsPerPage = 100
/** The time in which another process must apply the accepted writes of a killed process. */
const takeoverMs = 10_000

/** Runs the kills, and throws if a write or an event is lost or happens twice. */
export async function killReplicas({ processes, kills, assets, log = () => {} }: KillOptions): Promise<KillResult> {
  const startedAt = performance.now()
  await using replicas = await Replicas.start({ count: processes })
  const caller = await replicas.caller()
  const run = { replicas, caller, next: 0, repeated: 0, longestMs: 0 }
  let isWriting = true
  const writing = Promise.all(Array.from({ length: writersAtOnce }, () => writeAll(run, assets))).finally(() => {
    isWriting = false
  })
  for (let kill = 0; kill < kills; kill++) {
    const replica = replicas.at(kill % processes)
    const reached = Math.floor((assets * (kill + 1)) / (kills + 1))
    await until('the next kill is due', () => run.next >= reached || !isWriting)
    const from = performance.now()
    await replicas.kill(replica)
    await replicas.restart(replica)
    log(`kill ${kill + 1} of ${kills}: ${replica.name} was ready again after ${elapsed(from)} ms, ${run.next} writes`)
  }
  await writing
  const { longestMs, repeated } = run
  assert.ok(longestMs < takeoverMs, `a write took ${longestMs} ms`)
  const query = { filter: "startswith(name, 'kill ')", limit: 1 }
  assert.equal((await caller.inventory.listAssets({ query })).meta.totalElements, assets)
  const created = await createdAssets(caller, assets)
  assert.equal(new Set(created).size, assets, 'each asset has an event')
  assert.equal(created.length, assets, 'no asset has two events')
  return { assets, repeated, longestMs: Math.round(longestMs), ms: elapsed(startedAt) }
}

type Run = { replicas: Replicas; caller: Caller; next: number; repeated: number; longestMs: number }

/** Writes the next assets until all are written. Measures the time from the acceptance of a write to its end. */
async function writeAll(run: Run, assets: number): Promise<void> {
  while (run.next < assets) {
    const number = run.next++
    const asset = {
      functional_object_type: 'Device',
      name: `kill ${number}`,
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `kill-${number}` }],
    }
    const { data } = await repeated(run, () =>
      run.caller.inventory.createAsset({ headers: { 'idempotency-key': `kill-${number}` }, body: { data: { asset } } }),
    )
    const acceptedAt = performance.now()
    let state = 'queued'
    while (state === 'queued')
      ({ state } = (
        await repeated(run, () =>
          run.caller.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 10 } }),
        )
      ).data)
    assert.equal(state, 'finished')
    run.longestMs = Math.max(run.longestMs, performance.now() - acceptedAt)
  }
}

/** Repeats a request until a process has answered it. Throws if a process answers with an unexpected problem. */
async function repeated<Result>(run: Run, send: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await send()
    } catch (error) {
      const isLost = !(error instanceof Problem) || error.status >= 502
      if (!isLost && error.code !== 'request_in_progress') throw error
      run.repeated += 1
      await delay(50)
    }
  }
}

/** Returns the subjects of the events about new assets, when all of them are published. */
async function createdAssets(caller: Caller, count: number): Promise<string[]> {
  let subjects: string[] = []
  await until('the events of all assets are published', async () => {
    subjects = []
    for (let position = 0; ; ) {
      const { data, meta } = await caller.events.listEvents({ query: { after: position, limit: eventsPerPage } })
      for (const { type, subject, data: detail } of data)
        if (type.includes('inventory.asset.') && String(detail.name).startsWith('kill ')) subjects.push(subject)
      if (meta.lastPosition === position) break
      position = meta.lastPosition
    }
    return subjects.length >= count
  })
  return subjects
}

function elapsed(from: number): number {
  return Math.round(performance.now() - from)
}
