import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import type { ManagedLink } from '@millwright/api/gatekeeper.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { createLog } from '../log.ts'
import { Registry } from '../registry/registry.ts'
import { RegistryServer } from '../registry/registry-server.ts'
import { SetupError } from '../setup-error.ts'
import { askRegistry, settingsFor, temporaryFolder, until } from '../testing.ts'
import { LinkLog, previousFile, readableLine, readLog } from './link-log.ts'
import { environmentOf, type LinkTiming } from './link-process.ts'
import { LinkRunner, runningState } from './link-runner.ts'
import { readSwitches, writeSwitches } from './link-switches.ts'

const logged: string[] = []
const log = createLog({ level: 'error', to: { write: (line: string) => void logged.push(line) } })
const timing: LinkTiming = {
  restart: { firstMs: 20, longestMs: 200 },
  stableMs: 60_000,
  startMs: 5_000,
  stopMs: 5_000,
}

const plant = {
  name: 'plant',
  appInstanceId: 'millwright.links.plant',
  file: join(import.meta.dirname, '../../links/plant/main.ts'),
}

/** Returns a link whose program is this source text. */
function fakeLink(name: string, source: string) {
  const file = join(temporaryFolder(), `${name}.mjs`)
  writeFileSync(file, source)
  return { name, appInstanceId: `test.links.${name}`, file }
}

const entry = (message: string, more = '') =>
  `console.error(JSON.stringify({ time: new Date().toISOString(), level: 'warn', message: ${JSON.stringify(message)}${more} }))`

/** A link that prints its environment and its home, and waits until the gateway ends. */
const waiting = fakeLink(
  'waiting',
  `${entry('ICMP is not allowed. Run: sudo setcap cap_net_raw+ep node', ', notice: true')}
   console.log(JSON.stringify(process.env))
   console.log('home ' + process.argv[process.argv.indexOf('--home') + 1])
   console.log('arguments ' + process.argv.join(' '))
   process.once('disconnect', () => process.exit(0))
   process.channel.ref()`,
)
const crashing = fakeLink('crashing', `${entry('There is no network')}; process.exitCode = 3`)
const stubborn = fakeLink(
  'stubborn',
  `process.on('SIGTERM', () => console.log('ignored')); setInterval(() => {}, 1_000); console.log('ready')`,
)
const builtInLinks = [plant, waiting, crashing, stubborn]

