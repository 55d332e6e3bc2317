import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from './program.ts'
import { type Replica, Replicas } from './replicas.ts'
import { UpgradeLoad } from './upgrade-load.ts'

/**
 * This file upgrades a platform from a release to this version, one process at a time, under load. Two processes of the release
 * run first. The first process of this version migrates the tables. Then one process of each version is killed and started
 * again, the processes of the release stop, and only this version runs. Each request goes to the next process, so that both
 * versions read the writes of each other. No request may fail, except while a process is killed.
 */

export type UpgradeOptions = {
  /** The folder of the installed release. */
  release: string
  /** The time of the load in each step. */
  stepMs: number
  log?: (line: string) => void
}

export type UpgradeResult = { counts: Record<string, number>; ms: number }

/** Versions without this file refuse the tables of a newer version, so their processes do not start again. */
const releasesFile = 'releases.json'

/** The time between the removal of a process from the load balancer and its end, in which it finishes its requests. */
const drainMs = 5_000

/** The settings of the processes. The webhooks of the load have a receiver on this machine. */
const loadedEnvironment = { MILLWRIGHT_OUTBOUND_ALLOW: '127.0.0.1', MILLWRIGHT_LOG_LEVEL: 'warn' }

export async function upgradeUnderLoad({ release, stepMs, ...options }: UpgradeOptions): Promise<UpgradeResult> {
  const startedAt = performance.now()
  const log = (line: string) => options.log?.(`${Math.round((performance.now() - startedAt) / 1000)} s: ${line}`)
  await using site = await Replicas.open({ environment: loadedEnvironment, settings: {} })
  const [first, second] = [await site.add('old-1', release), await site.add('old-2', release)]
  site.balance([first, second])
  await using load = await UpgradeLoad.start(site, { gatewayCheckout: release })
  const step = async (line: string) => {
    log(line)
    await Promise.race([delay(stepMs), load.failed])
  }
  await step('two processes of the release run')

  const next = await site.add('new-1', root)
  site.balance([first, second, next])
  await step('a process of this version has migrated the tables')

  const old = [first, ...(await restartOld(site, { second, load, log }))]
  site.balance([...old, next])
  if (hasNewMigrations(release)) await refuseCommand(site, release)
  await step(`${old.length} of 2 processes of the release run`)

  load.expectOutage()
  await site.kill(next)
  const again = await site.add('new-2', root)
  site.balance([...old, again])
  await step('a process of this version was killed, and another one was started')

  const last = await site.add('new-3', root)
  for (const replica of old) {
    site.balance([...old.slice(old.indexOf(replica) + 1), again, last])
    await delay(drainMs)
    await site.stop(replica)
    log(`${replica.name} has stopped`)
  }
  await step('only this version runs')
  const counts = await load.finish([again, last])
  assert.deepEqual(site.errors(), [])
  return { counts, ms: performance.now() - startedAt }
}

type RestartOptions = { second: Replica; load: UpgradeLoad; log: (line: string) => void }

/** Kills a process of the release and starts it again on the tables of this version. Returns the new process. */
async function restartOld(site: Replicas, { second, load, log }: RestartOptions): Promise<Replica[]> {
  load.expectOutage()
  await site.kill(second)
  const start = site.add('old-3', second.checkout)
  if (existsSync(join(second.checkout, releasesFile)) || !hasNewMigrations(second.checkout)) return [await start]
  await assert.rejects(start, /migrated by a newer version/)
  log('a process of the release refused to start again, because the release does not have this function')
  return []
}

function hasNewMigrations(checkout: string): boolean {
  const [before, now] = [checkout, root].map((folder) =>
    readFileSync(join(folder, 'cloud/migrations.lock.json'), 'utf8'),
  )
  return before !== now
}

/** Checks that a command of the release does not change the tables of this version. */
async function refuseCommand(site: Replicas, checkout: string): Promise<void> {
  const { code, stderr } = await site.run(['tenants', 'list'], checkout)
  assert.deepEqual([code, /migrated by a newer version/.test(stderr)], [1, true], stderr)
}
