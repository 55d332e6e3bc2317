import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { type ServiceError, status } from '@grpc/grpc-js'
import { checkLink } from './conformance/suite.ts'
import { defineLink } from './define-link.ts'
import { LinkError } from './link-error.ts'
import { type RunningLink, startLink } from './start-link.ts'
import { foreignClient } from './testing/foreign-client.ts'

const link = defineLink({
  manifest: {
    id: 'test.links.presses',
    name: 'Presses',
    vendor: 'Test',
    version: '1.0.0',
    sends: [{ protocol: 'press', operation: 'Write', transport: 'tcp', description: 'Transfers the artefact' }],
  },
  discover: () => [{ asset: { name: 'Press', metadata: Buffer.from('press 7').toString('base64') } }],
  update: {
    async *prepare({ jobId, kind, device, deviceCredential, content, permits }) {
      await permits.take({ address: '10.0.0.7', protocol: 'press', operation: 'Write', kind: 'request' })
      yield {
        phase: 'prepare',
        message: `${jobId}: ${kind} for ${Buffer.from(device)} by ${deviceCredential?.username}`,
      }
      let bytes = 0
      for await (const piece of content()) bytes += piece.length
      yield { phase: 'download', progress: 100, message: `${bytes} bytes` }
      if (bytes === 0) yield { phase: 'installation', state: 'incompatible', message: 'It is empty.' }
    },
    *activate({ jobId }) {
      if (jobId === 'lost') throw new LinkError('FAILED_PRECONDITION', 'Nothing was prepared.')
      yield { phase: 'activation', progress: 100 }
    },
    *cancel() {
      yield { phase: 'cancellation', progress: 100 }
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
      const [first, request, last] = await step('PrepareUpdate', { jobId: 'job 1', content: ['abc', 'de'] }, vendor)
      assert.equal(first?.status?.message, 'job 1: software for press 7 by fitter')
      assert.equal(request?.message, 'request')
      assert.deepEqual([last?.status?.phase, last?.status?.message], ['AOP_DOWNLOAD', '5 bytes'])
    })
  }

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
      updates.map(({ outcome, detail }) => detail ?? outcome),
      ['pass', 'pass'],
    )
  })
})
