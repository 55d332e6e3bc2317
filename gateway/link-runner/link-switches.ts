import { unwatchFile, watchFile } from 'node:fs'
import { join } from 'node:path'
import { readIfExists, writeDurably } from '../durable-file.ts'

/**
 * The file `links.json` in the home of a gateway stores which links a user enabled or disabled. Links that are not in the
 * file keep the state of the setting. The command line and the gateway write the file, and a running gateway watches it.
 */

export type LinkSwitches = ReadonlyMap<string, boolean>

/** The interval in which a running gateway checks the file. */
const checkEveryMs = 500

export function switchesFile(home: string): string {
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

/** Stores the new state of some links. */
export async function writeSwitches(home: string, changes: Readonly<Record<string, boolean>>): Promise<void> {
  // A file that cannot be read is replaced, because the user has stated the new state.
  const before = await readSwitches(home).catch((): LinkSwitches => new Map())
  const links = Object.fromEntries([...before, ...Object.entries(changes)])
  await writeDurably(switchesFile(home), `${JSON.stringify({ links }, undefined, 2)}\n`)
}

/** Calls `onChange` after each change of the file, until the returned function is called. */
export function watchSwitches(home: string, onChange: () => void): () => void {
  const file = switchesFile(home)
  watchFile(file, { interval: checkEveryMs, persistent: false }, onChange)
  return () => unwatchFile(file, onChange)
}
