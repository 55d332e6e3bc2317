import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { WebSocket } from 'ws'
import type { Screen } from '../output/terminal.ts'
import { assetId, minutesFromNow, RemotePeer, sessionId, until } from './testing.ts'

let peer: RemotePeer

beforeEach(async () => {
  peer = await RemotePeer.open()
})

afterEach(() => peer[Symbol.asyncDispose]())

/** A screen whose size a test changes. */
class TestScreen implements Screen {
  readonly modes: boolean[] = []
  readonly #listeners = new Set<() => void>()
  #size = { columns: 120, rows: 40 }

  size() {
    return this.#size
  }

  onResize(listener: () => void) {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  setRawMode(isRaw: boolean) {
    this.modes.push(isRaw)
  }

  resize(columns: number, rows: number) {
    this.#size = { columns, rows }
    for (const listener of this.#listeners) listener()
  }
}

const hostKey = { type: 'host-key', algorithm: 'ssh-ed25519', fingerprint: 'SHA256:abc', isNew: true }
const send = (socket: WebSocket, message: object) => socket.send(JSON.stringify(message))

/** A device that asks for a user name and a password, and then sends all input back. */
function device(received: { messages: unknown[]; text: string; query?: URLSearchParams }, exit?: object) {
  return (socket: WebSocket, query: URLSearchParams) => {
    received.query = query
    send(socket, hostKey)
    send(socket, {
      type: 'prompt',
      title: '',
      instructions: 'Authorised\nusers \u001b[31monly',
      prompts: [
        { text: 'User name', isSecret: false },
        { text: 'Password: ', isSecret: true },
      ],
    })
    socket.on('message', (content, isBinary) => {
      if (!isBinary) {
        const message = JSON.parse(String(content))
        received.messages.push(message)
        if (message.type === 'answers') {
          send(socket, { type: 'signed-in', user: 'admin' })
          socket.send(Buffer.from('$ '))
        }
        return
      }
      received.text += String(content)
      socket.send(content)
      if (!String(content).includes('exit\r')) return
      send(socket, exit ?? { type: 'exit', code: 0 })
      socket.close(1000)
    })
  }
}

test('shows the host key, prompts for the password without echo, and returns the exit code of the shell', async () => {
  const received = { messages: [] as unknown[], text: '', query: new URLSearchParams() }
  peer.onStream = device(received, { type: 'exit', code: 7 })
  const screen = new TestScreen()
  const command = peer.start(['connect', assetId, 'ssh'], { answers: ['admin', 'secret'], screen })
  // A prompt pauses standard input.
  command.bytes.input.pause()
  const asked: string[] = []
  const { promptSecret } = command.terminal
  command.terminal.promptSecret = (question) => {
    asked.push(question)
    return promptSecret(question)
  }
  await until('the terminal is open', () => screen.modes.length === 1)
  screen.resize(100, 30)
  command.bytes.input.write('exit\r')
  assert.equal(await command.ended, 7)
  assert.deepEqual(Object.fromEntries(received.query), { kind: 'terminal', columns: '120', rows: '40' })
  assert.deepEqual(received.messages, [
    { type: 'answers', answers: ['admin', 'secret'] },
    { type: 'size', columns: 100, rows: 30 },
  ])
  assert.deepEqual(asked, ['Password: '])
  assert.equal(String(command.bytes.output.read()), '$ exit\r')
  assert.deepEqual(screen.modes, [true, false], 'the terminal is restored')
  const { err } = command.printed
  assert.match(
    err,
    /Host key of Drive 12 \(192\.0\.2\.12:22\): ssh-ed25519 SHA256:abc \(new; stored for the next sessions\)/,
  )
  assert.match(err, /^Authorised\nusers \ufffd\[31monly$/m, 'control characters of the device are replaced')
  assert.match(err, /To end it now, type ~\. at the start of a line\./)
  assert.doesNotMatch(err, /secret/)
})

test('~. ends the session, and the device does not receive the keys', async () => {
  const received = { messages: [], text: '' }
  peer.onStream = device(received)
  const screen = new TestScreen()
  const command = peer.start(['connect', assetId, 'ssh'], { answers: ['admin', 'secret'], screen })
  await until('the terminal is open', () => screen.modes.length === 1)
  command.bytes.input.write('ls\r~?~.')
  assert.equal(await command.ended, 0)
  assert.equal(received.text, 'ls\r')
  assert.deepEqual(screen.modes, [true, false])
  assert.match(command.printed.err, /~~ {2}send the character ~/)
  assert.match(command.printed.err, /Session ended/)
  assert.equal(peer.session.state, 'ended')
})

test('restores the terminal and prints the reason when the session ends', async () => {
  peer.onStream = (socket) => {
    send(socket, { ...hostKey, isNew: false })
    send(socket, { type: 'signed-in', user: 'admin' })
    socket.on('message', () => {
      peer.session = { ...peer.session, state: 'ended', ending: 'ended-by-reviewer', endedTimestamp: minutesFromNow(0) }
      send(socket, { type: 'error', code: 'session_ended', detail: 'The session has ended' })
      socket.close(4001)
    })
  }
  const screen = new TestScreen()
  const command = peer.start(['connect', assetId, 'ssh'], { answers: [], screen })
  await until('the terminal is open', () => screen.modes.length === 1)
  command.bytes.input.write('x')
  assert.equal(await command.ended, 1)
  assert.deepEqual(screen.modes, [true, false])
  assert.match(command.printed.err, /\(known\)/)
  assert.match(command.printed.err, /A reviewer ended the session\./)
  assert.ok(!command.printed.err.includes('The session has ended'))
})

test('explains a changed host key and does not prompt', async () => {
  peer.onStream = (socket) => {
    send(socket, { type: 'error', code: 'host_key_changed', detail: 'The host key of the device changed.' })
    socket.close(4000)
  }
  const command = peer.start(['connect', assetId, 'ssh'], { answers: [], screen: new TestScreen() })
  assert.equal(await command.ended, 1)
  assert.match(command.printed.err, /The host key of the device changed\.\nNext: check the key on the device; /)
})

test('runs piped input in the shell of a session with a credential', async () => {
  peer.onStream = (socket) => {
    send(socket, { type: 'signed-in', user: 'admin' })
    socket.on('message', (content, isBinary) => {
      if (isBinary) return socket.send(content)
      send(socket, { type: 'exit', code: 3 })
      socket.close(1000)
    })
  }
  const command = peer.start(['connect', assetId, 'ssh', '--credential', assetId])
  command.bytes.input.end('uptime\n')
  assert.equal(await command.ended, 3)
  assert.equal(String(command.bytes.output.read()), 'uptime\n')
  assert.deepEqual(peer.bodies, [{ assetId, service: 'ssh', credentialInstanceId: assetId }])
})

test('finds a credential of the device by its name', async () => {
  const hall = { id: sessionId, name: 'Hall 4' }
  peer.credentials = [{ id: assetId, name: 'Hall 5' }, hall]
  peer.onStream = (socket) => {
    send(socket, { type: 'signed-in', user: 'admin' })
    send(socket, { type: 'exit', code: 0 })
    socket.close(1000)
  }
  const connect = (name: string) => peer.start(['connect', assetId, 'ssh', '--credential', name])
  const command = connect('Hall 4')
  command.bytes.input.end('')
  assert.equal(await command.ended, 0)
  assert.deepEqual(peer.bodies, [{ assetId, service: 'ssh', credentialInstanceId: sessionId }])
  const missing = connect('Hall 6')
  assert.equal(await missing.ended, 4)
  assert.match(
    missing.printed.err,
    /No credential "Hall 6" can be used for this asset\.\nNext: millwright remote target /,
  )
  peer.credentials = [hall, { id: assetId, name: 'Hall 4' }]
  const several = connect('Hall 4')
  assert.equal(await several.ended, 2)
  assert.match(several.printed.err, /Several credentials are named "Hall 4"\.\nNext: pass the id/)
  assert.equal(peer.bodies.length, 1)
})

test('refuses to prompt when standard input is not a terminal', async () => {
  peer.onStream = device({ messages: [], text: '' })
  const command = peer.start(['connect', assetId, 'ssh'])
  assert.equal(await command.ended, 2)
  assert.match(command.printed.err, /standard input is not a terminal\.\nNext: pass a credential/)
})
