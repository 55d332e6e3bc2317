import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compress } from './compression.ts'
import { buildOptions } from './console-options.ts'
import { currentFile, currentStamp, distFolder, wantedStamp } from './console-stamp.ts'

/** Builds of before are kept for pages that are open while a new one comes. */
const keptBuilds = 2

/**
 * Builds the console unless its sources are those of the last build. Each build has a folder of its own, named by what
 * it was made from and moved there when it is whole: builds at the same time do not hurt each other, and nobody is
 * served half of one.
 */
export async function buildConsole(): Promise<string> {
  const stamp = wantedStamp()
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
    // Somebody else built the same meanwhile.
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
