import { randomBytes } from 'node:crypto'
import { link, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../start-error.ts'
import { masterKeyBytes } from './secrets.ts'

/** The master key: from the environment, else from a file in the home that is made at the first start. */
export async function masterKey({ home, given }: { home: string; given: string | undefined }): Promise<Buffer> {
  if (given !== undefined) return decoded(given, 'MILLWRIGHT_MASTER_KEY')
  const path = join(home, 'master.key')
  const existing = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new StartError(`The master key ${path} cannot be read (${error.code}): check its owner and mode.`)
  })
  return existing === undefined ? create(path) : decoded(existing.trim(), path)
}

/** Written whole or not at all, also when two processes start at once: the first one's key is the one. */
async function create(path: string): Promise<Buffer> {
  const key = randomBytes(masterKeyBytes)
  const draft = `${path}.${process.pid}.${key.readUInt32BE()}`
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(`${key.toString('base64')}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  try {
    await link(draft, path)
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return decoded((await readFile(path, 'utf8')).trim(), path)
  } finally {
    await rm(draft)
  }
}

function decoded(text: string, from: string): Buffer {
  const key = Buffer.from(text, 'base64')
  if (key.length !== masterKeyBytes || key.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) {
    throw new StartError(`The master key in ${from} is not ${masterKeyBytes} bytes in base64: put the right key back.`)
  }
  return key
}
