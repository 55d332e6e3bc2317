import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import type { WebSocket } from 'ws'
import { targetOf } from './connect.ts'
import { assetId, minutesFromNow, RemotePeer, sessionId, until } from './testing.ts'

let peer: RemotePeer

beforeEach(async () => {
  peer = await RemotePeer.open()
})

afterEach(() => peer[Symbol.asyncDispose]())

/** Sends each byte back. The end of the bytes is answered with the end of the stream. */
function echo(socket: WebSocket): void {
  socket.on('message', (content, isBinary) => {
    if (isBinary) socket.send(content)
    else if (JSON.parse(String(content)).type === 'end') {
      socket.send(JSON.stringify({ type: 'end' }))
      socket.close(1000)
    }
  })
}

describe('millwright connect with a local port', () => {
  async function startPort(...args: string[]) {
    const command = peer.start(['connect', assetId, '102', ...args])
    await until('the port is open', () => /127\.0\.0\.1:\d+/.test(command.printed.out))
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(command.printed.out)?.[1])
    return { ...command, port }
  }

  test('prints the address, and carries several connections with a half close', async () => {
    peer.onStream = echo
    const command = await startPort('--reason', 'a test', '--minutes', '30')
    assert.match(command.printed.out, /^127\.0\.0\.1:\d+ is connected to Drive 12 \(192\.0\.2\.12:102\)\.\n$/)
    assert.match(command.printed.err, /Session 019a1e0d-\S+ ends in 60 minutes, at \d\d:\d\d:\d\d/)
    assert.deepEqual(peer.bodies, [{ assetId, service: 'tcp', port: 102, reason: 'a test', durationMinutes: 30 }])
    const exchange = async (content: string) => {
      const socket = connectTcp({ port: command.port, host: '127.0.0.1', allowHalfOpen: true })
      socket.end(content)
      return text(socket)
    }
    const contents = ['a', 'b'.repeat(300_000), 'c'.repeat(5_000_000)]
    assert.deepEqual(await Promise.all(contents.map(exchange)), contents)
    command.interrupt()
    assert.equal(await command.ended, 130)
    assert.match(command.printed.err, /Session ended: 0 bytes sent, 0 bytes received\./)
    assert.ok(peer.requests.includes(`DELETE /sessions/${sessionId}`))
  })

  test('prints the port as JSON for programs', async () => {
    const command = peer.start(['connect', assetId, '102', '--listen', '--json'])
    await until('the port is open', () => command.printed.out !== '')
    const { data } = JSON.parse(command.printed.out)
    assert.equal(data.host, '127.0.0.1')
    assert.ok(data.port > 0)
    assert.equal(data.session.id, sessionId)
    command.interrupt()
    await command.ended
  })

  test('keeps listening after a process of the platform restarted', async () => {
    peer.onStream = echo
    const command = await startPort()
    const first = connectTcp(command.port, '127.0.0.1').on('error', () => {})
    first.write('one')
    await once(first, 'data')
    peer.closeStreams(1012)
    await until('the end is reported', () =>
      command.printed.err.includes('Connection 1 ended: The platform process restarts.'),
    )
    assert.match(command.printed.err, /New connections use the same session\./)
    peer.refusals = [{ status: 409, code: 'gateway_offline', detail: 'The gateway connects again.' }]
    const second = connectTcp(command.port, '127.0.0.1')
    second.end('two')
    assert.equal(await text(second), 'two')
    assert.equal(peer.bodies.length, 1, 'there is one session')
    command.interrupt()
    await command.ended
  })

  test('reports a refused stream, resets the connection and keeps listening', async () => {
    peer.onStream = echo
    peer.refusals = [{ status: 409, code: 'target_not_allowed', detail: 'Port 102 is not allowed.' }]
    const command = await startPort()
    const socket = connectTcp(command.port, '127.0.0.1').on('error', () => {})
    await until('the connection is closed', () => socket.closed)
    await until('the reason is printed', () =>
      /Connection 1 ended: .*Port 102 is not allowed/.test(command.printed.err),
    )
    const next = connectTcp(command.port, '127.0.0.1')
    next.end('works')
    assert.equal(await text(next), 'works')
    command.interrupt()
    await command.ended
  })

  test('does not read more from the device than a slow client takes', onlyInLongRuns, async () => {
    let sent = 0
    peer.onStream = (socket) => {
      const fill = () => {
        sent += 65_536
        socket.send(Buffer.alloc(65_536), () => sent < 200_000_000 && fill())
      }
      fill()
    }
    const command = await startPort()
    const socket = connectTcp(command.port, '127.0.0.1').pause()
    await once(socket, 'connect')
    let before = -1
    await until('the device waits', () => {
      const isStable = sent > 0 && sent === before
      before = sent
      return isStable
    })
    await delay(200)
    assert.ok(sent < 50_000_000, `${sent} bytes were sent to a client that reads nothing`)
    socket.destroy()
    command.interrupt()
    await command.ended
  })

  test('ends with the reason when the session ended', async () => {
    peer.onStream = (socket) => {
      peer.session = { ...peer.session, state: 'ended', ending: 'idle', endedTimestamp: minutesFromNow(0) }
      socket.close(4001)
    }
    const command = await startPort()
    connectTcp(command.port, '127.0.0.1').on('error', () => {})
    assert.equal(await command.ended, 1)
    assert.match(command.printed.err, /The session ended because no data was sent for the idle time of its policy\./)
    assert.ok(!peer.requests.includes(`DELETE /sessions/${sessionId}`), 'the session has already ended')
  })

  test('renews the token that the platform refused', async () => {
    peer.onStream = echo
    peer.refusals = [{ status: 401, code: 'unauthenticated', detail: 'The token is not valid.' }]
    const command = await startPort()
    const socket = connectTcp(command.port, '127.0.0.1')
    socket.end('hello')
    assert.equal(await text(socket), 'hello')
    assert.equal(peer.requests.filter((line) => line === 'Bearer token stream').length, 2)
    command.interrupt()
    await command.ended
  })
})

