import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { events } from '@millwright/api/events.ts'
import { connect } from '../session/platform-command.ts'
import { TestPlatform, testTerminal } from '../testing.ts'
import { messageOf, messages } from './event-stream.ts'

let platform: TestPlatform

before(async () => {
  platform = await TestPlatform.open()
})

after(() => platform[Symbol.asyncDispose]())

test('messageOf parses a server-sent event with several data lines', () => {
  assert.deepEqual(messageOf('id: 4\nevent: job\ndata: {"a":\ndata: 1}'), { id: '4', event: 'job', data: '{"a":\n1}' })
  assert.deepEqual(messageOf('retry: 1000'), { id: undefined, event: 'message', data: '' })
})

test('messages() yields an event as soon as it is published', async () => {
  const admin = await platform.as('administrator')
  const environment = { ...platform.environment, MILLWRIGHT_URL: platform.url, MILLWRIGHT_TOKEN: admin.token }
  const session = await connect(testTerminal({ environment }).terminal, {})
  const ended = new AbortController()
  const opened = Promise.withResolvers<void>()
  const request = { contract: events, operation: 'streamEvents', signal: ended.signal, onOpen: opened.resolve }
  const stream = messages(session, request)
  const first = stream.next()
  await opened.promise
  await admin.authorization.createAccessGroup({ body: { data: { name: 'line-1' } } })
  const { value } = await first
  assert.equal(value?.event, 'io.millwright.authorization.access-group.created')
  ended.abort()
  assert.equal((await stream.next()).done, true)
})

test('messages() reconnects and continues after the last received event when the connection breaks', async () => {
  const lastEventIds: (string | undefined)[] = []
  const server = createServer((request, response) => {
    lastEventIds.push(request.headers['last-event-id'] as string | undefined)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`id: ${lastEventIds.length}\ndata: {}\n\n`)
    setImmediate(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const environment = { ...platform.environment, MILLWRIGHT_URL: url, MILLWRIGHT_TOKEN: 'any' }
  const session = await connect(testTerminal({ environment }).terminal, {})
  const ended = new AbortController()
  const stream = messages(session, { contract: events, operation: 'streamEvents', signal: ended.signal })
  assert.deepEqual([(await stream.next()).value?.id, (await stream.next()).value?.id], ['1', '2'])
  assert.deepEqual(lastEventIds, [undefined, '1'])
  ended.abort()
  server.closeAllConnections()
  server.close()
})
