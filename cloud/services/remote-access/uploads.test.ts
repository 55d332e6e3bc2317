import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import { testHub } from '../../platform/testing/hub.ts'
import { connectGateway, createPlant, createSession, type OnOpen, openStream, until } from './testing.ts'

/** A gateway that signs in for each upload: it needs the decision about the host key before the bytes of the upload. */
const storing: OnOpen = (stream, { kind }) => {
  stream.accept()
  if (kind === 'check') return void stream.end()
  stream.sendMessage({ type: 'host-key', algorithm: 'ssh-ed25519', fingerprint: `SHA256:${'a'.repeat(43)}` })
  stream.on('message', ({ type, isAccepted }: StreamMessage) => {
    if (type !== 'host-key-decision' || isAccepted !== true) return
    stream.sendMessage({ type: 'signed-in', user: 'operator' })
    let size = 0
    stream.on('data', (bytes: Buffer) => {
      size += bytes.length
    })
    stream.on('end', () => {
      stream.sendMessage({ type: 'stored', size })
      stream.end()
    })
  })
}

test('the first stream of a session can be an upload, although the client sends everything before the sign-in', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _connected = await connectGateway(hub, gateway, { onOpen: storing })
  const session = await createSession(admin, { assetId })
  const query = { kind: 'file-upload', path: '/tmp/firmware.bin' }
  for (const parts of [0, 1, 100]) {
    using client = await openStream(session.id, { url: await hub.listen(), token: admin.token, query })
    for (let part = 0; part < parts; part++) client.send(Buffer.alloc(64 * 1024))
    client.send({ type: 'end' })
    assert.equal((await client.end()).code, 1000)
    assert.deepEqual(client.messages.at(-1), { type: 'stored', size: parts * 64 * 1024 })
  }
})

test('the client gets the reason when the gateway accepts a stream and ends it at once', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  const refusing: OnOpen = (stream, { kind }) => {
    stream.accept()
    if (kind === 'check') stream.end()
    else stream.reset({ code: 'file_error', detail: 'The path is not valid.' })
  }
  await using _connected = await connectGateway(hub, gateway, { onOpen: refusing })
  const session = await createSession(admin, { assetId })
  const query = { kind: 'file-list', path: '/' }
  using client = await openStream(session.id, { url: await hub.listen(), token: admin.token, query })
  await until(() => client.closed !== undefined)
  assert.deepEqual(client.messages, [{ type: 'error', code: 'file_error', detail: 'The path is not valid.' }])
  assert.equal(client.closed?.code, 4000)
})
