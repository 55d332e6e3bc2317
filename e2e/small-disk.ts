import { spawnSync } from 'node:child_process'
import { appendFileSync, statfsSync } from 'node:fs'

/** This file mounts small disks, so that a test can fill them without an effect on other programs. */

/** Mounts an empty disk in memory over a folder. Returns false without root permissions. */
export function mountDisk(folder: string, sizeMiB: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMiB}m,mode=711`, 'tmpfs', folder]).status === 0
}

/** Changes the size of a mounted disk. Returns false if the content does not fit. */
export function resizeDisk(folder: string, sizeMiB: number): boolean {
  return spawnSync('mount', ['-o', `remount,size=${sizeMiB}m`, folder]).status === 0
}

export function unmountDisk(folder: string): void {
  spawnSync('umount', ['--lazy', folder])
}

/** Returns the size of the content of a disk. */
export function usedMiBOf(folder: string): number {
  const { blocks, bfree, bsize } = statfsSync(folder)
  return Math.ceil(((blocks - bfree) * bsize) / 1024 ** 2)
}

/** Fills the rest of the disk with a file. */
export function fillDisk(file: string): void {
  for (const size of [4 * 1024 * 1024, 64 * 1024, 4 * 1024]) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(size))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}
