import { once } from 'node:events'
import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import { type Check, codeOf, expect, NotApplicable, nameOf, type Subject } from './check.ts'

const { prepareUpdate, activateUpdate } = linkServices.artefactUpdate.method
type Method = typeof prepareUpdate | typeof activateUpdate
type Chunk = Parameters<Subject['converse']>[1][number]

/** Bringing artefacts to devices, as far as it can be looked at without touching one. */
export const updateChecks: readonly Check[] = [
  {
    sentence: 'It begins no update without being told which device',
    hint: 'Answer INVALID_ARGUMENT to PrepareUpdate and ActivateUpdate whose first chunk is no metadata.',
    run: (subject) => refuses(subject, [{ data: { case: 'fileContent', value: Uint8Array.of(1) } }]),
  },
  {
    sentence: 'It begins no update for a job or a device that has no name',
    hint: 'Answer INVALID_ARGUMENT to metadata without job_identifier or device_identifier.',
    run: (subject) => refuses(subject, [{ data: { case: 'metadata', value: {} } }]),
  },
]

async function refuses(subject: Subject, chunks: readonly Chunk[]): Promise<void> {
  for (const method of [prepareUpdate, activateUpdate]) {
    const code = await statusOf(subject, method, chunks)
    if (code === status.UNIMPLEMENTED) throw new NotApplicable('It has no interface for updates.')
    expect(code === status.INVALID_ARGUMENT, `${method.name} answers ${nameOf(code)}.`)
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