describe('millwright connect --stdio', () => {
  test('carries bytes of standard input and output, and prints nothing else to standard output', async () => {
    peer.onStream = echo
    const command = peer.start(['connect', assetId, '22', '--stdio'])
    const content = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256))
    command.bytes.input.end(content)
    const chunks: Buffer[] = []
    command.bytes.output.on('data', (chunk: Buffer) => chunks.push(chunk))
    assert.equal(await command.ended, 0)
    assert.ok(Buffer.concat(chunks).equals(content))
    assert.deepEqual(command.printed, { out: '', err: '' })
    assert.equal(peer.requests.at(-1), `DELETE /sessions/${sessionId}`)
  })

  test('ends when the device ends the connection', async () => {
    peer.onStream = (socket) => {
      socket.send(Buffer.from('bye'))
      socket.close(1000)
    }
    const command = peer.start(['connect', assetId, 'ssh', '--stdio'])
    assert.equal(await command.ended, 0)
    assert.equal(String(command.bytes.output.read()), 'bye')
  })

  test('ends the session without a message when OpenSSH ends the command with a signal', async () => {
    peer.onStream = echo
    const command = peer.start(['connect', assetId, '22', '--stdio'])
    command.bytes.input.write('hello')
    await until('the stream is open', () => command.bytes.output.readableLength === 5)
    command.terminate()
    assert.equal(await command.ended, 0)
    assert.deepEqual(command.printed, { out: '', err: '' })
    assert.equal(peer.requests.at(-1), `DELETE /sessions/${sessionId}`)
  })

  test('exits with the reason when the platform refuses the stream', async () => {
    peer.refusals = [{ status: 403, code: 'forbidden', detail: 'The policy records terminals.' }]
    const command = peer.start(['connect', assetId, 'ssh', '--stdio'])
    assert.equal(await command.ended, 3)
    assert.match(command.printed.err, /The policy records terminals\. \(forbidden\)/)
    assert.equal(command.printed.out, '')
  })
})

describe('millwright connect and the approval of a session', () => {
  test('waits for the approval', async () => {
    peer.onStream = echo
    peer.session = { ...peer.session, state: 'pending-approval' }
    const command = peer.start(['connect', assetId, '22', '--stdio'])
    await until('the request is shown', () => command.printed.err.includes(`millwright remote approve ${sessionId}`))
    peer.session = { ...peer.session, state: 'connecting', decidedBy: { id: assetId, name: 'john.doe' } }
    await until('the approval is shown', () => command.printed.err.includes('Approved by john.doe.'))
    peer.session = { ...peer.session, state: 'open' }
    command.bytes.input.end('ok')
    assert.equal(await command.ended, 0)
    assert.equal(String(command.bytes.output.read()), 'ok')
  })

  test('exits with 3 when the session is denied', async () => {
    peer.session = { ...peer.session, state: 'pending-approval' }
    const command = peer.start(['connect', assetId, 'ssh'])
    await until('the request is shown', () => command.printed.err !== '')
    peer.session = {
      ...peer.session,
      state: 'ended',
      ending: 'denied',
      endingDetail: 'only during maintenance',
      decidedBy: { id: assetId, name: 'john.doe' },
    }
    assert.equal(await command.ended, 3)
    assert.match(command.printed.err, /The session was denied by john\.doe: only during maintenance\./)
  })

  test('Ctrl-C withdraws the request', async () => {
    peer.session = { ...peer.session, state: 'pending-approval' }
    const command = peer.start(['connect', assetId, 'ssh'])
    await until('the request is shown', () => command.printed.err !== '')
    command.interrupt()
    assert.equal(await command.ended, 130)
    assert.ok(peer.requests.includes(`DELETE /sessions/${sessionId}`))
  })
})

describe('millwright connect http', () => {
  test('prints an address with a ticket, and ends the session on Ctrl-C', async () => {
    peer.session = { ...peer.session, url: `http://${sessionId}.localhost:8080/` }
    const command = peer.start(['connect', assetId, 'http'])
    await until('the help is printed', () => command.printed.err.includes('To end the session now'))
    assert.equal(command.printed.out, `http://${sessionId}.localhost:8080/.millwright/enter?ticket=secret+ticket\n`)
    command.interrupt()
    assert.equal(await command.ended, 130)
    assert.equal(peer.session.state, 'ended')
  })
})

test('the service is ssh, http, https or a port, and options of other services are refused', () => {
  assert.deepEqual(targetOf('ssh', {}), { service: 'ssh' })
  assert.deepEqual(targetOf('ssh', { port: 2222 }), { service: 'ssh', port: 2222 })
  assert.deepEqual(targetOf('https', { port: 443 }), { service: 'https' })
  assert.deepEqual(targetOf('102', {}), { service: 'tcp', port: 102 })
  for (const wrong of ['telnet', '0', '65536', '-1', '1e3', ''])
    assert.throws(() => targetOf(wrong, {}), /is not a service/)
  assert.throws(() => targetOf('102', { port: 5 }), /--port is only for/)
  assert.throws(() => targetOf('http', { credential: 'x' }), /--credential is only for ssh/)
})
