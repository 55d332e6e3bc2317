import { constants } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError } from '../../output/error-report.ts'
import type { Terminal } from '../../output/terminal.ts'

/** The bytes at the end of a log that the support archive contains. */
const tailBytes = 1_000_000
const mostLinkLogs = 20

/** Returns the last lines of a log file, or of standard input for `-`. The first line is complete. */
export async function tailOf(file: string, { inputLines }: Pick<Terminal, 'inputLines'>): Promise<string> {
  if (file === '-') return lastLines(inputLines())
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`The log ${file} cannot be read (${error.code}).`, { next: 'check the path of --log' })
  })
  return tailOfHandle(handle)
}

/**
 * Returns the last lines of a log in the home. The command may run as root, and the user of the services can replace the log by
 * a link to another file, or by a pipe that never ends. Throws an error for these.
 */
export async function tailInHome(file: string): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  return tailOfHandle(handle)
}

async function tailOfHandle(handle: FileHandle): Promise<string> {
  try {
    const stats = await handle.stat()
    if (!stats.isFile())
      throw new CommandError('The log is not a file.', { next: 'pass --log - and pipe the log to standard input' })
    const { size } = stats
    const from = Math.max(0, size - tailBytes)
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(size - from), position: from })
    const text = buffer.toString('utf8', 0, bytesRead)
    // The first line is not complete, so a secret in it could be cut and not be found.
    return from === 0 ? text : text.slice(text.indexOf('\n') + 1)
  } finally {
    await handle.close()
  }
}

/** Returns the last lines of an input of any length. */
async function lastLines(lines: AsyncIterable<string>): Promise<string> {
  const kept: string[] = []
  let characters = 0
  for await (const line of lines) {
    kept.push(line)
    characters += line.length + 1
    while (characters > tailBytes && kept.length > 1) characters -= (kept.shift()?.length ?? 0) + 1
  }
  return kept.map((line) => `${line}\n`).join('')
}

/** Returns the log files of the links that a gateway runs. */
export async function linkLogs(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => name.endsWith('.log'))
    .toSorted()
    .slice(0, mostLinkLogs)
    .map((name) => join(folder, name))
}
