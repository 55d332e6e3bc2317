import { execFileSync } from 'node:child_process'

/**
 * Returns the time of the build in seconds: SOURCE_DATE_EPOCH, or else the time of the current commit. The time of the
 * clock is never used, because two builds of one commit must be identical.
 */
export function buildTime(root: string, environment = process.env): number {
  const given = environment.SOURCE_DATE_EPOCH
  if (given !== undefined && given !== '') {
    if (!/^\d{1,10}$/.test(given)) throw new Error(`SOURCE_DATE_EPOCH must be a number of seconds, but is "${given}".`)
    return Number(given)
  }
  const time = git(root, ['log', '-1', '--format=%ct'])
  if (time === undefined)
    throw new Error('The folder is not a clone of the repository: set SOURCE_DATE_EPOCH to the time of the release.')
  return Number(time)
}

/** Returns the id of the current commit, or undefined outside a clone. */
export function currentCommit(root: string): string | undefined {
  return git(root, ['rev-parse', 'HEAD'])
}

/** Returns the files that differ from the current commit. Such an archive cannot be built again from the commit. */
export function changedFiles(root: string): string[] {
  return (git(root, ['status', '--porcelain']) ?? '').split('\n').filter((line) => line !== '')
}

function git(root: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
