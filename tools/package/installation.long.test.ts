import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { missingRights, NetworkNamespaces } from '@millwright/e2e/network-namespaces.ts'
import { temporaryFolder } from '@millwright/e2e/platform.ts'
import { root } from '../checks.ts'
import { versionOf } from './pack-archive.ts'
import { packPlatform } from './platform-archive.ts'

/**
 * Packs the platform, and installs it below a folder with a blank in its name, in a network namespace without a network
 * and with a PATH that contains no Node. Upgrades and rollbacks are in `e2e/installation.long.test.ts`, because they take longer.
 */
const folder = temporaryFolder('archive')
const archive = join(folder.path, 'unpacked')
const target = join(folder.path, 'root folder')
const version = versionOf(root)
/** The system programs, without Node and npm. */
const programs = '/usr/sbin:/usr/bin:/sbin:/bin'

before(async () => {
  const { file } = await packPlatform({ root, output: folder.path })
  execFileSync('mkdir', [archive, target])
  execFileSync('tar', ['-x', '-f', file, '-C', archive, '--strip-components=1'])
})

describe('archive of the platform', () => {
  test('contains the programs, the console, the documentation and the files of the installation', () => {
    for (const path of [
      'bin/millwright-platform',
      'bin/millwright-gateway',
      'node/bin/node',
      'app/web/dist/current',
      'app/docs/README.md',
      'app/cli/millwright.ts',
      'install.sh',
      'Containerfile',
      'compose.yaml',
      'LICENSE',
      'THIRD-PARTY-NOTICES.txt',
    ])
      assert.ok(existsSync(join(archive, path)), path)
    assert.equal(JSON.parse(readFileSync(join(archive, 'app/release.json'), 'utf8')).version, version)
    assert.equal(JSON.parse(readFileSync(join(archive, 'sbom.cdx.json'), 'utf8')).specVersion, '1.6')
    assert.deepEqual(
      ['typescript', 'vite', '@biomejs', 'playwright-core', 'react'].filter((name) =>
        existsSync(join(archive, 'app/node_modules', name)),
      ),
      [],
    )
  })

  test('runs the command line without an environment', () => {
    const { stdout, stderr } = spawnSync(join(archive, 'bin/millwright'), ['--version'], { env: {}, encoding: 'utf8' })
    assert.equal(stdout, `${version}\n`, stderr)
  })

  test('the container copies existing files and runs an existing program as an ordinary user', () => {
    const lines = readFileSync(join(archive, 'Containerfile'), 'utf8').split('\n')
    const instruction = (name: string) => lines.filter((line) => line.startsWith(`${name} `))
    assert.deepEqual(instruction('USER'), ['USER 10001:10001'])
    const [entry] = JSON.parse(instruction('ENTRYPOINT')[0]?.slice('ENTRYPOINT '.length) ?? '[]') as string[]
    assert.ok(entry !== undefined && existsSync(join(archive, entry.replace('/opt/millwright/', ''))), entry)
    const health =
      instruction('HEALTHCHECK')
        .join()
        .match(/\/opt\/millwright\/[\w./-]+/g) ?? []
    assert.equal(health.length, 2)
    for (const path of health) assert.ok(existsSync(join(archive, path.replace('/opt/millwright/', ''))), path)
    const compose = readFileSync(join(archive, 'compose.yaml'), 'utf8')
    assert.match(compose, /read_only: true/)
    assert.match(compose, /127\.0\.0\.1:8080:8080/)
  })
})

