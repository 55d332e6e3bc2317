import { access, constants, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import type { CloudConfiguration } from '@millwright/cloud/settings.ts'
import { sized } from '../../output/text.ts'
import type { Check } from './checks.ts'

const neededNode = 24
const mebibyte = 1024 ** 2
const enoughDisk = 2048 * mebibyte
const leastDisk = 256 * mebibyte

export function checkNode(version = process.versions.node): Check {
  const major = Number.parseInt(version, 10)
  if (major >= neededNode) return { name: 'Node', outcome: 'ok', detail: version }
  return {
    name: 'Node',
    outcome: 'fail',
    detail: `${version}; ${neededNode} is needed`,
    next: 'npm ci brings it along',
  }
}

/** The folder of the data, what lies in it, and the room that is left. */
export async function checkHome({ home: given }: CloudConfiguration): Promise<Check[]> {
  const home = resolve(given)
  const found = await stat(home).catch(() => undefined)
  if (found === undefined) {
    return [{ name: 'Home', outcome: 'skip', detail: `${home} is not there: no platform was started on this machine` }]
  }
  const isWritable = await access(home, constants.W_OK).then(
    () => true,
    () => false,
  )
  const folder: Check = isWritable
    ? { name: 'Home', outcome: 'ok', detail: home }
    : { name: 'Home', outcome: 'fail', detail: `${home} cannot be written`, next: 'run it as the owner of the folder' }
  const files = ['master.key', 'first-run.json'].map((name) => checkMode(join(home, name), name))
  return [folder, await checkDisk(home), ...(await Promise.all(files)).flat()]
}

async function checkDisk(home: string): Promise<Check> {
  const { bavail, bsize } = await statfs(home)
  const free = bavail * bsize
  const detail = `${sized(free)} free at ${home}`
  if (free >= enoughDisk) return { name: 'Disk', outcome: 'ok', detail }
  const next = 'make room: without it the database stops'
  return { name: 'Disk', outcome: free >= leastDisk ? 'warn' : 'fail', detail, next }
}

async function checkMode(file: string, name: string): Promise<Check[]> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined) return []
  const mode = (found.mode & 0o777).toString(8)
  if ((found.mode & 0o077) === 0) return [{ name, outcome: 'ok', detail: `readable by its owner alone (${mode})` }]
  return [{ name, outcome: 'fail', detail: `others can read it (${mode})`, next: `chmod 600 ${file}` }]
}

/** Somebody listens where the platform listens: the platform itself, or somebody else. */
export async function checkPort({ host, port }: CloudConfiguration, isPlatformThere: boolean): Promise<Check> {
  const name = 'Port'
  if (port === 0) return { name, outcome: 'ok', detail: 'any free one (MILLWRIGHT_PORT=0)' }
  if (await isFree(host, port)) {
    if (!isPlatformThere) return { name, outcome: 'ok', detail: `${host}:${port} is free` }
    return { name, outcome: 'ok', detail: `${host}:${port} is free; the platform is reached elsewhere` }
  }
  if (isPlatformThere) return { name, outcome: 'ok', detail: `${host}:${port} is the platform's` }
  return {
    name,
    outcome: 'warn',
    detail: `${host}:${port} is taken by something that does not answer as a platform`,
    next: 'end it, or set MILLWRIGHT_PORT',
  }
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(true)))
  })
}
