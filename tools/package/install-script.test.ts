import assert from 'node:assert/strict'
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { isRoot, nobody } from '@millwright/cloud/platform/postgres/testing.ts'
import { root } from '../checks.ts'

/**
 * Runs `install.sh` as root, with an archive whose programs are small scripts. The user of the services replaces its files by
 * links to files of root, as an attacker who controls a service could.
 */
const options = { skip: isRoot ? false : 'needs root' }

/** Writes an archive with programs that start, and that store the environment and the umask of the service. */
function writeArchive(folder: string, version: string): void {
  const program = (path: string, text: string) => {
    writeFileSync(join(folder, path), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder, path), 0o755)
  }
  for (const path of ['app', 'bin', 'node/bin', 'settings', 'systemd'])
    mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'app/release.json'), JSON.stringify({ product: 'millwright', version }, undefined, 2))
  program('node/bin/node', 'exit 0')
  program('bin/millwright', 'if [ "$1" = backup ]; then echo backup >"$2"; fi')
  for (const service of ['platform', 'gateway']) {
    program(`bin/millwright-${service}`, 'env >environment; umask >umask; exec sleep 600')
    copyFileSync(join(root, `deploy/settings/${service}.env`), join(folder, `settings/${service}.env`))
  }
  copyFileSync(join(root, 'deploy/install.sh'), join(folder, 'install.sh'))
  chmodSync(join(folder, 'install.sh'), 0o755)
}

describe('install.sh as root', options, () => {
  let folder: string
  let target: string
  let victim: string

  const install = (version: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> =>
    spawnSync(join(folder, version, 'install.sh'), [...args, '--prefix', target], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...env },
    })
  const succeed = (version: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const { status, stdout, stderr } = install(version, args, env)
    assert.equal(status, 0, `${stdout}${stderr}`)
  }
  const state = (path: string) => join(target, 'var/lib/millwright', path)
  const owner = (path: string) => statSync(path).uid
  /** Replaces a file of the service by a link that belongs to the user of the service. */
  const plant = (path: string, to: string) => {
    rmSync(path, { recursive: true, force: true })
    symlinkSync(to, path)
    lchownSync(path, nobody.uid, nobody.gid)
  }
  const config = () => {
    const file = join(folder, 'gateway-config.json')
    writeFileSync(file, '{"secret":"of the configuration"}\n')
    return file
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millwright-script-'))
    chmodSync(folder, 0o755)
    target = join(folder, 'target')
    victim = join(folder, 'folder of root')
    mkdirSync(victim)
    for (const version of ['1.0.0', '1.1.0']) writeArchive(join(folder, version), version)
  })
  afterEach(() => {
    if (existsSync(join(target, 'opt/millwright/installation'))) install('1.0.0', ['uninstall'])
    rmSync(folder, { recursive: true })
  })

  const first = ['--platform', '--gateway', '--no-systemd', '--user', 'nobody']

  test('does not change the owner of a folder that the service user replaces by a link', () => {
    succeed('1.0.0', [...first, '--no-start', '--config', config()])
    assert.equal(owner(state('platform/tmp')), nobody.uid)
    plant(state('platform/tmp'), victim)
    succeed('1.0.0', ['--platform', '--no-start'])
    assert.equal(owner(victim), 0)
    plant(state('gateway/tmp'), victim)
    succeed('1.1.0', ['upgrade'])
    assert.equal(owner(victim), 0)
  })

  test('writes the configuration of the gateway to no other file when the service user replaces it by a link', () => {
    succeed('1.0.0', [...first, '--no-start', '--config', config()])
    const stored = state('gateway/gateway-config.json')
    const file = join(victim, 'file of root')
    writeFileSync(file, 'content of root')
    plant(stored, file)
    succeed('1.0.0', ['--gateway', '--no-start', '--config', config()])
    assert.equal(readFileSync(file, 'utf8'), 'content of root')
    assert.equal(owner(file), 0)
    assert.equal(readFileSync(stored, 'utf8'), readFileSync(config(), 'utf8'))
    const { uid, mode } = statSync(stored)
    assert.deepEqual({ uid, mode: mode & 0o777 }, { uid: nobody.uid, mode: 0o600 })
  })

  test('deletes no folder of root when the service user replaces the home of the platform by a link', () => {
    succeed('1.0.0', [...first, '--no-start', '--config', config()])
    writeFileSync(join(target, 'etc/millwright/platform.env'), `MILLWRIGHT_HOME=${state('platform/home')}\n`)
    mkdirSync(join(victim, 'postgres.replaced'))
    plant(state('platform/home'), victim)
    install('1.1.0', ['upgrade'])
    assert.ok(existsSync(join(victim, 'postgres.replaced')))
  })

  test('owns the folder that contains the folders of the services', () => {
    mkdirSync(state(''), { recursive: true })
    lchownSync(state(''), nobody.uid, nobody.gid)
    succeed('1.0.0', [...first, '--no-start', '--config', config()])
    assert.equal(owner(state('')), 0)
  })

  test('starts services without the variables of the caller, with umask 077, and with logs that only root reads', () => {
    const secret = { AWS_SECRET_ACCESS_KEY: 'secret-of-the-caller', VAULT_TOKEN: 'secret-of-the-caller', TZ: 'UTC' }
    succeed('1.0.0', [...first, '--config', config()], secret)
    const read = (name: string) =>
      spawnSync('sh', ['-c', 'until [ -s "$0" ]; do :; done; cat "$0"', state(name)]).stdout
    assert.match(String(read('platform/umask')), /^0*077$/m)
    const environment = String(read('platform/environment'))
    assert.doesNotMatch(environment, /secret-of-the-caller/)
    assert.match(environment, /^TZ=UTC$/m)
    assert.equal(statSync(join(target, 'var/log/millwright')).mode & 0o777, 0o750)
  })
})

