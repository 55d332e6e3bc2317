import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import { testHub } from '../../platform/testing/hub.ts'
import { connectGateway, createPlant, createSession, openStream, terminalWith, until } from './testing.ts'

const terminal = { kind: 'terminal' }

test('a message of a client that is too large ends only its stream', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway, { onOpen: terminalWith('ready') })
  const { id } = await createSession(admin, { assetId })
  const options = { url: await hub.listen(), token: admin.token, query: terminal }
  using other = await openStream(id, options)
  await until(() => other.bytes.includes('ready'))
  for (const message of [
    { type: 'answers', answers: ['a'.repeat(100_000)] },
    { type: 'size', columns: 80, rows: 24, more: 'a'.repeat(100_000) },
  ]) {
    using client = await openStream(id, options)
    await until(() => client.bytes.includes('ready'))
    client.send(message)
    assert.equal((await client.end()).code, 4000)
    assert.equal(client.messages.at(-1)?.code, 'invalid_message')
  }
  other.send('still here')
  await until(() => other.bytes.includes('still here'))
})

test('passes only the known members of the messages of a client', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  const received: StreamMessage[] = []
  await using _ = await connectGateway(hub, gateway, {
    onOpen(stream, header) {
      stream.accept()
      if (header.kind === 'check') stream.end()
      else stream.on('message', (message: StreamMessage) => received.push(message))
    },
  })
  const { id } = await createSession(admin, { assetId })
  using client = await openStream(id, { url: await hub.listen(), token: admin.token, query: terminal })
  client.send({ type: 'size', columns: 90, rows: 30, isAccepted: true })
  client.send({ type: 'answers', answers: ['x'], isAccepted: true })
  await until(() => received.length === 2)
  assert.deepEqual(received, [
    { type: 'size', columns: 90, rows: 30 },
    { type: 'answers', answers: ['x'] },
  ])
})

test('a client that sends messages faster than the gateway reads them must wait', onlyInLongRuns, async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway, {
    onOpen(stream, header) {
      stream.accept()
      // A terminal is never read.
      if (header.kind === 'check') stream.end()
      else if (header.kind === 'tcp') stream.pipe(stream)
    },
  })
  const { id } = await createSession(admin, { assetId })
  const options = { url: await hub.listen(), token: admin.token }
  using client = await openStream(id, { ...options, query: terminal })
  using other = await openStream(id, options)
  const message = { type: 'answers', answers: ['a'.repeat(8_000)] }
  for (let count = 0; count < 5_000; count++) client.send(message)
  // The process serves other streams meanwhile, and has the time to read all messages.
  for (let round = 1; round <= 60; round++) {
    other.send('x')
    await until(() => other.bytes.length === round)
  }
  assert.ok(client.socket.bufferedAmount > 20_000_000, `${client.socket.bufferedAmount} bytes wait at the client`)
})

test('a gateway that floods a stream with messages loses the stream', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway, {
    onOpen(stream, header) {
      stream.accept()
      if (header.kind === 'check') return void stream.end()
      const fingerprint = `SHA256:${'a'.repeat(43)}`
      for (let count = 0; count < 2_000; count++)
        stream.sendMessage({ type: 'host-key', algorithm: 'ssh-ed25519', fingerprint })
    },
  })
  const { id } = await createSession(admin, { assetId })
  using client = await openStream(id, { url: await hub.listen(), token: admin.token, query: terminal })
  assert.equal((await client.end()).code, 4000)
  assert.equal(client.messages.at(-1)?.code, 'busy')
})

test('a host name of many dots does not delay the process', async () => {
  await using hub = await testHub()
  const { hostname, port } = new URL(await hub.listen())
  const before = process.cpuUsage()
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const host = `${'.'.repeat(100_000)}x`
  request({ host: hostname, port, path: '/', headers: { host } }, (response) => {
    response.resume()
    resolve(response.statusCode)
  })
    .on('error', reject)
    .end()
  assert.equal(await promise, 431)
  assert.ok(process.cpuUsage(before).user < 2_000_000)
})
