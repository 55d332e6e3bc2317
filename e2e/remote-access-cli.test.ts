import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { startSimulator } from '@millwright/links/opcua/simulator.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { type Ended, millwright, type Program, root } from './program.ts'
import { type Gateway, newGateway, over, startGateway } from './shop-floor.ts'
import { newKey, type SshDevice, startSshDevice } from './ssh-device.ts'

/**
 * These tests connect to an asset with the command line: a real platform, a gateway in its own process that found the
 * device with a scan, an echo server and an SSH server as the device, and OpenSSH as a client.
 */

const folder = temporaryFolder('remote-access')
const home = folder.path
const user = 'admin'
const password = 'a password of the device'
const clientKey = newKey()
const keyFile = join(home, 'client-key')

let platform: Platform
let caller: Caller
let gateway: Gateway
let echo: Server
let echoPort: number
let device: SshDevice
let assetId: string

before(async () => {
  writeFileSync(keyFile, clientKey.private, { mode: 0o600 })
  echo = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).pipe(socket))
  echo.listen(0, '127.0.0.1')
  await once(echo, 'listening')
  echoPort = (echo.address() as AddressInfo).port
  device = await startSshDevice({ user, password, publicKey: clientKey.public })
  platform = await startPlatform({ home })
  caller = await callerOf(platform)
  await startFloor()
  assetId = await findDevice()
  const { data: groups } = await caller.authorization.listAccessGroups({ query: { name: 'default' } })
  const policy = { approval: 'none', recording: 'none', maxMinutes: 60, idleMinutes: 15 } as const
  await caller['remote-access'].putPolicy({
    params: { accessGroup: groups[0]?.id ?? '' },
    body: { data: { ...policy, ports: [echoPort, device.port] } },
  })
  await gatewayConnected()
})

after(async () => {
  await gateway?.program[Symbol.asyncDispose]()
  await platform?.[Symbol.asyncDispose]()
  await device?.[Symbol.asyncDispose]()
  echo?.close()
  folder[Symbol.dispose]()
})

/** Starts a gateway whose local files allow scans of this machine and connections to the two ports. */
async function startFloor(): Promise<void> {
  const gatewayHome = join(home, 'floor')
  mkdirSync(gatewayHome)
  const budget = await millwright(['gateway', 'budget', '--home', gatewayHome, '--local-addresses', 'allow'], { home })
    .ended
  assert.equal(budget.code, 0, budget.stderr)
  const allow = [{ network: '127.0.0.1/32', ports: [echoPort, device.port] }]
  const remoteAccess = { isEnabled: true, allow, loopback: true }
  writeFileSync(join(gatewayHome, 'remote-access.json'), JSON.stringify({ remoteAccess }))
  const id = await newGateway(caller, { home, name: 'floor' })
  gateway = await startGateway('floor', { home, id, environment: { MILLWRIGHT_GATEWAY_LINKS: 'opcua' } })
}

/** Scans this machine with the OPC UA link, and returns the id of the asset that it found. */
async function findDevice(): Promise<string> {
  const assetLinkId = 'millwright.links.opcua'
  await until('the link is reachable', async () => {
    const { data: links } = await caller.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    return links.some((link) => link.assetLinkId === assetLinkId && link.reachable)
  })
  const properties = { Manufacturer: 'Acme', Model: 'D-100', SerialNumber: '12' }
  await using simulator = await startSimulator({
    application: { uri: 'urn:example:drive', productUri: 'urn:example', name: 'Drive 12' },
    devices: [{ name: 'Drive 12', properties }],
  })
  const { jobId } = await caller.discovery.createDiscovery({
    params: { gatewayId: gateway.id },
    body: {
      data: {
        assetLinkId,
        discoveryFilters: [{ key: 'ip_range', value: '127.0.0.1' }],
        discoveryOptions: [{ key: 'ports', value: String(simulator.port) }],
      },
    },
  })
  const { state } = await over(caller, jobId, 120_000)
  const { data } = await caller.discovery.getReport({ params: { jobId } })
  assert.equal(state, 'finished')
  assert.deepEqual(data.errors, [])
  return data.findings[0]?.assetId ?? assert.fail('the scan found no asset')
}

async function gatewayConnected(): Promise<void> {
  await until('the gateway has a tunnel', async () => {
    const { data } = await caller['remote-access'].listGateways({})
    return data.some(({ gatewayId, isConnected }) => gatewayId === gateway.id && isConnected)
  })
}