test('each unit hides the data of the other services and writes no core dumps', () => {
  const hidden = {
    platform: ['@state@/gateway', '@state@/links', '@config@/gateway.env'],
    gateway: ['@state@/platform', '@state@/backups', '@config@/platform.env', '@config@/tls.key'],
    'link@': [
      '@state@/platform',
      '@state@/backups',
      '@state@/gateway',
      '@config@/platform.env',
      '@config@/gateway.env',
    ],
  }
  for (const [unit, paths] of Object.entries(hidden)) {
    const text = readFileSync(join(root, `deploy/systemd/millwright-${unit}.service`), 'utf8')
    assert.match(text, /^LimitCORE=0$/m, unit)
    const line = /^InaccessiblePaths=.*$/m.exec(text)?.[0] ?? ''
    for (const path of paths) assert.ok(line.includes(`"-${path}"`), `${unit}: ${path}`)
  }
})

describe('install-gateway.sh', () => {
  let folder: string
  let script: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millwright-script-'))
    chmodSync(folder, 0o755)
    const text = readFileSync(join(root, 'cloud/platform/downloads/install-gateway.sh'), 'utf8')
    script = join(folder, 'install-gateway.sh')
    writeFileSync(script, text.replaceAll('@VERSION@', '1.0.0').replaceAll('@SHA256@', '0'.repeat(64)))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const run = (...args: string[]) =>
    spawnSync('sh', [script, ...args], { cwd: folder, encoding: 'utf8', env: { PATH: process.env.PATH, HOME: folder } })
  /** Returns a configuration. Port 1 refuses connections. */
  const configuration = (more: object) =>
    JSON.stringify({ schema: 'millwright.gateway-config.v1', baseUrl: 'http://127.0.0.1:1/read', ...more })

  test('executes no command of a PEM file', () => {
    const planted = '|;1e touch planted #'
    writeFileSync(join(folder, 'authority.pem'), `-----BEGIN CERTIFICATE-----\n${planted}\n-----END CERTIFICATE-----\n`)
    writeFileSync(join(folder, 'config.json'), configuration({ tls: { authority: 'authority.pem' } }))
    const { stderr } = run('--config', 'config.json')
    assert.match(stderr, /The download from http:\/\/127\.0\.0\.1:1\/read failed/)
    assert.equal(existsSync(join(folder, 'planted')), false)
  })

  test('reads no file of root when the service user replaces the stored configuration by a link', options, () => {
    const target = join(folder, 'target')
    const home = join(target, 'var/lib/millwright/gateway')
    mkdirSync(home, { recursive: true })
    const stored = join(home, 'gateway-config.json')
    writeFileSync(join(home, 'identity.json'), '{}')
    writeFileSync(join(folder, 'file of root'), configuration({}), { mode: 0o600 })
    for (const path of [home, join(home, 'identity.json')]) lchownSync(path, nobody.uid, nobody.gid)
    symlinkSync(join(folder, 'file of root'), stored)
    const update = ['--service', '--prefix', target, '--config', 'missing.json']
    const { stdout, stderr } = run(...update)
    assert.doesNotMatch(stdout, /read/)
    assert.match(stderr, /there is no configuration with the address of the platform/)
    rmSync(stored)
    writeFileSync(stored, configuration({}))
    assert.match(run(...update).stdout, /Downloading http:\/\/127\.0\.0\.1:1\/read\//)
  })
})