describe('LinkRunner', () => {
  let registry: Registry
  let server: RegistryServer
  const runners: LinkRunner[] = []

  before(async () => {
    registry = await Registry.open({ file: join(temporaryFolder(), 'registry.json'), log })
    server = await RegistryServer.start({ registry, host: '127.0.0.1', port: 0, vendors: ['millwright'] })
  })
  afterEach(async () => {
    for (const runner of runners.splice(0)) await runner.stop()
  })
  after(() => server.stop())

  type StartOptions = { home?: string; more?: Partial<LinkTiming>; tracesUrl?: string }

  function start(links: string[], { home = temporaryFolder(), more = {}, tracesUrl }: StartOptions = {}) {
    const settings = settingsFor(home, { links, linkVendors: ['millwright', 'acme.devices'], tracesUrl })
    const environment = { ...process.env, MILLWRIGHT_CLIENT_SECRET: 'planted-secret', LANG: 'C.UTF-8' }
    const runner = new LinkRunner({
      settings,
      builtInLinks,
      registry,
      registryPort: server.port,
      log,
      environment,
      timing: { ...timing, ...more },
    })
    runners.push(runner)
    return { home, runner, started: runner.start() }
  }

  const linkOf = (runner: LinkRunner, name: string): ManagedLink =>
    runner.report().find((link) => link.name === name) ?? assert.fail(name)
  const reached = (runner: LinkRunner, name: string, state: ManagedLink['state']) =>
    until(() => linkOf(runner, name).state === state)

  test('runs an enabled link, which registers with the id and the vendor prefix of the gateway', async () => {
    const { runner } = start(['plant'])
    await reached(runner, 'plant', 'running')
    const { endpoint, restarts, enabled, log: lines } = linkOf(runner, 'plant')
    assert.equal(endpoint, `127.0.0.1:${registry.find('millwright.links.plant')?.port}`)
    assert.deepEqual([restarts, enabled], [0, true])
    assert.match(lines?.join('\n') ?? '', /info The link Simulated plant listens\. host="127\.0\.0\.1"/)
    await runner.stop()
    assert.equal(registry.find('millwright.links.plant'), undefined)
    assert.deepEqual([linkOf(runner, 'plant').state, linkOf(runner, 'plant').endpoint], ['stopped', undefined])
  })

  test('a link is starting until its new process has registered, even if an earlier process had registered', async () => {
    const { appInstanceId } = plant
    const info = { app_instance_id: appInstanceId, ipv4_address: '127.0.0.1', grpc_ip_port_number: 9 }
    await askRegistry(server.port, 'millwright')('RegisterService', { info })
    const { runner } = start(['plant'])
    assert.ok(runner.isStarting(appInstanceId))
    assert.ok(!runner.isStarting('test.links.other'))
    await reached(runner, 'plant', 'running')
    assert.ok(!runner.isStarting(appInstanceId))
    await runner.switch('plant', false)
    assert.ok(!runner.isStarting(appInstanceId))
  })

  test('no other program can register or unregister the id of a running link, but can when the link is switched off', async () => {
    const { runner } = start(['plant'])
    await reached(runner, 'plant', 'running')
    const port = registry.find('millwright.links.plant')?.port
    const info = { app_instance_id: 'millwright.links.plant', ipv4_address: '127.0.0.1', grpc_ip_port_number: 9 }
    const call = (method: string) => askRegistry(server.port, 'millwright')(method, { info })
    for (const method of ['RegisterService', 'UnregisterService'])
      await assert.rejects(call(method), { code: status.PERMISSION_DENIED, details: /runs the asset link .* itself/ })
    assert.equal(registry.find('millwright.links.plant')?.port, port)
    await runner.switch('plant', false)
    await reached(runner, 'plant', 'stopped')
    await until(() =>
      call('RegisterService').then(
        () => true,
        () => false,
      ),
    )
    assert.equal(registry.find('millwright.links.plant')?.port, 9)
    await runner.switch('plant', true)
    await reached(runner, 'plant', 'running')
    assert.notEqual(registry.find('millwright.links.plant')?.port, 9)
  })

  test('restarts a killed link and removes its registration', async () => {
    const { runner } = start(['plant'])
    await reached(runner, 'plant', 'running')
    const before = registry.find('millwright.links.plant')
    const line = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
    for (const child of line.trim().split(' ')) {
      if (readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(plant.file)) process.kill(Number(child), 'SIGKILL')
    }
    await until(() => registry.find('millwright.links.plant') === undefined)
    await reached(runner, 'plant', 'running')
    const { restarts, problem } = linkOf(runner, 'plant')
    assert.equal(restarts, 1)
    assert.match(problem ?? '', /^The link was ended by SIGKILL/)
    assert.notEqual(registry.find('millwright.links.plant')?.port, before?.port)
  })

  test('restarts a crashing link with growing pauses and shows the reason', onlyInLongRuns, async () => {
    const { runner } = start(['crashing'], { more: { restart: { firstMs: 100, longestMs: 100_000 } } })
    const ends: number[] = []
    for (
      const deadline = performance.now() + 300_000;
      ends.length < 6 && performance.now() < deadline;
      await delay(1)
    ) {
      const { restarts } = linkOf(runner, 'crashing')
      if (restarts > ends.length) ends.push(performance.now())
    }
    assert.equal(ends.length, 6)
    const { state, problem, log: lines } = linkOf(runner, 'crashing')
    assert.equal(state, 'failed')
    assert.match(problem ?? '', /^The link ended with exit code 3: .* warn There is no network$/)
    assert.equal(lines?.length, 6)
    // The pause before the sixth start is at least 800 ms, the first one at most 100 ms. The end of the process before it
    // may be seen late on a busy machine.
    assert.ok((ends[5] ?? 0) - (ends[4] ?? 0) > 160)
    await runner.switch('crashing', false)
    await reached(runner, 'crashing', 'stopped')
    assert.equal(linkOf(runner, 'crashing').problem, undefined)
  })

  test('gives a link no variables of the gateway except for those of the operating system', async () => {
    const { runner } = start(['waiting'])
    const line = await until(() => linkOf(runner, 'waiting').log?.find((text) => text.startsWith('{"')))
    const environment = JSON.parse(line) as Record<string, string>
    assert.equal(environment.LANG, 'C.UTF-8')
    assert.doesNotMatch(line, /planted-secret|MILLWRIGHT_/)
    const { NODE_CHANNEL_FD: _, NODE_CHANNEL_SERIALIZATION_MODE: __, ...passed } = environment
    assert.deepEqual(passed, { ...environmentOf(process.env), LANG: 'C.UTF-8' })
  })

  test('gives a link the URL for traces as a variable, because all users of the machine see arguments', async () => {
    const tracesUrl = 'http://127.0.0.1:4318/v1/traces?api-key=planted'
    const { runner } = start(['waiting'], { tracesUrl })
    const find = (start: string) => until(() => linkOf(runner, 'waiting').log?.find((text) => text.startsWith(start)))
    const environment = JSON.parse(await find('{"')) as Record<string, string>
    assert.equal(environment.MILLWRIGHT_LINK_TRACES_URL, tracesUrl)
    assert.doesNotMatch(await find('arguments '), /planted/)
  })

  test('gives each link a folder in the home of the gateway', async () => {
    const { runner } = start(['waiting'])
    const line = await until(() => linkOf(runner, 'waiting').log?.find((text) => text.includes('home ')))
    assert.match(line, /home .*links.waiting$/)
  })

  test('shows the notices of a link', async () => {
    const { runner } = start(['waiting'])
    const notices = await until(() => linkOf(runner, 'waiting').notices)
    assert.deepEqual(notices, ['ICMP is not allowed. Run: sudo setcap cap_net_raw+ep node'])
  })

  test('kills a link that ignores SIGTERM', onlyInLongRuns, async () => {
    const { runner } = start(['stubborn'], { more: { stopMs: 5_000 } })
    await until(() => linkOf(runner, 'stubborn').log?.includes('ready'))
    await runner.stop()
    assert.deepEqual(linkOf(runner, 'stubborn').log, ['ready', 'ignored'])
    assert.equal(linkOf(runner, 'stubborn').state, 'stopped')
  })

  test('starts and stops a link after a change of links.json, and after a restart of the gateway', async () => {
    const { runner, home } = start(['waiting'])
    await until(async () => (await runningState(home))?.links.find(({ name }) => name === 'waiting')?.enabled)
    await writeSwitches(home, { waiting: false, stubborn: false })
    await reached(runner, 'waiting', 'stopped')
    await runner.stop()
    assert.equal(await runningState(home), undefined)
    const again = start(['waiting'], { home })
    await again.started
    assert.deepEqual(
      again.runner.status().filter(({ enabled }) => enabled),
      [],
    )
    await again.runner.switch('waiting', true)
    await until(() => linkOf(again.runner, 'waiting').notices)
    assert.deepEqual(JSON.parse(readFileSync(join(home, 'links.json'), 'utf8')), {
      links: { waiting: true, stubborn: false },
    })
  })

  test('keeps the links when links.json is not valid', async () => {
    const { runner, home } = start(['waiting'])
    await until(() => linkOf(runner, 'waiting').notices)
    writeFileSync(join(home, 'links.json'), '{')
    await until(() => logged.some((line) => line.includes('links.json cannot be read')))
    assert.equal(linkOf(runner, 'waiting').enabled, true)
    await runner.switch('plant', false)
    assert.deepEqual(JSON.parse(readFileSync(join(home, 'links.json'), 'utf8')), { links: { plant: false } })
  })

  test('rejects an unknown link in the setting and as the target of a switch', async () => {
    assert.throws(() => start(['oven']), SetupError)
    const { runner } = start(['all'])
    assert.equal(runner.status().length, builtInLinks.length)
    await assert.rejects(
      runner.switch('oven', true),
      /"oven" is not a built-in link\. Built-in links: plant, waiting, crashing, stubborn\./,
    )
  })

  test('ends a link when the gateway is killed', async () => {
    const home = temporaryFolder()
    const source = `
      import { LinkRunner } from ${JSON.stringify(join(import.meta.dirname, 'link-runner.ts'))}
      import { Registry } from ${JSON.stringify(join(import.meta.dirname, '../registry/registry.ts'))}
      import { createLog } from ${JSON.stringify(join(import.meta.dirname, '../log.ts'))}
      const log = createLog({ level: 'silent' })
      const registry = await Registry.open({ file: ${JSON.stringify(join(home, 'registry.json'))}, log })
      const settings = { home: ${JSON.stringify(home)}, links: ['plant'], linkVendors: ['millwright'], registryHost: '127.0.0.1', logLevel: 'silent' }
      await new LinkRunner({ settings, builtInLinks: [${JSON.stringify(plant)}], registry, registryPort: ${server.port}, log }).start()
      setInterval(() => {}, 1_000)`
    const gateway = spawn(process.execPath, ['--input-type=module', '--eval', source], { stdio: 'inherit' })
    await until(() => registry.find('millwright.links.plant'))
    const children = readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8').trim().split(' ')
    assert.equal(children.length, 1)
    gateway.kill('SIGKILL')
    await once(gateway, 'exit')
    await until(() => !existsSync(`/proc/${children[0]}`))
  })
})

