import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checks.ts'

/** `Release` is an entry of `releases.json`, which lists all releases, the oldest first. */
export type Release = {
  version: string
  /** The full id of the commit of the release. */
  commit: string
  /** The last migration of each module in this release. */
  migrations: Readonly<Record<string, string>>
}

export const releasesFile = join(root, 'releases.json')

export function readReleases(): Release[] {
  return JSON.parse(readFileSync(releasesFile, 'utf8'))
}

/** Returns whether a release contains the migration. Such a migration never changes. */
export function isReleased({ module, name }: { module: string; name: string }, releases: readonly Release[]): boolean {
  return releases.some(({ migrations }) => name <= (migrations[module] ?? ''))
}