/** Returns the environment of commands that run outside the test helpers. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: home, MILLWRIGHT_HOME: home, TERM: 'xterm' }
}

const program = join(root, 'cli/millwright.mjs')
const commandOf = (...args: string[]) => [process.execPath, program, ...args]

/** Returns a command for a shell. Each word is quoted, because the path of the program can contain blanks. */
function shellCommand(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
}

function run(...args: string[]): Promise<Ended> {
  return millwright(args, { home }).ended
}

type LocalPort = { program: Program; port: number; sessionId: string; stop(): Promise<Ended> }

async function openPort(...args: string[]): Promise<LocalPort> {
  const started = millwright(['connect', assetId, String(echoPort), '--listen', '--json', ...args], { home })
  await until('the port is open', () => started.stdout() !== '' || started.child.exitCode !== null)
  assert.notEqual(started.stdout(), '', started.stderr())
  const { data } = JSON.parse(started.stdout())
  return {
    program: started,
    port: data.port,
    sessionId: data.session.id,
    stop() {
      started.child.kill('SIGINT')
      return started.ended
    },
  }
}

async function exchange(port: number, content: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(content)
  return buffer(socket)
}

/** Compares bytes. The message contains the sizes and the first difference, instead of all bytes. */
function assertEqualBytes(actual: Buffer | undefined, expected: Buffer): void {
  const first = expected.findIndex((byte, index) => byte !== actual?.[index])
  assert.deepEqual({ size: actual?.length, first }, { size: expected.length, first: -1 })
}

const sessionOf = async (id: string) => (await caller['remote-access'].readSession({ params: { id } })).data

describe('a local port of millwright connect', () => {
  test('carries several connections with a half close, and Ctrl-C ends the session', async () => {
    const local = await openPort('--reason', 'end-to-end test')
    const contents = [1, 70_000, 5_000_000].map((size, index) => Buffer.alloc(size, index + 1))
    const results = await Promise.all(contents.map((content) => exchange(local.port, content)))
    assert.ok(results.every((result, index) => result.equals(contents[index] ?? Buffer.alloc(0))))
    const { code, stderr } = await local.stop()
    assert.equal(code, 130, stderr)
    const session = await sessionOf(local.sessionId)
    assert.deepEqual([session.state, session.ending, session.reason], ['ended', 'ended-by-user', 'end-to-end test'])
    await until('the bytes are counted', async () => (await sessionOf(local.sessionId)).sentBytes === 5_070_001)
    const listed = await run('remote', 'sessions', '--asset', assetId, '--state', 'ended')
    assert.match(listed.stdout, new RegExp(`${local.sessionId} +ended +.*ended-by-user`))
  })

  test('ends with the reason when another command ends the session', async () => {
    const local = await openPort()
    const ended = await run('remote', 'end', local.sessionId)
    assert.equal(ended.stdout, `Session ${local.sessionId} ended.\n`)
    // A connection notices the end at once.
    connect(local.port, '127.0.0.1').on('error', () => {})
    const { code, stderr } = await local.program.ended
    assert.equal(code, 1)
    assert.match(stderr, /The session was ended/)
  })

  test('keeps listening while the platform restarts, and uses the same session afterwards', async () => {
    const local = await openPort()
    const content = Buffer.from('before')
    assert.ok((await exchange(local.port, content)).equals(content))
    const { port } = new URL(platform.baseUrl)
    await platform.stop()
    platform = await startPlatform({ home, environment: { MILLWRIGHT_PORT: port } })
    caller = await callerOf(platform)
    await gatewayConnected()
    const next = Buffer.from('after')
    assert.ok((await exchange(local.port, next)).equals(next))
    assert.equal((await sessionOf(local.sessionId)).state, 'open')
    assert.equal((await local.stop()).code, 130)
  })

  test('a port that the gateway does not allow is refused with the next step', async () => {
    const { code, stderr, stdout } = await run('connect', assetId, '1')
    assert.deepEqual([code, stdout], [5, ''])
    assert.match(stderr, /\(target_not_allowed\)\nNext: /)
  })
})