describe('LinkLog', () => {
  test('starts a new file when the file is full, and keeps one previous file', async () => {
    const file = join(temporaryFolder(), 'links', 'plant.log')
    const output = new LinkLog({ file, fileBytes: 1_000 })
    for (let line = 0; line < 100; line++)
      await output.append([`line ${String(line).padStart(3, '0')} ${'x'.repeat(40)}`])
    assert.ok(statSync(file).size <= 1_000 && statSync(previousFile(file)).size <= 1_000)
    const lines = await readLog(file, 30)
    assert.equal(lines.length, 30)
    assert.match(lines[29] ?? '', /^line 099/)
    assert.match(lines[0] ?? '', /^line 070/)
    // A new process continues the file.
    await new LinkLog({ file, fileBytes: 1_000 }).append(['after a restart'])
    const [before, last] = await readLog(file, 2)
    assert.match(before ?? '', /^line 099/)
    assert.equal(last, 'after a restart')
  })

  test('splits output into lines, cuts endless lines and removes control characters', async () => {
    const output = new LinkLog({ file: join(temporaryFolder(), 'plant.log') })
    const chunks = ['first\nsec', 'ond \u001b[31mred\n', 'x'.repeat(5_000), 'y'.repeat(5_000), '\n\nä'].map((text) =>
      Buffer.from(text),
    )
    await output.follow(chunks)
    const [first, second, long, last] = output.latest(10)
    assert.deepEqual([first, second, last], ['first', 'second  [31mred', 'ä'])
    assert.equal(long?.length, 2_000)
  })

  test('continues without the file when the file cannot be written', async () => {
    const blocked = join(temporaryFolder(), 'file')
    writeFileSync(blocked, '')
    const output = new LinkLog({ file: join(blocked, 'plant.log') })
    await output.append(['still here'])
    assert.deepEqual(output.latest(1), ['still here'])
  })
})

