import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../platform.ts'
import { postgresOf, postmasterOf } from '../program.ts'
import type { Replica } from '../replicas.ts'
import { fillDisk, resizeDisk, usedMiBOf } from '../small-disk.ts'
import type { EnduranceSite } from './site.ts'

/**
 * `Fault` is one kind of fault. `inject` returns when the cause of the fault is removed, for example when a killed process was
 * started again.
 */
export type Fault = { name: string; inject(): Promise<void> }

/** The time limit of each step of a fault. */
const stepMs = 120_000
/** The time for which a fault lasts that ends by a command. */
const pauseMs = 4_000
const slowMs = 8_000
const slowNetwork = { latencyMs: 120, bytesPerSecond: 256 * 1024 }
/** The free space of the disk when it starts to fill up. */
const freeMiB = 24

/** Returns all faults in the order of a cycle. `survivor` is the process that is not killed in a later cycle. */
export function faultsOf(site: EnduranceSite, options: { survivor: Replica | undefined }): Fault[] {
  const isKilled = (replica: Replica) => replica !== options.survivor
  const { replicas, network } = site
  const kills = site.platforms.filter(isKilled).map((replica) => ({
    name: 'kill of a platform process',
    inject: async () => {
      await replicas.kill(replica)
      await replicas.restart(replica)
    },
  }))
  const stops = site.platforms.slice(-1).map((replica) => ({
    name: 'pause of a platform process',
    inject: () => paused([replica.program.child.pid ?? 0]),
  }))
  const gateway = { name: 'kill of the gateway', inject: () => site.restartGateway() }
  return [
    ...kills,
    ...(options.survivor === undefined ? [gateway] : []),
    { name: 'kill of a link', inject: () => site.restartPlant() },
    ...stops,
    { name: 'kill of the database server', inject: () => killDatabase(site) },
    {
      name: 'stop of the database server',
      inject: async () => {
        await replicas.stopDatabase()
        await delay(pauseMs)
        await replicas.startDatabase()
      },
    },
    { name: 'pause of the database server', inject: () => paused(postgresOf(replicas.databaseHome)) },
    ...(site.hasDisk ? [{ name: 'full disk', inject: () => fullDisk(site) }] : []),
    {
      name: 'slow network',
      inject: async () => {
        network.setCondition(slowNetwork)
        try {
          await delay(slowMs)
          network.cut()
          await delay(slowMs)
        } finally {
          network.setCondition(undefined)
        }
      },
    },
    {
      name: 'loss of all connections',
      inject: async () => network.cut(),
    },
  ]
}

/** Pauses processes with SIGSTOP for a while. */
async function paused(pids: readonly number[]): Promise<void> {
  for (const pid of pids) signal(pid, 'SIGSTOP')
  await delay(pauseMs)
  for (const pid of pids) signal(pid, 'SIGCONT')
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // A process of a connection can end at any time.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function killDatabase({ replicas }: EnduranceSite): Promise<void> {
  const home = replicas.databaseHome
  const before = postmasterOf(home)
  process.kill(before, 'SIGKILL')
  await until('a new database server runs', () => ![0, before].includes(postmasterOf(home)), stepMs)
}

/** Fills the disk of the database until a process of the platform is not ready, and then deletes the file. */
async function fullDisk({ replicas, platforms, diskMiB }: EnduranceSite): Promise<void> {
  const home = replicas.databaseHome
  const file = join(home, 'ballast')
  const usedMiB = usedMiBOf(home)
  if (!resizeDisk(home, usedMiB + freeMiB)) throw new Error(`The disk with ${usedMiB} MiB cannot be resized`)
  try {
    const isRefused = async () => {
      fillDisk(file)
      const status = platforms.map(async ({ url }) => (await fetch(`${url}/readyz`)).status)
      return (await Promise.all(status)).includes(503)
    }
    await until('writes are refused', isRefused, stepMs)
    await delay(pauseMs)
  } finally {
    rmSync(file, { force: true })
    resizeDisk(home, diskMiB)
  }
}
