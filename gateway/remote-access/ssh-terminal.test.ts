import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { ServerChannel } from 'ssh2'
import ssh2 from 'ssh2'
import { until } from '../testing.ts'
import { hostKey, passwordOnly, type SshDeviceOptions, TestSshDevice } from './ssh-testing.ts'
import { refusalOfOpening, TestDevice, TestPlatform, type TestStream } from './testing.ts'

/** These tests use the server of the library ssh2 as the device. */

const user = 'fitter'
/** A text that every secret in this file contains, so that the tests find a leak. */
const planted = 'planted-secret'
const credential = { username: user, password: planted }

const echo = (channel: ServerChannel) => {
  channel.write('$ ')
  channel.on('data', (bytes: Buffer) => {
    if (String(bytes).includes('exit')) {
      channel.exit(3)
      channel.end()
    } else channel.write(bytes)
  })
}
const device = (options: Partial<SshDeviceOptions> = {}) =>
  TestSshDevice.start({ authenticate: passwordOnly(user, planted), shell: echo, ...options })

/** Answers the next prompt of a stream. Returns the prompt. */
async function answer(stream: TestStream, ...answers: string[]) {
  const prompt = await stream.next('prompt')
  stream.stream.sendMessage({ type: 'answers', answers })
  return prompt
}

const prompted = (...prompts: { text: string; isSecret: boolean }[]) => ({
  type: 'prompt',
  title: '',
  instructions: '',
  prompts,
})

function assertNoLeak(platform: TestPlatform, ...texts: string[]): void {
  for (const text of [...platform.logged, ...texts]) assert.doesNotMatch(text, new RegExp(planted))
}

