import { access, constants, readFile, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { warnBeforeMs } from '@millwright/cloud/platform/tls/certificate-files.ts'
import { checkedPair, dayOf } from '@millwright/cloud/platform/tls/certificate-pair.ts'
import type { CloudConfiguration } from '@millwright/cloud/settings.ts'
import { formatBytes } from '../../output/text.ts'
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
    detail: `${version}; ${neededNode} is required`,
    next: 'npm ci installs it',
  }
}

/** Checks the home folder: permissions, file modes and free disk space. */
export async function checkHome({ home: configured }: CloudConfiguration): Promise<Check[]> {
  const home = resolve(configured)
  const entry = await stat(home).catch(() => undefined)
  if (entry === undefined) {
    return [
      { name: 'Home', outcome: 'skip', detail: `${home} does not exist: no platform was started on this machine` },
    ]
  }
  const isWritable = await access(home, constants.W_OK).then(
    () => true,
    () => false,
  )
  const folder: Check = isWritable
    ? { name: 'Home', outcome: 'ok', detail: home }
    : {
        name: 'Home',
        outcome: 'fail',
        detail: `${home} is not writable`,
        next: 'run the command as the owner of the folder',
      }
  const files = ['master.key', 'first-run.json'].map((name) => checkMode(join(home, name), name))
  return [folder, await checkDisk(home), ...(await Promise.all(files)).flat()]
}

/** Checks the files of the TLS certificate. */
export async function checkCertificate({ tlsCert, tlsKey }: CloudConfiguration): Promise<Check[]> {
  if (tlsCert === undefined || tlsKey === undefined) return []
  const name = 'TLS certificate'
  const now = Date.now()
  try {
    const [cert, key] = await Promise.all([readFile(tlsCert, 'utf8'), readFile(tlsKey, 'utf8')])
    const { validTo } = checkedPair({ cert, key, now }).certificate
    const detail = `valid until ${dayOf(validTo)}`
    if (Date.parse(validTo) - now > warnBeforeMs) return [{ name, outcome: 'ok', detail }]
    return [{ name, outcome: 'warn', detail, next: 'replace the files; the platform needs no restart' }]
  } catch (error) {
    const next = 'check MILLWRIGHT_TLS_CERT and MILLWRIGHT_TLS_KEY'
    return [{ name, outcome: 'fail', detail: (error as Error).message, next }]
  }
}

async function checkDisk(home: string): Promise<Check> {
  const { bavail, bsize } = await statfs(home)
  const free = bavail * bsize
  const detail = `${formatBytes(free)} free at ${home}`
  if (free >= enoughDisk) return { name: 'Disk', outcome: 'ok', detail }
  const next = 'free disk space: the database stops when the disk is full'
  return { name: 'Disk', outcome: free >= leastDisk ? 'warn' : 'fail', detail, next }
}

async function checkMode(file: string, name: string): Promise<Check[]> {
  const entry = await stat(file).catch(() => undefined)
  if (entry === undefined) return []
  const mode = (entry.mode & 0o777).toString(8)
  if ((entry.mode & 0o077) === 0) return [{ name, outcome: 'ok', detail: `readable only by its owner (${mode})` }]
  return [{ name, outcome: 'fail', detail: `readable by other users (${mode})`, next: `chmod 600 ${file}` }]
}

/** Checks whether the port of the platform is free, used by the platform, or used by another program. */
export async function checkPort({ host, port }: CloudConfiguration, isPlatformReachable: boolean): Promise<Check> {
  const name = 'Port'
  if (port === 0) return { name, outcome: 'ok', detail: 'any free port (MILLWRIGHT_PORT=0)' }
  if (await isFree(host, port)) {
    if (!isPlatformReachable) return { name, outcome: 'ok', detail: `${host}:${port} is free` }
    return { name, outcome: 'ok', detail: `${host}:${port} is free; the platform has another address` }
  }
  if (isPlatformReachable) return { name, outcome: 'ok', detail: `${host}:${port} is used by the platform` }
  return {
    name,
    outcome: 'warn',
    detail: `${host}:${port} is used by another program`,
    next: 'stop that program, or set MILLWRIGHT_PORT',
  }
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(true)))
  })
}
