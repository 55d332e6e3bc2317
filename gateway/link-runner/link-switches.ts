import { unwatchFile, watchFile } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pause } from '@millwright/api/back-off.ts'
import { readIfExists, writeDurably } from '../durable-file.ts'

/**
 * The file `links.json` in the home of a gateway stores which links a user enabled or disabled. Links that are not in the
 * file keep the state of the setting. The command line and the gateway write the file, and a running gateway watches it.
 */

export type LinkSwitches = ReadonlyMap<string, boolean>

/** The interval in which a running gateway checks the file. */
const checkEveryMs = 500

function switchesFile(home: string): string {
  return join(home, 'links.json')
}

/** Reads the switches. Throws when the file is not valid. */
export async function readSwitches(home: string): Promise<LinkSwitches> {
  const text = await readIfExists(switchesFile(home))
  if (text === undefined) return new Map()
  const { links } = JSON.parse(text) as { links?: unknown }
  if (typeof links !== 'object' || links === null) throw new TypeError('the field "links" is missing')
  return new Map(Object.entries(links).map(([name, enabled]) => [name, enabled === true]))
}

/** Stores the new state of some links. Concurrent changes by the command line and the gateway are all stored. */
export async function writeSwitches(home: string, changes: Readonly<Record<string, boolean>>): Promise<void> {
  await using _lock = await lock(`${switchesFile(home)}.lock`)
  const before = await readSwitches(home).catch((error: unknown): LinkSwitches => {
    // An invalid file is replaced, because the user has stated the new state.
    if (error instanceof SyntaxError || error instanceof TypeError) return new Map()
    throw error
  })
  const links = Object.fromEntries([...before, ...Object.entries(changes)])
  await writeDurably(switchesFile(home), `${JSON.stringify({ links }, undefined, 2)}\n`)
}

/** The age at which the lock of a process that crashed is removed. A write takes a few milliseconds. */
const staleMs = 10_000
const retryMs = 20

/** Waits until no other process holds the lock, and creates the lock file. Disposing the lock removes it. */
async function lock(file: string): Promise<AsyncDisposable> {
  await mkdir(dirname(file), { recursive: true })
  for (;;) {
    try {
      await (await open(file, 'wx')).close()
      return { [Symbol.asyncDispose]: () => rm(file, { force: true }) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const { mtimeMs = Date.now() } = await stat(file).catch(() => ({ mtimeMs: Date.now() }))
      if (Date.now() - mtimeMs > staleMs) await rm(file, { force: true })
      else await pause(retryMs)
    }
  }
}

/** Calls `onChange` after each change of the file, until the returned function is called. */
export function watchSwitches(home: string, onChange: () => void): () => void {
  const file = switchesFile(home)
  watchFile(file, { interval: checkEveryMs, persistent: false }, onChange)
  return () => unwatchFile(file, onChange)
}
