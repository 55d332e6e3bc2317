import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { TestDevice } from '@millwright/gateway/remote-access/testing.ts'
import { runCommand } from './command.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { millwright, root } from './program.ts'
import {
  allowPorts,
  assertEqualBytes,
  connectDevice,
  exchange,
  exchangeMs,
  openLocalPort,
  tunnelOpen,
} from './remote-device.ts'
import type { Gateway } from './shop-floor.ts'
import { newKey, type SshDevice, startSshDevice } from './ssh-device.ts'
import { withinLimit } from './time-limit.ts'

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
let echo: TestDevice
let device: SshDevice
let assetId: string

before(async () => {
  device = await startSshDevice({ user, password, publicKey: clientKey.public })
  echo = await TestDevice.start((socket) => void socket.pipe(socket))
  platform = await startPlatform({ home })
  writeFileSync(keyFile, clientKey.private, { mode: 0o600 })
  caller = await callerOf(platform)
  const ports = [echo.port, device.port]
  const connected = await connectDevice(caller, { home, name: 'floor', ports })
  ;({ gateway, assetId } = connected)
  await allowPorts(caller, connected.groupId, ports)
})

after(async () => {
  await gateway?.program[Symbol.asyncDispose]()
  await platform?.[Symbol.asyncDispose]()
  await device?.[Symbol.asyncDispose]()
  await echo?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

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

const run = (...args: string[]) => runCommand(args, { home })

const openPort = (...args: string[]) => openLocalPort({ home, assetId, devicePort: echo.port, args })

const sessionOf = async (id: string) => (await caller['remote-access'].readSession({ params: { id } })).data

describe('a local port of millwright connect', () => {
  test('carries several connections with a half close, and Ctrl-C ends the session', async () => {
    await using local = await openPort('--reason', 'end-to-end test')
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
    await using local = await openPort()
    const ended = await run('remote', 'end', local.sessionId)
    assert.equal(ended.stdout, `Session ${local.sessionId} ended.\n`)
    // A connection notices the end at once.
    connect(local.port, '127.0.0.1').on('error', () => {})
    const { code, stderr } = await local.program.ended
    assert.equal(code, 1)
    assert.match(stderr, /The session was ended/)
  })

  test('keeps listening while the platform restarts, and uses the same session afterwards', async () => {
    await using local = await openPort()
    const content = Buffer.from('before')
    assert.ok((await exchange(local.port, content)).equals(content))
    const { port } = new URL(platform.baseUrl)
    await platform.stop()
    platform = await startPlatform({ home, environment: { MILLWRIGHT_PORT: port } })
    caller = await callerOf(platform)
    await tunnelOpen(caller, gateway.id)
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
    const [node = '', ...args] = commandOf('connect', assetId, String(echo.port), '--stdio')
    return spawn(node, args, { env: environment(), cwd: '/', stdio: 'pipe' })
  }

  test('carries all bytes and a half close, and exits when the device has ended', async () => {
    const child = startStandardStreams()
    const content = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251))
    child.stdin.end(content)
    const done = Promise.all([buffer(child.stdout), once(child, 'close')])
    const [output, [code]] = await withinLimit('the command ends', done, exchangeMs)
    assert.equal(code, 0)
    assert.ok(output.equals(content))
  })

  test('ends the session when it is terminated, as OpenSSH does with its ProxyCommand', async () => {
    const child = startStandardStreams()
    child.stdin.write('x')
    await withinLimit('the byte comes back', once(child.stdout, 'data'))
    const open = await caller['remote-access'].listSessions({ query: { state: 'open' } })
    assert.equal(open.data.length, 1)
    child.kill('SIGHUP')
    await withinLimit('the command ends after SIGHUP', once(child, 'close'))
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
    const done = Promise.all([buffer(child.stdout), buffer(child.stderr), once(child, 'close')])
    const [output, errors, [code]] = await withinLimit('ssh ends', done, exchangeMs)
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
    const content = Buffer.alloc(6_000_000, Buffer.from(Array.from({ length: 253 }, (_, index) => (index * 7) % 253)))
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
    await using local = await openPort()
    const off = await run('remote', 'off', '--gateway', 'floor')
    assert.equal(off.code, 0, off.stderr)
    connect(local.port, '127.0.0.1').on('error', () => {})
    const { code, stderr } = await local.program.ended
    assert.equal(code, 1)
    assert.match(stderr, /remote access was switched off/)
    const refused = await run('connect', assetId, String(echo.port))
    assert.equal(refused.code, 5)
    assert.match(refused.stderr, /\(remote_access_off\)/)
    assert.equal((await run('remote', 'on', '--gateway', 'floor')).code, 0)
  })

  test('a session that needs approval waits, and Ctrl-C withdraws the request', async () => {
    assert.equal((await run('remote', 'policy', 'default', '--approval', 'required')).code, 0)
    const waiting = millwright(['connect', assetId, String(echo.port)], { home })
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