test('a line of the log contains no control or format characters', () => {
  assert.equal(readableLine('left\u202eright\u001b[0m'), 'left right [0m')
})

test('concurrent changes of links.json are all stored, and a lock of a crashed process is removed', async () => {
  const home = temporaryFolder()
  const names = Array.from({ length: 20 }, (_, index) => `link-${index}`)
  await Promise.all(names.map((name) => writeSwitches(home, { [name]: true })))
  assert.deepEqual([...(await readSwitches(home)).keys()].toSorted(), names.toSorted())
  const lock = join(home, 'links.json.lock')
  assert.equal(existsSync(lock), false)
  writeFileSync(lock, '')
  utimesSync(lock, 0, 0)
  await writeSwitches(home, { last: true })
  assert.equal((await readSwitches(home)).get('last'), true)
})

test('runningState finds the gateway of another user, and no gateway whose process has ended', async (t) => {
  const home = temporaryFolder()
  mkdirSync(join(home, 'links'))
  writeFileSync(join(home, 'links', 'state.json'), JSON.stringify({ processId: 1, links: [] }))
  let code = 'EPERM'
  // One mock: a second mock of the same method would restore the first one at the end of the test.
  t.mock.method(process, 'kill', () => {
    throw Object.assign(new Error('not permitted'), { code })
  })
  assert.deepEqual(await runningState(home), { processId: 1, links: [] })
  code = 'ESRCH'
  assert.equal(await runningState(home), undefined)
})
