import { type FileHandle, mkdir, open, readFile, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Writes a file atomically. A reader sees either the old or the new content, even after a power failure. A file that root
 * writes gets the owner of its folder, so that a gateway of another user can still read it.
 */
export async function writeDurably(path: string, content: string, { mode = 0o600 } = {}): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.new`
  const file = await open(temporary, 'w', mode)
  try {
    if (process.getuid?.() === 0) await giveToOwnerOf(dirname(path), file)
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncFolder(dirname(path))
}

async function giveToOwnerOf(folder: string, file: FileHandle): Promise<void> {
  const { uid, gid } = await stat(folder)
  await file.chown(uid, gid)
}

/** Syncs a folder, so that created, renamed and removed files survive a power failure. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  // The error is ignored, because some systems do not support syncing a folder and do not need it.
  await folder?.sync().catch(() => undefined)
  await folder?.close()
}

/** Reads a file. Returns undefined when it does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