describe('millwright connect --stdio', () => {
  function startStandardStreams(): ChildProcessWithoutNullStreams {
    const [node = '', ...args] = commandOf('connect', assetId, String(echoPort), '--stdio')
    return spawn(node, args, { env: environment(), cwd: '/', stdio: 'pipe' })
  }

  test('carries all bytes and a half close, and exits when the device has ended', async () => {
    const child = startStandardStreams()
    const content = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251))
    child.stdin.end(content)
    const [output, [code]] = await Promise.all([buffer(child.stdout), once(child, 'close')])
    assert.equal(code, 0)
    assert.ok(output.equals(content))
  })

  test('ends the session when it is terminated, as OpenSSH does with its ProxyCommand', async () => {
    const child = startStandardStreams()
    child.stdin.write('x')
    await once(child.stdout, 'data')
    const open = await caller['remote-access'].listSessions({ query: { state: 'open' } })
    assert.equal(open.data.length, 1)
    child.kill('SIGHUP')
    await once(child, 'close')
    assert.equal((await sessionOf(open.data[0]?.id ?? '')).state, 'ended')
  })

  test('is a ProxyCommand of OpenSSH', async (context) => {
    if (spawnSync('ssh', ['-V']).status !== 0) return context.skip('ssh is not installed')
    const proxy = shellCommand(commandOf('connect', '%h', String(device.port), '--stdio'))
    const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', `UserKnownHostsFile=${join(home, 'known-hosts')}`]
    const args = ['-F', '/dev/null', '-i', keyFile, '-l', user, '-o', `ProxyCommand=${proxy}`]
    const child = spawn('ssh', [...args, ...options.flatMap((option) => ['-o', option]), assetId, 'show version'], {
      env: environment(),
      cwd: '/',
    })
    child.stdin.end()
    const [output, errors, [code]] = await Promise.all([
      buffer(child.stdout),
      buffer(child.stderr),
      once(child, 'close'),
    ])
    assert.equal(String(output), 'ran show version\n', String(errors))
    assert.equal(code, 5, 'the exit code of the command on the device')
  })
})

