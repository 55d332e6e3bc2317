import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The file in the home with the time of the last successful backup. */
const fileName = 'last-backup.json'

/** Stores that a backup has been written completely. */
export async function recordBackup(home: string, finishedAt: Date): Promise<void> {
  const file = join(home, fileName)
  await writeFile(`${file}.partial`, JSON.stringify({ finishedAt: finishedAt.toISOString() }), { mode: 0o600 })
  await rename(`${file}.partial`, file)
}

/** Returns the time of the last successful backup. Returns undefined if the home has no record of a backup. */
export async function lastBackup(home: string): Promise<Date | undefined> {
  try {
    const { finishedAt } = JSON.parse(await readFile(join(home, fileName), 'utf8'))
    const time = new Date(finishedAt)
    return Number.isNaN(time.getTime()) ? undefined : time
  } catch {
    return undefined
  }
}
