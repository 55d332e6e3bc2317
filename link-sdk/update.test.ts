import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { type ServiceError, status } from '@grpc/grpc-js'
import { checkLink } from './conformance/suite.ts'
import { UpdateClient } from './conformance/update-client.ts'
import { defineLink } from './define-link.ts'
import { LinkError } from './link-error.ts'
import { type RunningLink, startLink } from './start-link.ts'
import { foreignClient } from './testing/foreign-client.ts'

const mac = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:5E:00:00:07' }
const logFile = Buffer.alloc(200_000, 'log')
/** What the link observed in the tests. */
const observed = { transfers: [] as ('complete' | 'canceled')[], printed: '' }

const link = defineLink({
  manifest: {
    id: 'test.links.presses',
    name: 'Presses',
    vendor: 'Test',
    version: '1.0.0',
    sends: [{ protocol: 'press', operation: 'Write', transport: 'tcp', description: 'Transfers the artefact' }],
  },
  discover: () => [{ asset: { name: 'Press', asset_identifiers: [mac] }, metadata: Buffer.from('press 7') }],
  update: {
    async *prepare({ jobId, kind, device, deviceCredential, content, permits }) {
      await permits.take({ address: '10.0.0.7', protocol: 'press', operation: 'Write', kind: 'request' })
      yield {
        phase: 'prepare',
        message: `${jobId}: ${kind} for ${Buffer.from(device)} by ${deviceCredential?.username}`,
      }
      observed.printed = `${inspect(deviceCredential)} ${JSON.stringify(deviceCredential)}`
      let bytes = 0
      try {
        for await (const piece of content()) bytes += piece.length
        observed.transfers.push('complete')
      } catch (error) {
        observed.transfers.push('canceled')
        throw error
      }
      yield { phase: 'download', progress: 100, message: `${bytes} bytes` }
      if (bytes === 0) yield { phase: 'installation', state: 'incompatible', message: 'It is empty.' }
      yield { phase: 'installation', progress: 100 }
    },
    *activate({ jobId }) {
      if (jobId === 'lost') throw new LinkError('FAILED_PRECONDITION', 'Nothing was prepared.')
      yield { phase: 'activation', progress: 100 }
    },
    *cancel() {
      yield { phase: 'cancellation', progress: 100 }
    },
    *read({ kind, device }) {
      yield { phase: 'archive', message: `${kind} of ${Buffer.from(device)}` }
      if (kind !== 'logfile') yield { phase: 'archive', state: 'not supported' }
      yield logFile
      yield { phase: 'upload', progress: 100 }
    },
  },
})

const metadata = (jobId: string) => ({
  job_identifier: { job_id: jobId },
  artefact_identifier: { type: 'AT_SOFTWARE' },
  device_identifier: { blob: Buffer.from(Buffer.from('press 7').toString('base64')) },
  device_credentials: { username: 'fitter', password: 'secret' },
})

type Message = { message: 'status' | 'request'; status?: Record<string, unknown> }