test('install.sh installs, starts and removes the platform without a network, and leaves its data', async (t) => {
  await using namespaces = await NetworkNamespaces.create()
  if (namespaces === undefined) return t.skip(missingRights)
  const run = (program: string, args: readonly string[], cwd?: string) => {
    const command = ['netns', 'exec', namespaces.gateway, program, ...args]
    return spawnSync('ip', command, { encoding: 'utf8', env: { PATH: programs }, cwd })
  }
  const install = (...args: string[]) => run(join(archive, 'install.sh'), [...args, '--prefix', target])
  const home = join(target, 'var/lib/millwright/platform')
  const current = join(target, 'opt/millwright/current')

  const first = install('--no-systemd', '--user', 'nobody')
  try {
    assert.equal(first.status, 0, `${first.stdout}${first.stderr}`)
    assert.match(first.stdout, /All services are ready\.\nSign in as admin\. The password is in /)
    assert.equal(readFileSync(join(current, 'app/release.json'), 'utf8').includes(version), true)
    for (const [path, mode] of Object.entries({
      'etc/millwright/platform.env': 0o640,
      'var/lib/millwright/platform': 0o700,
    }))
      assert.equal(statSync(join(target, path)).mode & 0o777, mode, path)

    const caller = join(folder.path, 'caller')
    mkdirSync(caller)
    chmodSync(caller, 0o777)
    const bundle = run(join(target, 'usr/local/bin/millwright-admin'), ['doctor', '--bundle', 'support.tar.gz'], caller)
    assert.ok(existsSync(join(caller, 'support.tar.gz')), `${bundle.stdout}${bundle.stderr}`)
    const token = run(join(target, 'usr/local/bin/millwright-admin'), ['token'])
    assert.match(token.stdout, /^eyJ[\w.-]+\n$/, token.stderr)
    const console = run(join(current, 'node/bin/node'), [
      '-e',
      "fetch('http://127.0.0.1:8080/').then(async (r) => process.stdout.write(r.status + await r.text()))",
    ])
    assert.match(console.stdout, /^200<!doctype html>[\s\S]*\/console\/files\//i)

    const again = install()
    assert.equal(again.status, 0, again.stderr)
  } finally {
    const removed = install('uninstall')
    assert.equal(removed.status, 0, removed.stderr)
    assert.match(
      removed.stdout,
      /Data and backups remain in .*\/var\/lib\/millwright, and settings in .*\/etc\/millwright/,
    )
  }
  assert.equal(existsSync(join(target, 'opt/millwright')), false)
  assert.deepEqual(readdirSync(join(target, 'usr/local/bin')), [])
  assert.ok(existsSync(join(home, 'postgres')) && existsSync(join(target, 'etc/millwright/platform.env')))
})

describe('install.sh', () => {
  const install = (...args: string[]) =>
    spawnSync(join(root, 'deploy/install.sh'), [...args, '--prefix', join(folder.path, 'empty')], { encoding: 'utf8' })

  test('reports what to do if it cannot continue', () => {
    assert.match(install().stderr, /is not an unpacked archive\. Unpack the archive, and run its install\.sh/)
    for (const command of ['status', 'rollback', 'uninstall', 'stop'])
      assert.match(install(command).stderr, /Millwright is not installed in .*\. Run: install\.sh/, command)
    assert.match(install('--unknown').stderr, /Unknown argument "--unknown"\. See: install\.sh --help/)
  })

  test('refuses an installation with systemd before the first change if systemd does not run', (t) => {
    if (existsSync('/run/systemd/system')) return t.skip('systemd runs on this machine')
    const prefix = join(folder.path, 'without systemd')
    const command = join(archive, 'install.sh')
    const run = (...args: string[]) => spawnSync(command, [...args, '--prefix', prefix], { encoding: 'utf8' })
    const refused = run('--user', 'nobody')
    assert.equal(refused.status, 1)
    assert.match(refused.stderr, /systemd does not run on this machine\. Repeat the command with --no-systemd/)
    assert.deepEqual(readdirSync(join(prefix, 'opt/millwright')), [])
    assert.equal(existsSync(join(prefix, 'etc')), false)
  })

  test('refuses an archive whose programs do not run here, and leaves no copy', () => {
    const foreign = join(folder.path, 'foreign')
    execFileSync('cp', ['-al', archive, foreign])
    rmSync(join(foreign, 'node/bin/node'))
    writeFileSync(join(foreign, 'node/bin/node'), 'not a program of this machine', { mode: 0o755 })
    const prefix = join(folder.path, 'foreign root')
    const { status, stderr } = spawnSync(
      join(foreign, 'install.sh'),
      ['--no-systemd', '--user', 'nobody', '--prefix', prefix],
      { encoding: 'utf8' },
    )
    assert.equal(status, 1)
    assert.match(stderr, /The programs of this archive do not run in .*\. They need Linux on x64 with glibc 2\.28/)
    assert.deepEqual(readdirSync(join(prefix, 'opt/millwright')), [])
  })

  test('every unit of systemd has the sandbox', () => {
    const units = readdirSync(join(root, 'deploy/systemd'))
    assert.deepEqual(units, ['millwright-gateway.service', 'millwright-link@.service', 'millwright-platform.service'])
    for (const unit of units) {
      const text = readFileSync(join(root, 'deploy/systemd', unit), 'utf8')
      for (const line of [
        'NoNewPrivileges=yes',
        'PrivateTmp=yes',
        'ProtectSystem=strict',
        'ProtectHome=yes',
        'User=@user@',
      ])
        assert.ok(text.includes(`\n${line}\n`), `${unit}: ${line}`)
    }
  })
})