describe('an ssh terminal', () => {
  test('signs in with the credential of the session, and carries input, output and the exit code', async () => {
    await using peer = await device({ banner: 'Authorised staff only' })
    using platform = new TestPlatform(peer.port, { credential })
    const terminal = await platform.terminal()
    assert.equal(await terminal.readUntil('$ '), 'Authorised staff only\r\n$ ')
    assert.deepEqual(await terminal.next('signed-in'), { type: 'signed-in', user })
    terminal.stream.write('echo ü\n')
    assert.match(await terminal.readUntil('ü\n'), /echo ü/)
    terminal.stream.write('exit\n')
    assert.equal(await terminal.rest(), '')
    assert.deepEqual(await terminal.next('exit'), { type: 'exit', code: 3 })
    assert.equal(
      terminal.messages.some(({ type }) => type === 'prompt'),
      false,
    )
    assert.deepEqual(peer.attempts, ['none', 'password'])
    assertNoLeak(platform)
  })

  test('shows only the first characters of endless banners', async () => {
    await using peer = await device({ banner: 'b'.repeat(1_000), repeatedBanners: 500 })
    using platform = new TestPlatform(peer.port, { credential })
    const terminal = await platform.terminal()
    assert.ok((await terminal.readUntil('$ ')).length < 5_000)
  })

  test('sends the host key before it signs in', async () => {
    await using peer = await device()
    using platform = new TestPlatform(peer.port, { credential })
    const terminal = await platform.terminal()
    await terminal.readUntil('$ ')
    const key = ssh2.utils.parseKey(hostKey.public)
    assert.ok(!(key instanceof Error))
    const digest = createHash('sha256').update(key.getPublicSSH()).digest('base64').replace(/=+$/, '')
    assert.deepEqual(platform.hostKeys, [
      { type: 'host-key', algorithm: 'ssh-ed25519', fingerprint: `SHA256:${digest}` },
    ])
  })

  test('ends with host_key_changed, without a sign-in, if the platform refuses the host key', async () => {
    await using peer = await device()
    using platform = new TestPlatform(peer.port, { credential, isHostKeyAccepted: false })
    const { code, detail } = await (await platform.terminal()).refusal()
    assert.equal(code, 'host_key_changed')
    assert.match(detail, /now has ssh-ed25519 SHA256:.*The device was replaced or reset, or another machine/)
    assert.deepEqual([peer.attempts, platform.credentialRequests], [[], 0])
    await until(() => peer.sockets.size === 0)
  })

  for (const name of ['private_key', 'privateKey'])
    test(`signs in with ${name} and a passphrase`, async () => {
      const pair = ssh2.utils.generateKeyPairSync('rsa', {
        bits: 2048,
        passphrase: `${planted}-passphrase`,
        cipher: 'aes256-ctr',
      })
      const key = ssh2.utils.parseKey(pair.public)
      assert.ok(!(key instanceof Error))
      await using peer = await device({
        authenticate: (context) => {
          if (context.method !== 'publickey' || !context.key.data.equals(key.getPublicSSH()))
            context.reject(['publickey'])
          else if (context.signature && context.blob && !key.verify(context.blob, context.signature, context.hashAlgo))
            context.reject()
          else context.accept()
        },
      })
      const fields = { username: user, [name]: pair.private, passphrase: `${planted}-passphrase` }
      using platform = new TestPlatform(peer.port, { credential: fields })
      const terminal = await platform.terminal()
      await terminal.readUntil('$ ')
      using another = new TestPlatform(peer.port, { credential: { ...fields, passphrase: 'other' } })
      const { code, detail } = await (await another.terminal()).refusal()
      assert.equal(code, 'authentication_failed')
      assert.match(detail, /private key of the credential cannot be read/)
      assertNoLeak(platform, detail)
    })

  test('sends the password of a credential once, to a single hidden prompt, if the device has only prompts', async () => {
    const answers: string[][] = []
    await using peer = await device({
      authenticate: (context) => {
        if (context.method !== 'keyboard-interactive') return context.reject(['keyboard-interactive'])
        context.prompt([{ prompt: 'Password: ', echo: false }], (given) => {
          answers.push(given)
          if (given[0] === planted) context.accept()
          else context.reject(['keyboard-interactive'])
        })
      },
    })
    using platform = new TestPlatform(peer.port, { credential })
    await (await platform.terminal()).readUntil('$ ')
    using wrong = new TestPlatform(peer.port, { credential: { ...credential, password: `${planted}-wrong` } })
    const { code, detail } = await (await wrong.terminal()).refusal()
    assert.equal(code, 'authentication_failed')
    assert.deepEqual(answers, [[planted], [`${planted}-wrong`]])
    assertNoLeak(wrong, detail)
  })

  test('does not answer visible or several prompts with the password of a credential', async () => {
    const answers: string[][] = []
    await using peer = await device({
      authenticate: (context) => {
        if (context.method !== 'keyboard-interactive') return context.reject(['keyboard-interactive'])
        context.prompt([{ prompt: 'Comment: ', echo: true }], (given) => {
          answers.push(given)
          context.reject(['keyboard-interactive'])
        })
      },
    })
    using platform = new TestPlatform(peer.port, { credential })
    assert.equal((await (await platform.terminal()).refusal()).code, 'authentication_failed')
    assert.deepEqual(answers, [['']])
  })

  test('ends with authentication_failed after one attempt if the device rejects the credential', async () => {
    await using peer = await device()
    using platform = new TestPlatform(peer.port, { credential: { ...credential, password: `${planted}-old` } })
    const { code, detail } = await (await platform.terminal()).refusal()
    assert.equal(code, 'authentication_failed')
    assert.match(detail, /rejected the credential. It accepts: password/)
    assert.deepEqual(peer.attempts, ['none', 'password'])
    assertNoLeak(platform, detail)
  })

  for (const fields of [
    {},
    { username: user },
    { password: planted },
    { username: 1, password: planted },
    { community: planted },
  ])
    test(`explains that a credential with the fields ${Object.keys(fields).join(', ') || 'none'} cannot be used for ssh`, async () => {
      await using peer = await device()
      using platform = new TestPlatform(peer.port, { credential: fields })
      const { code, detail } = await (await platform.terminal()).refusal()
      assert.equal(code, 'authentication_failed')
      assert.match(detail, /must contain "username" and "password", or "username" and "private_key"/)
      assertNoLeak(platform, detail)
    })

  test('asks for the user name and the password without a credential, at most three times', async () => {
    await using peer = await device()
    using platform = new TestPlatform(peer.port)
    const terminal = await platform.terminal()
    assert.deepEqual(await answer(terminal, user), prompted({ text: 'User name', isSecret: false }))
    assert.deepEqual(await answer(terminal, 'wrong'), prompted({ text: 'Password', isSecret: true }))
    const second = await answer(terminal, planted)
    assert.equal(second.instructions, 'The device rejected the sign-in. Attempt 2 of 3.')
    await terminal.readUntil('$ ')
    assert.deepEqual(await terminal.next('signed-in'), { type: 'signed-in', user })
    assert.equal(platform.credentialRequests, 0)

    const another = await platform.terminal({ sessionId: crypto.randomUUID() })
    await answer(another, user)
    for (const password of ['one', 'two', 'three']) await answer(another, password)
    const { code, detail } = await another.refusal()
    assert.deepEqual([code, detail], ['authentication_failed', 'The device rejected the sign-in 3 times.'])
    assertNoLeak(platform, detail)
  })

  test('forwards the prompts of the device without control characters', async () => {
    await using peer = await device({
      authenticate: (context) => {
        if (context.method !== 'keyboard-interactive') return context.reject(['keyboard-interactive', 'password'])
        context.prompt(
          [
            { prompt: 'Password: ', echo: false },
            { prompt: 'Code\u001b[2J: ', echo: true },
          ],
          'Two factors',
          'Use your token',
          ([password, code]) => {
            if (password === planted && code === '123456') context.accept()
            else context.reject(['keyboard-interactive', 'password'])
          },
        )
      },
    })
    using platform = new TestPlatform(peer.port)
    const terminal = await platform.terminal()
    await answer(terminal, user)
    const prompt = await answer(terminal, planted, '123456')
    assert.deepEqual(prompt, {
      type: 'prompt',
      title: 'Two factors',
      instructions: 'Use your token',
      prompts: [
        { text: 'Password: ', isSecret: true },
        { text: 'Code [2J: ', isSecret: false },
      ],
    })
    await terminal.readUntil('$ ')
  })

  test('omits a message of the device that contains the secret of the user', async () => {
    let rounds = 0
    await using peer = await device({
      authenticate: (context) => {
        if (context.method !== 'keyboard-interactive') return context.reject(['keyboard-interactive'])
        rounds += 1
        const prompt = rounds === 1 ? 'Password: ' : `${planted} is wrong. Password: `
        context.prompt([{ prompt, echo: false }], () => context.reject(['keyboard-interactive']))
      },
    })
    using platform = new TestPlatform(peer.port)
    const terminal = await platform.terminal()
    await answer(terminal, user)
    await answer(terminal, planted)
    const echoed = await answer(terminal, 'other')
    assertNoLeak(platform, JSON.stringify(echoed))
    assert.match(JSON.stringify(echoed), /message of the device is omitted/)
  })

  test('explains that a device with public keys only needs a credential', async () => {
    await using peer = await device({ authenticate: (context) => context.reject(['publickey']) })
    using platform = new TestPlatform(peer.port)
    const terminal = await platform.terminal()
    await answer(terminal, user)
    const { code, detail } = await terminal.refusal()
    assert.equal(code, 'authentication_failed')
    assert.match(detail, /does not accept a password. It accepts: publickey. Select a credential/)
  })

  test('sends the size of the terminal and its changes, and ignores sizes that are not valid', async () => {
    const infos: object[] = []
    await using peer = await device({
      shell: (channel, info) => {
        infos.push({ ...info })
        echo(channel)
      },
    })
    using platform = new TestPlatform(peer.port, { credential })
    const terminal = await platform.terminal({ columns: 132, rows: 43 })
    await terminal.readUntil('$ ')
    for (const size of [
      { columns: 0, rows: 1 },
      { columns: 80 },
      { columns: '80', rows: 24 },
      { columns: 100, rows: 30 },
    ])
      terminal.stream.sendMessage({ type: 'size', ...size })
    await until(() => peer.sizes.length > 0)
    assert.deepEqual(peer.sizes, [{ columns: 100, rows: 30 }])
    assert.partialDeepStrictEqual(infos, [{ columns: 132, rows: 43 }])
  })

  test('bytes that the client sends before the sign-in reach the terminal', async () => {
    await using peer = await device()
    using platform = new TestPlatform(peer.port, { credential })
    const terminal = await platform.terminal()
    terminal.stream.write('early input\n')
    assert.match(await terminal.readUntil('early input\n'), /early input/)
  })

  test('several terminals of a session share one connection, and another session has its own', async () => {
    await using peer = await device()
    using platform = new TestPlatform(peer.port, { credential })
    const terminals = await Promise.all([platform.terminal(), platform.terminal(), platform.terminal()])
    for (const terminal of terminals) await terminal.readUntil('$ ')
    assert.equal(peer.connections, 1)
    const other = await platform.terminal({ sessionId: crypto.randomUUID() })
    await other.readUntil('$ ')
    assert.equal(peer.connections, 2)
    other.stream.reset({ code: 'session_ended', detail: 'The session has ended.' })
    await until(() => peer.sockets.size === 1)
    platform.tunnel.close('test')
    await until(() => peer.sockets.size === 0)
  })

  test('ends with no_shell if the device opens no terminal', async () => {
    await using peer = await TestSshDevice.start({ authenticate: passwordOnly(user, planted) })
    using platform = new TestPlatform(peer.port, { credential })
    assert.equal((await (await platform.terminal()).refusal()).code, 'no_shell')
  })

  test('ends with device_unreachable if the device is killed', async () => {
    await using peer = await device()
    using platform = new TestPlatform(peer.port, { credential })
    const terminal = await platform.terminal()
    await terminal.readUntil('$ ')
    for (const socket of peer.sockets) socket.resetAndDestroy()
    assert.equal((await terminal.refusal()).code, 'device_unreachable')
    // The next terminal opens a new connection.
    await (await platform.terminal()).readUntil('$ ')
    assert.equal(peer.connections, 2)
  })

  test('is refused with device_unreachable if the port is closed or is not an ssh server', async () => {
    const peer = await device()
    const { port } = peer
    await peer[Symbol.asyncDispose]()
    using platform = new TestPlatform(port, { credential })
    assert.equal((await refusalOfOpening(platform.terminal())).code, 'device_unreachable')
    await using web = await TestDevice.start((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    using other = new TestPlatform(web.port, { credential })
    assert.equal((await (await other.terminal()).refusal()).code, 'device_unreachable')
    assert.equal(other.credentialRequests, 0)
  })

  test('delivers all output and the exit code of a device that closes the connection at once, to a slow reader', async () => {
    const output = 'x'.repeat(1_000_000)
    await using peer = await device({
      shell: (channel, _info, { sockets }) => {
        channel.resume()
        channel.write(output, () => {
          channel.exit(0)
          channel.end()
          channel.once('close', () => {
            for (const socket of sockets) socket.end()
          })
        })
      },
    })
    using platform = new TestPlatform(peer.port, { credential })
    const terminal = await platform.terminal()
    await until(() => peer.sockets.size === 0)
    assert.equal((await terminal.rest()).length, output.length)
    assert.deepEqual(await terminal.next('exit'), { type: 'exit', code: 0 })
  })

  test('endless output to a slow reader stops the device, and other terminals continue', async () => {
    let sent = 0
    await using peer = await device({
      shell: (channel, info) => {
        if (info.columns !== 200) return echo(channel)
        const chunk = Buffer.alloc(32 * 1024, 'x')
        const write = () => {
          while (channel.write(chunk)) sent += chunk.length
        }
        channel.on('drain', write)
        write()
      },
    })
    using platform = new TestPlatform(peer.port, { credential })
    await platform.terminal({ columns: 200 })
    await until(() => sent > 1_000_000)
    const other = await platform.terminal()
    await other.readUntil('$ ')
    assert.ok(sent < 16 * 1024 * 1024, `the device sent ${sent} bytes that nobody read`)
  })

  test('connects to an old device with SHA-1 key exchange, DSA-era ciphers and an RSA host key with SHA-1', async () => {
    const rsa = ssh2.utils.generateKeyPairSync('rsa', { bits: 2048 })
    await using peer = await device({
      hostKeys: [rsa.private],
      algorithms: {
        kex: ['diffie-hellman-group1-sha1'],
        cipher: ['3des-cbc'],
        hmac: ['hmac-md5'],
        serverHostKey: ['ssh-rsa'],
        compress: ['none'],
      },
    })
    using platform = new TestPlatform(peer.port, { credential })
    await (await platform.terminal()).readUntil('$ ')
    assert.equal(platform.hostKeys[0]?.algorithm, 'ssh-rsa')
  })
})
