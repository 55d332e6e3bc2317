import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './program.ts'

/**
 * Installs a release from its commit into an empty folder: copies its files with `git archive`, and installs the dependencies
 * of its lock file with its own `bootstrap.mjs`. Builds its console, so that its processes do not build it at the same time.
 */
export function installRelease({ commit, folder }: { commit: string; folder: string }): void {
  const archive = join(folder, '.release.tar')
  execFileSync('git', ['-C', root, 'archive', '--output', archive, commit])
  execFileSync('tar', ['-x', '-f', archive, '-C', folder])
  for (const program of ['bootstrap.mjs', 'web/build.ts']) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program], { cwd: folder, encoding: 'utf8' })
    assert.equal(status, 0, `${program} of the release failed: ${stdout}${stderr}`)
  }
}
