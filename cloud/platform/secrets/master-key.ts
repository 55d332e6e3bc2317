import { randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
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
  try {
    await writeFile(draft, `${key.toString('base64')}\n`, { flag: 'wx', mode: 0o600, flush: true })
    await link(draft, path)
    return key
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return decoded((await readFile(path, 'utf8')).trim(), path)
    throw new StartError(
      `The master key ${path} cannot be written (${code}): check the owner of its folder and the space there, or set MILLWRIGHT_HOME to another.`,
    )
  } finally {
    await rm(draft, { force: true })
  }
}

function decoded(text: string, from: string): Buffer {
  const key = Buffer.from(text, 'base64')
  if (key.length !== masterKeyBytes || key.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) {
    throw new StartError(`The master key in ${from} is not ${masterKeyBytes} bytes in base64: put the right key back.`)
  }
  return key
}
