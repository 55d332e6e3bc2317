import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { findBinaries, linkLibraries } from './binaries.ts'
import { temporaryFolder } from './testing.ts'

/** Creates a package whose install script has not run. */
function packageWithoutLinks(root: string, { hasLibraries }: { hasLibraries: boolean }) {
  const libraries = path.join(root, 'native', 'lib')
  mkdirSync(hasLibraries ? libraries : path.dirname(libraries), { recursive: true })
  if (hasLibraries) writeFileSync(path.join(libraries, 'libpq.so.5.18'), 'library')
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]
  writeFileSync(path.join(root, 'native', 'pg-symlinks.json'), JSON.stringify(links))
  return { ...findBinaries(), libraries }
}

test('creates the library links that the install script of the package did not create', () => {
  using folder = temporaryFolder()
  const binaries = packageWithoutLinks(folder.path, { hasLibraries: true })
  for (const round of ['made', 'found']) {
    assert.deepEqual(linkLibraries(binaries, path.join(folder.path, 'spare')), {}, round)
    assert.equal(readFileSync(path.join(binaries.libraries, 'libpq.so.5'), 'utf8'), 'library')
  }
})

test('creates the library links next to the data when the package is read-only', () => {
  using folder = temporaryFolder()
  const binaries = packageWithoutLinks(folder.path, { hasLibraries: false })
  const spare = path.join(folder.path, 'spare')
  assert.deepEqual(linkLibraries(binaries, spare), { LD_LIBRARY_PATH: `${spare}:${binaries.libraries}` })
  assert.equal(readlinkSync(path.join(spare, 'libpq.so.5')), '../native/lib/libpq.so.5.18')
})