describe('commands that need a terminal', () => {
  const hasTerminals = spawnSync('script', ['--version']).status === 0

  /** Runs a command in a terminal of `script`, and types each answer after the text before it was printed. */
  async function inTerminal(args: string[], dialog: [text: string, typed: string][]) {
    const command = shellCommand(commandOf(...args))
    const child = spawn('script', ['-qefc', `stty cols 91 rows 33; exec ${command}`, '/dev/null'], {
      env: environment(),
      cwd: '/',
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    const closed = once(child, 'close')
    let read = 0
    for (const [text, typed] of dialog) {
      await until(`"${text}" is printed`, () => output.includes(text, read) || child.exitCode !== null, 60_000)
      assert.ok(output.includes(text, read), output)
      read = output.indexOf(text, read) + text.length
      child.stdin.write(typed)
    }
    const [code] = await closed
    return { code, output }
  }

  const signIn: [string, string][] = [
    ['User name: ', `${user}\r`],
    ['Password: ', `${password}\r`],
  ]

  test('a terminal has the size of this terminal, and its exit code is the exit code of the shell', async (context) => {
    if (!hasTerminals) return context.skip('script is not installed')
    const args = ['connect', assetId, 'ssh', '--port', String(device.port)]
    const { code, output } = await inTerminal(args, [...signIn, ['device> ', 'exit 7\r']])
    assert.equal(code, 7, output)
    assert.match(output, /Host key of .* \(127\.0\.0\.1:\d+\): ssh-ed25519 SHA256:\S+ \((new; stored|known)/)
    assert.doesNotMatch(output, new RegExp(password))
    assert.ok(device.sizes.includes('91x33'))
    const keys = await run('remote', 'host-keys', assetId, '--json')
    assert.equal(JSON.parse(keys.stdout).data.length, 1)
  })

  test('~. ends a terminal', async (context) => {
    if (!hasTerminals) return context.skip('script is not installed')
    const args = ['connect', assetId, 'ssh', '--port', String(device.port)]
    const { code, output } = await inTerminal(args, [...signIn, ['device> ', 'ls\r'], ['ls', '~.']])
    assert.equal(code, 0, output)
    assert.match(output, /\(known\)/)
    assert.match(output, /Session ended/)
  })

  test('a wrong password is reported, and the exit code is 3', async (context) => {
    if (!hasTerminals) return context.skip('script is not installed')
    const wrong: [string, string] = ['Password: ', 'wrong\r']
    const args = ['connect', assetId, 'ssh', '--port', String(device.port)]
    const { code, output } = await inTerminal(args, [['User name: ', `${user}\r`], wrong, wrong, wrong])
    assert.equal(code, 3, output)
    assert.match(output, /The device rejected the sign-in/)
  })

  test('files are copied in both directions', async (context) => {
    if (!hasTerminals) return context.skip('script is not installed')
    const content = Buffer.from(Array.from({ length: 6_000_000 }, (_, index) => (index * 7) % 253))
    const file = join(home, 'firmware.bin')
    writeFileSync(file, content)
    const port = ['--port', String(device.port)]
    const up = await inTerminal(['remote', 'copy', file, `${assetId}:/firmware.bin`, ...port], signIn)
    assert.equal(up.code, 0, up.output)
    assertEqualBytes(device.files.get('/firmware.bin'), content)
    assert.deepEqual([...device.files.keys()], ['/firmware.bin'], 'no temporary file is left')
    const copy = join(home, 'copy.bin')
    const down = await inTerminal(['remote', 'copy', `${assetId}:/firmware.bin`, copy, ...port], signIn)
    assert.equal(down.code, 0, down.output)
    assert.ok(readFileSync(copy).equals(content))
    const missing = await inTerminal(['remote', 'copy', `${assetId}:/missing`, copy, ...port], signIn)
    assert.equal(missing.code, 1)
    assert.match(missing.output, /\/missing does not exist on the device/)
  })
})

describe('a credential of the platform', () => {
  before(async () => {
    const { data: schema } = await caller.credentials.createSchema({
      query: { resourceIdentifier: 'acme.drives', resourceVersion: '1.0.0' },
      body: {
        data: {
          uri: 'https://acme.example/ssh.json',
          schema: {
            type: 'object',
            properties: { username: { type: 'string' }, password: { type: 'string', writeOnly: true } },
            required: ['username', 'password'],
          },
        },
      },
    })
    const values = { username: user, password }
    const metadata = { ipRanges: ['127.0.0.1'] }
    await caller.credentials.createInstance({
      body: { data: { schemaId: schema.id, name: 'Hall 4', values, metadata } },
    })
  })

  const options = () => ['--port', String(device.port), '--credential', 'Hall 4']

  test('signs in without prompts, and runs piped input in the shell', async () => {
    const { code, stdout, stderr } = await millwright(['connect', assetId, 'ssh', ...options()], {
      home,
      input: 'exit 9\n',
    }).ended
    assert.equal(code, 9, stderr)
    assert.match(stdout, /^device> exit 9/)
    assert.doesNotMatch(stdout + stderr, new RegExp(password))
  })

  test('copies a large file to the device and back', async () => {
    const content = Buffer.alloc(12_000_000, 'firmware ')
    const file = join(home, 'large.bin')
    writeFileSync(file, content)
    const up = await run('remote', 'copy', file, `${assetId}:/large.bin`, ...options())
    assert.equal(up.code, 0, up.stderr)
    assertEqualBytes(device.files.get('/large.bin'), content)
    const copy = join(home, 'large-copy.bin')
    const down = await run('remote', 'copy', `${assetId}:/large.bin`, copy, ...options())
    assert.equal(down.code, 0, down.stderr)
    assert.ok(readFileSync(copy).equals(content))
  })
})

describe('millwright remote', () => {
  test('shows and changes the policy, the switches and the target', async () => {
    const policy = await run('remote', 'policy', 'default', '--idle-minutes', '20')
    assert.match(policy.stdout, /idleMinutes +20/)
    assert.match((await run('remote', 'policies')).stdout, /^default +none +none +60 +20 /m)
    assert.match((await run('remote', 'target', assetId)).stdout, /addresses +127\.0\.0\.1/)
    assert.match((await run('remote', 'status')).stdout, /floor +connected +on +0/)
  })

  test('off ends all sessions through the gateway at once, and refuses new ones until on', async () => {
    const local = await openPort()
    const off = await run('remote', 'off', '--gateway', 'floor')
    assert.equal(off.code, 0, off.stderr)
    connect(local.port, '127.0.0.1').on('error', () => {})
    const { code, stderr } = await local.program.ended
    assert.equal(code, 1)
    assert.match(stderr, /remote access was switched off/)
    const refused = await run('connect', assetId, String(echoPort))
    assert.equal(refused.code, 5)
    assert.match(refused.stderr, /\(remote_access_off\)/)
    assert.equal((await run('remote', 'on', '--gateway', 'floor')).code, 0)
  })

  test('a session that needs approval waits, and Ctrl-C withdraws the request', async () => {
    assert.equal((await run('remote', 'policy', 'default', '--approval', 'required')).code, 0)
    const waiting = millwright(['connect', assetId, String(echoPort)], { home })
    await until('the request is shown', () => waiting.stderr().includes('millwright remote approve '))
    const id = /approve (\S+)/.exec(waiting.stderr())?.[1] ?? ''
    const own = await run('remote', 'approve', id)
    assert.equal(own.code, 3, 'the requester cannot approve')
    waiting.child.kill('SIGINT')
    assert.equal((await waiting.ended).code, 130)
    assert.equal((await sessionOf(id)).state, 'ended')
    assert.equal((await run('remote', 'policy', 'default', '--approval', 'none')).code, 0)
  })
})