describe('a link with updates and a client of another library', () => {
  let running: RunningLink
  before(async () => {
    running = await startLink(link, { logLevel: 'silent' })
  })
  after(() => running.stop())

  /** Runs one step of an update and sends the content when the link requests it. */
  async function step(
    method: string,
    { jobId, content = [] }: { jobId: string; content?: string[] },
    vendor = 'siemens',
  ) {
    const client = foreignClient(vendor, 'industrialassethub.artefact_update.v1.ArtefactUpdateApi', running.endpoint)
    const stream = client[method]?.() as NodeJS.ReadWriteStream & AsyncIterable<Message>
    stream.write({ metadata: metadata(jobId) } as never)
    const messages: Message[] = []
    try {
      for await (const message of stream) {
        messages.push(message)
        if (message.message !== 'request') continue
        for (const piece of content) stream.write({ file_content: Buffer.from(piece) } as never)
        stream.end()
      }
      return messages
    } finally {
      client.close()
    }
  }

  for (const vendor of ['millwright', 'siemens']) {
    test(`requests the artefact from a client with the prefix ${vendor} only when the link needs it`, async () => {
      const [first, request, download, last] = await step(
        'PrepareUpdate',
        { jobId: 'job 1', content: ['abc', 'de'] },
        vendor,
      )
      assert.equal(first?.status?.message, 'job 1: software for press 7 by fitter')
      assert.equal(request?.message, 'request')
      assert.deepEqual([download?.status?.phase, download?.status?.message], ['AOP_DOWNLOAD', '5 bytes'])
      assert.equal(last?.status?.phase, 'AOP_INSTALLATION')
    })
  }

  test('serves the interface with the prefix factory_x, and does not transfer artefacts without an update', async () => {
    const client = foreignClient('factory_x', 'artefact_update.v1.ArtefactUpdateApi', running.endpoint)
    try {
      const stream = client.PrepareUpdate?.() as NodeJS.ReadWriteStream & AsyncIterable<Message>
      stream.end({ metadata: metadata('job 4') } as never)
      const messages = await Array.fromAsync(stream)
      assert.equal(messages.at(-1)?.status?.state, 'AOS_ERROR_INCOMPATIBLE')
      const push = client.PushArtefact?.() as AsyncIterable<Message>
      await assert.rejects(Array.fromAsync(push), (error: ServiceError) => error.code === status.UNIMPLEMENTED)
    } finally {
      client.close()
    }
  })

  test('reads an artefact from a device in chunks of at most 64 KiB', async () => {
    const client = foreignClient('factory_x', 'artefact_update.v1.ArtefactUpdateApi', running.endpoint)
    type Chunk = { status?: { message: string; state: string; progress: number }; file_content?: Buffer }
    const read = (type: string) =>
      Array.fromAsync(
        client.PullArtefact?.({
          ...metadata('read'),
          artefact_identifier: { type },
        }) as AsyncIterable<Chunk>,
      )
    try {
      const chunks = await read('AT_LOGFILE')
      assert.equal(chunks[0]?.status?.message, 'logfile of press 7')
      assert.equal(chunks.at(-1)?.status?.progress, 100)
      const pieces = chunks.flatMap(({ file_content: piece }) => piece ?? [])
      assert.ok(pieces.every(({ length }) => length <= 64 * 1024))
      assert.ok(logFile.equals(Buffer.concat(pieces)))
      const refused = await read('AT_BACKUP')
      assert.deepEqual(
        refused.map((one) => one.status?.state ?? 'AOS_OK'),
        ['AOS_OK', 'AOS_ERROR_NOT_SUPPORTED'],
      )
    } finally {
      client.close()
    }
  })

  test('refuses a second update of a device, and does not take a canceled transfer as complete', async () => {
    using client = new UpdateClient({ endpoint: running.endpoint })
    const requested = Promise.withResolvers<void>()
    const canceling = new AbortController()
    const job = { jobId: 'first', device: Buffer.from('press 7'), content: [Buffer.from('abc')] }
    observed.transfers.length = 0
    const first = client.prepare({
      ...job,
      signal: canceling.signal,
      onRequest() {
        requested.resolve()
        return new Promise(() => undefined)
      },
    })
    await requested.promise
    const other = { jobId: 'second', content: job.content }
    assert.equal((await client.prepare({ ...other, device: job.device })).code, status.RESOURCE_EXHAUSTED)
    assert.equal((await client.prepare({ ...other, device: Buffer.from('press 8') })).code, status.OK)
    canceling.abort()
    assert.equal((await first).code, status.CANCELLED)
    const givenUpAt = performance.now() + 120_000
    while (observed.transfers.length < 2) {
      assert.ok(performance.now() < givenUpAt)
      await delay(10)
    }
    assert.deepEqual(observed.transfers, ['complete', 'canceled'])
    assert.equal((await client.prepare({ ...other, device: job.device })).code, status.OK)
  })

  test('does not print the credentials of an update', async () => {
    await step('PrepareUpdate', { jobId: 'job 5', content: ['abc'] })
    assert.equal(observed.printed, '*** "***"')
  })

  test('reports an incompatible artefact in a status, and fails the call on other errors', async () => {
    const messages = await step('PrepareUpdate', { jobId: 'job 2' })
    assert.equal(messages.at(-1)?.status?.state, 'AOS_ERROR_INCOMPATIBLE')
    assert.deepEqual(
      (await step('ActivateUpdate', { jobId: 'job 2' })).map(({ status: one }) => one?.phase),
      ['AOP_ACTIVATION'],
    )
    const refused = (error: ServiceError) => error.code === status.FAILED_PRECONDITION
    await assert.rejects(step('ActivateUpdate', { jobId: 'lost' }), refused)
  })

  test('cancels a prepared update', async () => {
    const client = foreignClient('siemens', 'industrialassethub.artefact_update.v1.ArtefactUpdateApi', running.endpoint)
    const stream = client.CancelUpdate?.(metadata('job 3')) as NodeJS.ReadableStream
    const [message] = await once(stream, 'data')
    assert.equal(message.phase, 'AOP_CANCELLATION')
    client.close()
  })

  test('a link with updates conforms to the protocol', async () => {
    const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, withinMs: 60_000 }))
    const updates = results.filter(({ sentence }) => sentence.includes('update'))
    assert.deepEqual(
      updates.filter(({ outcome }) => outcome === 'fail'),
      [],
    )
    assert.equal(updates.filter(({ outcome }) => outcome === 'pass').length, 4)
  })

  test('ends a running update with UNAVAILABLE when the link stops', async () => {
    const stopping = await startLink(link, { logLevel: 'silent', graceMs: 0 })
    using client = new UpdateClient({ endpoint: stopping.endpoint })
    const requested = Promise.withResolvers<void>()
    const onRequest = () => {
      requested.resolve()
      return new Promise<void>(() => undefined)
    }
    const update = client.prepare({ jobId: 'job', device: Buffer.from('press 9'), onRequest })
    await requested.promise
    await stopping.stop()
    const { code, details } = await update
    assert.deepEqual([code, details], [status.UNAVAILABLE, 'The link is stopping.'])
  })
})
