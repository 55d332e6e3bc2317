import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compress } from './compression.ts'
import { buildOptions } from './console-options.ts'
import { currentFile, currentStamp, distFolder, sourceStamp } from './console-stamp.ts'

/**
 * The number of builds that are kept. Pages that were opened before an update still load files of the previous build.
 */
const keptBuilds = 2

/**
 * Builds the console unless its sources are unchanged, and returns the folder of the build. Each build has its own
 * folder, named after the hash of its sources. The folder is moved into place when it is complete, so that concurrent
 * builds do not conflict and an incomplete build is never served.
 */
export async function buildConsole(): Promise<string> {
  const stamp = sourceStamp()
  const folder = join(distFolder, stamp)
  if (currentStamp() === stamp && existsSync(folder)) return folder
  mkdirSync(distFolder, { recursive: true })
  if (!existsSync(folder)) await buildInto(folder)
  const draft = `${currentFile}.${process.pid}`
  writeFileSync(draft, stamp)
  renameSync(draft, currentFile)
  removeOld(stamp)
  return folder
}

async function buildInto(folder: string): Promise<void> {
  const { build } = await import('vite')
  const draft = `${folder}.${process.pid}`
  try {
    await build(buildOptions({ into: draft }))
    await compress(draft)
    moveInto(draft, folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function moveInto(draft: string, folder: string): void {
  try {
    renameSync(draft, folder)
  } catch (error) {
    // The folder exists if another process has finished the same build.
    if (!existsSync(folder)) throw error
  }
}

function removeOld(stamp: string): void {
  const others = readdirSync(distFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^[0-9a-f]+$/.test(entry.name) && entry.name !== stamp)
    .map(({ name }) => ({ path: join(distFolder, name), at: statSync(join(distFolder, name)).mtimeMs }))
    .toSorted((one, other) => other.at - one.at)
  for (const { path } of others.slice(keptBuilds - 1)) rmSync(path, { recursive: true, force: true })
}
