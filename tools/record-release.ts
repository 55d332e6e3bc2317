import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isAtLeast } from '@millwright/cloud/platform/semantic-version.ts'
import { productVersion } from '@millwright/cloud/platform/version.ts'
import { root } from './checks.ts'
import { readReleases, releasesFile } from './releases.ts'

/**
 * Records a release: adds the version, its commit and its migrations to `releases.json`, and sets the next version in all
 * packages. Run this program after the commit of the release:
 *
 *     node tools/record-release.mjs --next 1.0.0-beta.1                     the current commit
 *     node tools/record-release.mjs --next 1.0.0-beta.1 --commit 1a2b3c4d   another commit
 */
const { values } = parseArgs({ options: { next: { type: 'string' }, commit: { type: 'string', default: 'HEAD' } } })
const { next, commit } = values
if (next === undefined || next === productVersion || !isAtLeast(next, productVersion)) {
  console.error(
    `--next must be a version after ${productVersion}, for example: node tools/record-release.mjs --next 2.0.0`,
  )
  process.exit(1)
}

const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
const recorded: Record<string, string> = JSON.parse(git('show', `${commit}:cloud/migrations.lock.json`))
const migrations: Record<string, string> = {}
for (const id of Object.keys(recorded).toSorted()) {
  const [module = '', name = ''] = id.split('/')
  migrations[module] = name
}
const release = { version: productVersion, commit: git('rev-parse', `${commit}^{commit}`), migrations }
writeFileSync(releasesFile, `${JSON.stringify([...readReleases(), release], undefined, 2)}\n`)

setVersion('package.json')
for (const workspace of globSync('*/package.json', { cwd: root })) setVersion(workspace)
setVersion('package-lock.json')

type Manifest = { version: string; packages?: Record<string, { version?: string }> }

/** Sets the next version of a package. In the lock file, sets it for the packages of this repository. */
function setVersion(file: string): void {
  const manifest: Manifest = JSON.parse(readFileSync(join(root, file), 'utf8'))
  manifest.version = next as string
  for (const [folder, entry] of Object.entries(manifest.packages ?? {})) {
    if (!folder.includes('node_modules/')) entry.version = next as string
  }
  writeFileSync(join(root, file), `${JSON.stringify(manifest, undefined, 2)}\n`)
}
