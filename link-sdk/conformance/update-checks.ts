import { once } from 'node:events'
import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import { type Check, codeOf, expect, NotApplicable, nameOf, type Subject } from './check.ts'

const { prepareUpdate, activateUpdate } = linkServices.artefactUpdate.method
type Method = typeof prepareUpdate | typeof activateUpdate
type Chunk = Parameters<Subject['converse']>[1][number]

/** The checks of the update interface. They do not change a device. */
export const updateChecks: readonly Check[] = [
  {
    sentence: 'The link rejects an update without metadata of the device',
    hint: 'Return INVALID_ARGUMENT for PrepareUpdate and ActivateUpdate if the first chunk is not metadata.',
    run: (subject) => refuses(subject, [{ data: { case: 'fileContent', value: Uint8Array.of(1) } }]),
  },
  {
    sentence: 'The link rejects an update without a job or a device identifier',
    hint: 'Return INVALID_ARGUMENT for metadata without job_identifier or device_identifier.',
    run: (subject) => refuses(subject, [{ data: { case: 'metadata', value: {} } }]),
  },
]

async function refuses(subject: Subject, chunks: readonly Chunk[]): Promise<void> {
  for (const method of [prepareUpdate, activateUpdate]) {
    const code = await statusOf(subject, method, chunks)
    if (code === status.UNIMPLEMENTED) throw new NotApplicable('The link has no update interface.')
    expect(code === status.INVALID_ARGUMENT, `${method.name} returned ${nameOf(code)}.`)
  }
}

async function statusOf(subject: Subject, method: Method, chunks: readonly Chunk[]): Promise<number> {
  const stream = subject.converse(method, chunks)
  stream.resume()
  try {
    await once(stream, 'end')
    return status.OK
  } catch (error) {
    return codeOf(error)
  }
}
