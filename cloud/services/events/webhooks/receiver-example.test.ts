import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { deliveryHub, until } from '../delivery/testing.ts'
import { emitEvents } from '../testing.ts'
import { newSecret, signatureOf, signingKey } from './signature.ts'

/** These tests run the receiver of the guide "Receive events" as users run it. */

const example = fileURLToPath(new URL('../../../../docs/examples/webhook-receiver.mjs', import.meta.url))

/** `ExampleReceiver` is the process of the example. `events` are the lines that it prints. */
class ExampleReceiver {
  readonly url: string
  readonly events: string[] = []
  readonly #process: ChildProcess

  private constructor(url: string, process: ChildProcess) {
    this.url = url
    this.#process = process
  }

  static async start(secrets: readonly string[]): Promise<ExampleReceiver> {
    const environment = { PATH: process.env.PATH ?? '', WEBHOOK_SECRETS: secrets.join(','), PORT: '0' }
    const child = spawn(process.execPath, [example], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = createInterface({ input: child.stdout })
    const [first] = (await once(lines, 'line')) as [string]
    const receiver = new ExampleReceiver(first.replace('Listening on ', ''), child)
    lines.on('line', (line) => receiver.events.push(line))
    return receiver
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill()
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, 'exit')
  }
}

type SignedRequest = { id: string; timestamp: number; body: string; signature: string }

async function post(url: string, { id, timestamp, body, signature }: SignedRequest): Promise<number> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature },
    body,
  })
  await response.arrayBuffer()
  return response.status
}

function eventNamed(subject: string) {
  return { specversion: '1.0', id: randomUUID(), type: 'io.millwright.test', subject, sequence: '0000000000000001' }
}

/** Signs a request with an independent implementation of Standard Webhooks. */
function signed(secret: string, body: string, at = new Date()): SignedRequest {
  const id = randomUUID()
  const signature = new StandardWebhook(secret).sign(id, at, body)
  return { id, timestamp: Math.floor(at.getTime() / 1_000), body, signature }
}

test('the receiver example accepts requests of both secrets, and refuses every other signature, time and body', async () => {
  const [current, previous] = [newSecret(), newSecret()]
  await using receiver = await ExampleReceiver.start([current, previous])
  const body = JSON.stringify(eventNamed('thing/1'))
  const good = signed(current, body)
  assert.equal(await post(receiver.url, good), 204)
  assert.equal(await post(receiver.url, signed(previous, JSON.stringify(eventNamed('thing/2')))), 204)
  const both = { ...good, signature: `v1,${Buffer.alloc(32).toString('base64')} v1a,x ${good.signature}` }
  assert.equal(await post(receiver.url, both), 204)
  const refused: SignedRequest[] = [
    signed(newSecret(), body),
    { ...good, body: `${body} ` },
    { ...good, id: randomUUID() },
    { ...good, timestamp: good.timestamp - 1 },
    { ...good, signature: '' },
    { ...good, signature: good.signature.replace('v1,', 'v2,') },
    { ...good, signature: good.signature.slice(0, -8) },
    { ...good, timestamp: Number.NaN },
    signed(current, body, new Date(Date.now() - 6 * 60_000)),
    signed(current, body, new Date(Date.now() + 6 * 60_000)),
  ]
  for (const request of refused) assert.equal(await post(receiver.url, request), 401, JSON.stringify(request))
  assert.equal((await fetch(receiver.url)).status, 405)
  // The third request repeated the event of the first one.
  await until(() => receiver.events.length === 2, 'both events are printed')
  assert.deepEqual(
    receiver.events.map((line) => line.split(' ')[2]),
    ['thing/1', 'thing/2'],
  )
})

test('the signatures of the platform are those of the Standard Webhooks library', () => {
  const at = new Date()
  const timestamp = Math.floor(at.getTime() / 1_000)
  for (const body of ['{}', '{"name":"Pümpe €"}', JSON.stringify(['x'.repeat(10_000)])]) {
    const [secret, other] = [newSecret(), newSecret()]
    const library = new StandardWebhook(secret)
    const own = signatureOf([signingKey(secret)], { id: 'id', timestamp, body })
    assert.equal(own, library.sign('id', at, body))
    const both = signatureOf([signingKey(other), signingKey(secret)], { id: 'id', timestamp, body })
    const headers = { 'webhook-id': 'id', 'webhook-timestamp': String(timestamp), 'webhook-signature': both }
    assert.doesNotThrow(() => library.verify(body, headers))
  }
})

test('the receiver example handles each event of the platform once, in order, with batches and during a change of the secret', async () => {
  await using hub = await deliveryHub()
  const admin = await hub.as('administrator')
  const { data: webhook } = await admin.events.createWebhook({
    body: { data: { url: 'http://127.0.0.1:9/', types: ['test.'], active: false } },
  })
  await using receiver = await ExampleReceiver.start([webhook.secret])
  const params = { id: webhook.id }
  await admin.events.updateWebhook({ params, body: { data: { url: receiver.url, active: true } } })
  const subjects = (from: number) => Array.from({ length: 10 }, () => `thing/${from}`)
  const printed = () => receiver.events.map((line) => line.split(' ')[2])

  await emitEvents(hub, subjects(1))
  await until(() => receiver.events.length === 10, 'ten events are received')
  // The receiver knows only the first secret. It accepts the requests, because they have both signatures.
  await admin.events.rotateWebhookSecret({ params })
  await admin.events.updateWebhook({ params, body: { data: { batchSize: 4 } } })
  await emitEvents(hub, subjects(2))
  await until(() => receiver.events.length === 20, 'ten more events are received')
  await admin.events.replayWebhook({ params, body: { data: { fromPosition: 1 } } })
  await emitEvents(hub, subjects(3))
  await until(() => receiver.events.length >= 30, 'the newest events are received after the replay')
  assert.deepEqual(printed(), [...subjects(1), ...subjects(2), ...subjects(3)])
  const sequences = receiver.events.map((line) => Number(line.split(' ')[0]))
  assert.deepEqual(
    sequences,
    sequences.toSorted((one, other) => one - other),
  )
})
