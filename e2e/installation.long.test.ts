import assert from 'node:assert/strict'
import { execFileSync, type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { missingRights, NetworkNamespaces } from './network-namespaces.ts'
import { temporaryFolder, until } from './platform.ts'
import { root } from './program.ts'
import { installRelease } from './release.ts'

/**
 * Installs the archive of the last release in a network namespace without a network, upgrades it to the archive of this
 * version, and returns. The script of the installation is killed between, and faulty versions must be undone.
 */
const folder = temporaryFolder('installation')
after(() => folder[Symbol.dispose]())
const target = join(folder.path, 'root folder')
const opt = join(target, 'opt/millwright')
const programs = '/usr/sbin:/usr/bin:/sbin:/bin'
const assets = 50
const releases: { version: string; commit: string }[] = JSON.parse(readFileSync(join(root, 'releases.json'), 'utf8'))
const release = releases.at(-1) ?? assert.fail('there is no release')
const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Builds the archives of a checkout into a folder. */
function pack(checkout: string, output: string): void {
  const environment = { ...process.env, SOURCE_DATE_EPOCH: '1700000000' }
  execFileSync(process.execPath, [join(root, 'tools/package.ts'), '--from', checkout, '--output', output], {
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function unpack(file: string, name: string): string {
  const unpacked = join(folder.path, name)
  execFileSync('mkdir', [unpacked])
  execFileSync('tar', ['-x', '-f', file, '-C', unpacked, '--strip-components=1'])
  return unpacked
}

function edit(file: string, change: (text: string) => string): void {
  const text = change(readFileSync(file, 'utf8'))
  // The file is deleted first, because a derived archive shares its files with the original.
  rmSync(file)
  writeFileSync(file, text)
}

/** Returns a copy of an unpacked archive with another version. */
function derive(archive: string, other: string): string {
  const copy = join(folder.path, other)
  execFileSync('cp', ['-al', archive, copy])
  const manifests = globSync(['app/package.json', 'app/*/package.json', 'app/release.json'], { cwd: copy })
  for (const file of manifests)
    edit(join(copy, file), (text) => text.replace(`"version": "${version}"`, `"version": "${other}"`))
  return copy
}

test('two builds of one commit in different folders are byte-identical, with a new build of the console', () => {
  // The archive contains the id of its commit, and the checkout can get a new commit during this test.
  const commit = execFileSync('git', ['-C', root, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
  const [one = '', other = ''] = ['clone', 'another clone'].map((name) => {
    const clone = join(folder.path, name)
    execFileSync('git', ['clone', '--quiet', '--shared', '--no-checkout', root, clone])
    execFileSync('git', ['-C', clone, 'checkout', '--quiet', '--detach', commit])
    for (const modules of globSync(['node_modules', '{api,cloud}/node_modules'], { cwd: root }))
      execFileSync('cp', ['-al', join(root, modules), join(clone, modules)])
    pack(clone, `${clone} output`)
    return `${clone} output`
  })
  for (const product of ['gateway', 'millwright']) {
    const name = `${product}-${version}-linux-x64`
    for (const file of [`${name}.tar.gz`, `${name}.tar.gz.sha256`, `${name}.sbom.cdx.json`])
      assert.ok(readFileSync(join(one, file)).equals(readFileSync(join(other, file))), file)
  }
})

describe('installation', () => {
  let namespaces: NetworkNamespaces | undefined
  let old = ''
  let current = ''

  before(async () => {
    namespaces = await NetworkNamespaces.create()
    if (namespaces === undefined) return
    const checkout = join(folder.path, 'release')
    execFileSync('mkdir', [checkout])
    installRelease({ commit: release.commit, folder: checkout })
    if (release.version === '1.0.0-alpha.1') removeBuildTools(checkout)
    pack(checkout, folder.path)
    old = unpack(join(folder.path, `millwright-${release.version}-linux-x64.tar.gz`), 'old')
    pack(root, folder.path)
    current = unpack(join(folder.path, `millwright-${version}-linux-x64.tar.gz`), 'current')
  })
  after(async () => {
    if (existsSync(join(opt, 'installation'))) install(current, ['uninstall'])
    await namespaces?.[Symbol.asyncDispose]()
  })

  const inNamespace = (program: string, args: readonly string[]): [string, string[]] => [
    'ip',
    ['netns', 'exec', namespaces?.gateway ?? '', program, ...args],
  ]
  const run = (program: string, args: readonly string[], options: SpawnSyncOptions = {}) =>
    spawnSync(...inNamespace(program, args), { env: { PATH: programs }, ...options, encoding: 'utf8' })
  const install = (archive: string, args: readonly string[]) =>
    run(join(archive, 'install.sh'), [...args, '--prefix', target])
  const admin = (...args: string[]) => run(join(target, 'usr/local/bin/millwright-admin'), args)
  const countAssets = () => {
    const { stdout, stderr } = admin('assets', 'list', '--filter', "startswith(name, 'probe ')", '--all', '--ndjson')
    return `${stdout.split('\n').filter((line) => line !== '').length}${stderr}`
  }
  const status = () => {
    const { stdout, stderr } = install(current, ['status'])
    return `${stdout}${stderr}`
  }

  /** Starts an upgrade, and kills the script and its children when the upgrade has reached a step. */
  async function killUpgrade(step: string): Promise<void> {
    const [program, args] = inNamespace(join(current, 'install.sh'), ['upgrade', '--prefix', target])
    const child = spawn(program, args, { env: { PATH: programs }, stdio: 'ignore', detached: true })
    const ended = once(child, 'exit')
    const journal = join(opt, 'upgrade.state')
    await until(`the upgrade reaches the step ${step}`, () =>
      existsSync(journal) ? readFileSync(journal, 'utf8').includes(`step=${step}\n`) : false,
    )
    process.kill(-(child.pid ?? 0), 'SIGKILL')
    await ended
  }

  test('an upgrade that is killed twice continues, and keeps data and settings', async (t) => {
    if (namespaces === undefined) return t.skip(missingRights)
    const first = install(old, ['--no-systemd', '--user', 'nobody'])
    assert.equal(first.status, 0, `${first.stdout}${first.stderr}`)
    const rows = Array.from({ length: assets }, (_, index) => `probe ${index},Acme,S-${index}\n`)
    const file = join(folder.path, 'assets.csv')
    writeFileSync(file, `Name,Manufacturer,Serial number\n${rows.join('')}`)
    const imported = admin('import', file)
    assert.equal(imported.status, 0, `${imported.stdout}${imported.stderr}`)
    const settings = join(target, 'etc/millwright/platform.env')
    writeFileSync(settings, '# changed by the operator\nMILLWRIGHT_LOG_LEVEL="error"\n')

    const refused = install(current, [])
    assert.match(refused.stderr, /is already installed\. To replace it by version .*, run: install\.sh upgrade/)
    for (const step of ['copied', 'switched']) {
      await killUpgrade(step)
      assert.match(status(), new RegExp(`An upgrade to version ${version} is not complete`))
    }
    const upgraded = install(current, ['upgrade'])
    assert.equal(upgraded.status, 0, `${upgraded.stdout}${upgraded.stderr}`)
    assert.match(status(), new RegExp(`^Version ${version} in .*\nAll services are ready\\.\n$`))
    assert.equal(countAssets(), String(assets))
    assert.match(readFileSync(settings, 'utf8'), /^# changed by the operator\n/)
    assert.match(install(current, ['upgrade']).stdout, /is already installed\.$/m)
  })

  test('an upgrade to a version that damages the data and is not the expected one is undone', (t) => {
    if (namespaces === undefined) return t.skip(missingRights)
    const damaged = derive(current, '99.0.0')
    edit(join(damaged, 'app/package.json'), (text) => text.replace('"99.0.0"', '"99.0.1"'))
    writeFileSync(
      join(damaged, 'app/cloud/services/inventory/migrations/9999-damage.sql'),
      'alter table assets rename to damaged_assets;\n',
    )
    const { status: code, stdout, stderr } = install(damaged, ['upgrade'])
    assert.equal(code, 1)
    assert.match(stdout, /Version 99\.0\.0 is not ready: The platform at .* has version 99\.0\.1 instead of 99\.0\.0/)
    assert.match(
      stderr,
      new RegExp(`The upgrade to version 99\\.0\\.0 failed and was undone\\. Version ${version} is running`),
    )
    assert.equal(countAssets(), String(assets))
    assert.ok(existsSync(join(target, 'var/lib/millwright/platform/postgres.replaced')))
  })

  test('an upgrade to a version that ends at its start is undone without waiting for the time limit', (t) => {
    if (namespaces === undefined) return t.skip(missingRights)
    const broken = derive(current, '99.1.0')
    edit(join(broken, 'app/cli/millwright.mjs'), () => 'process.exit(3)\n')
    const { status: code, stdout, stderr } = install(broken, ['upgrade'])
    assert.equal(code, 1)
    assert.match(stdout, /Version 99\.1\.0 is not ready: the process has ended/)
    assert.match(stderr, new RegExp(`failed and was undone\\. Version ${version} is running`))
    assert.equal(countAssets(), String(assets))
  })

  test('a rollback keeps all data, or restores the backup if the release cannot use the data', (t) => {
    if (namespaces === undefined) return t.skip(missingRights)
    const kept = install(current, ['rollback'])
    if (kept.status !== 0) {
      assert.match(kept.stderr, new RegExp(`Version ${version} is running again\\. .*rollback --restore`))
      assert.match(status(), new RegExp(`^Version ${version} in .*\nAll services are ready`))
      const restored = install(current, ['rollback', '--restore'])
      assert.equal(restored.status, 0, `${restored.stdout}${restored.stderr}`)
    }
    assert.match(status(), new RegExp(`^Version ${release.version} in .*\nAll services are ready`))
    assert.equal(countAssets(), String(assets))
  })

  test('the removal leaves data, backups and settings', (t) => {
    if (namespaces === undefined) return t.skip(missingRights)
    assert.equal(install(current, ['uninstall']).status, 0)
    assert.equal(existsSync(opt), false)
    assert.ok(existsSync(join(target, 'var/lib/millwright/platform/postgres')))
    assert.ok(globSync('var/lib/millwright/backups/*.tar.gz', { cwd: target }).length >= 3)
    assert.ok(existsSync(join(target, 'etc/millwright/platform.env')))
  })
})

/**
 * Removes what the first release lists as a dependency of the program, although only its build and its tests use it. The
 * check of the licenses and of the imports refuses these.
 */
function removeBuildTools(checkout: string): void {
  edit(join(checkout, 'package-lock.json'), (text) => {
    const lock: { packages: Record<string, { dependencies: Record<string, string> }> } = JSON.parse(text)
    const { dependencies } = lock.packages.web ?? assert.fail('the release has no console')
    for (const name of ['vite', '@vitejs/plugin-react']) delete dependencies[name]
    return JSON.stringify(lock)
  })
  rmSync(join(checkout, 'cloud/services/identity/providers/independent-provider.ts'))
}
