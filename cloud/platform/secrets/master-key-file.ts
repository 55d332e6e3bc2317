import { randomBytes } from 'node:crypto'
import { chown, link, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartError } from '../start-error.ts'
import { keyBytes, wipe } from './cipher.ts'

/**
 * Reads the keys of a file. Each line is one key in base64, newest first. Returns an empty list if there is no file.
 */
export async function readKeyFile(path: string): Promise<Buffer[]> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new StartError(`The master key ${path} cannot be read (${error.code}): check its owner and mode.`)
  })
  if (bytes === undefined) return []
  const lines = bytes.toString('latin1').split('\n')
  wipe(bytes)
  const keys = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  if (keys.length === 0) throw new StartError(`The master key in ${path} is empty: restore the correct key.`)
  return keys.map((line) => decodedKey(line, path))
}

/**
 * Creates the file with its first key. If several processes start at the same time, all use the key of the first
 * process.
 */
export async function createKeyFile(path: string): Promise<void> {
  const key = randomBytes(keyBytes)
  const draft = draftOf(path)
  try {
    await writeDraft(draft, [key])
    await link(draft, path)
    await flushFolder(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(path, error)
  } finally {
    wipe(key)
    await rm(draft, { force: true })
  }
}

/** Replaces the keys of the file atomically. */
export async function replaceKeyFile(path: string, keys: readonly Buffer[]): Promise<void> {
  const draft = draftOf(path)
  try {
    await writeDraft(draft, keys)
    await keepOwner(path, draft)
    await rename(draft, path)
    await flushFolder(path)
  } catch (error) {
    await rm(draft, { force: true })
    throw cannotWrite(path, error)
  }
}

export function decodedKey(text: string, from: string): Buffer {
  const key = Buffer.from(text, 'base64')
  if (key.length !== keyBytes || key.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) {
    throw new StartError(`The master key in ${from} is not ${keyBytes} bytes in base64: restore the correct key.`)
  }
  return key
}

function draftOf(path: string): string {
  return `${path}.${process.pid}.${randomBytes(4).readUInt32BE()}`
}

async function writeDraft(draft: string, keys: readonly Buffer[]): Promise<void> {
  const text = Buffer.from(keys.map((key) => `${key.toString('base64')}\n`).join(''))
  await writeFile(draft, text, { flag: 'wx', mode: 0o600, flush: true })
  wipe(text)
}

/**
 * Keeps the owner of the file. After a rotation as root, the user of the platform must still be able to read the file.
 */
async function keepOwner(path: string, draft: string): Promise<void> {
  const [before, now] = [await stat(path), await stat(draft)]
  if (before.uid !== now.uid || before.gid !== now.gid) await chown(draft, before.uid, before.gid)
}

/** Flushes a folder to disk. A new file name survives a crash only after this flush. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function cannotWrite(path: string, error: unknown): StartError {
  const { code } = error as NodeJS.ErrnoException
  return new StartError(
    `The master key ${path} cannot be written (${code}): check the owner of its folder and the free disk space, or set MILLWRIGHT_HOME to another folder.`,
  )
}
