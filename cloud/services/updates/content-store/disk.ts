import { open, statfs } from 'node:fs/promises'
import { Problem } from '@millwright/api/problem.ts'

/** The disk on which the platform stores contents or parts of them. */

/** The free space that uploads leave on the disk, because the database usually has the same disk. */
const reservedBytes = 256 * 1024 * 1024

/** Throws `storage_full` if the bytes do not fit on the disk of a folder. */
export async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize - bytes < reservedBytes) throw storageFull()
}

/** Runs work on files. A full disk is the problem `storage_full`. */
export async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code) ? storageFull(error) : error
  }
}

export function storageFull(cause?: unknown): Problem {
  return new Problem(
    'storage_full',
    'The storage of the platform is full. The bytes that were received before are stored. Free disk space, then continue the upload',
    { cause },
  )
}

/** Makes the names of files in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
