import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import { type Check, expect, NotApplicable, nameOf, type Subject } from './check.ts'
import type { Findings } from './discover-checks.ts'
import { installChecks } from './install-checks.ts'
import { UpdateClient } from './update-client.ts'
import { codeOfStream, namedDevices, updateServiceOf } from './update-target.ts'

const { pullArtefact } = linkServices.artefactTransfer.method
type Chunk = Parameters<Subject['converse']>[1][number]
type FindingsOf = (subject: Subject) => Promise<Findings>

/**
 * Returns the checks of the update interfaces. They change a device only if the settings contain an artefact. The invalid
 * requests are last, because some links end after such a request.
 */
export function updateChecks(findingsOf: FindingsOf): readonly Check[] {
  return [...readChecks(findingsOf), ...installChecks(findingsOf), ...requestChecks]
}

/** The checks that send invalid requests. */
const requestChecks: readonly Check[] = [
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
  {
    sentence: 'The link rejects a cancellation of an update without a job or a device identifier',
    hint: 'Return INVALID_ARGUMENT for CancelUpdate without job_identifier or device_identifier.',
    async run(subject) {
      const { cancelUpdate } = (await updateServiceOf(subject)).method
      const code = await codeOfStream(subject.stream(cancelUpdate, {}))
      expect(code === status.INVALID_ARGUMENT, `CancelUpdate returned ${nameOf(code)}.`)
    },
  },
  {
    sentence: 'The link rejects a read without a job or a device identifier',
    hint: 'Return INVALID_ARGUMENT for PullArtefact without job_identifier or device_identifier.',
    async run(subject) {
      const code = await codeOfStream(subject.stream(pullArtefact, {}))
      if (code === status.UNIMPLEMENTED) throw new NotApplicable('The link cannot read artefacts from devices.')
      expect(code === status.INVALID_ARGUMENT, `PullArtefact returned ${nameOf(code)}.`)
    },
  },
]

/** The checks that read an artefact from the first device of the discovery. */
function readChecks(findingsOf: FindingsOf): readonly Check[] {
  return [
    {
      sentence: 'Every device has metadata or an address that names it in an update',
      hint: 'Send the field metadata as base64 text, or connection_parameter_set with parameter_json.',
      async run(subject) {
        await updateServiceOf(subject)
        const { devices } = await findingsOf(subject)
        if (devices.length === 0) throw new NotApplicable('No device was found.')
        const named = namedDevices(devices)
        expect(named.length === devices.length, `${devices.length - named.length} devices have no valid metadata.`)
      },
    },
    {
      sentence: 'The link reads a log file from a device, or reports that it is not supported',
      hint: 'PullArtefact sends content and ends with OK, or sends a status with AOS_ERROR_NOT_SUPPORTED.',
      async run(subject) {
        const [device] = namedDevices((await findingsOf(subject)).devices)
        if (device === undefined) throw new NotApplicable('No device was found.')
        const { endpoint } = subject.settings
        using client = new UpdateClient({ endpoint, withinMs: subject.withinMs })
        const { code, details, statuses, content } = await client.read({
          jobId: `conformance-${crypto.randomUUID()}`,
          device,
          kind: 'AT_LOGFILE',
        })
        if (code === status.UNIMPLEMENTED) throw new NotApplicable('The link cannot read artefacts from devices.')
        if (code === status.UNAUTHENTICATED) throw new NotApplicable('The device requires credentials.')
        expect(code === status.OK, `PullArtefact returned ${nameOf(code)}: ${details}`)
        const failed = statuses.find(({ state }) => state !== 'AOS_OK')
        if (failed?.state === 'AOS_ERROR_NOT_SUPPORTED') return
        expect(failed === undefined, `The status is ${failed?.state}: ${failed?.message}`)
        expect(content.length > 0, 'The read ended without content and without an error.')
      },
    },
  ]
}

async function refuses(subject: Subject, chunks: readonly Chunk[]): Promise<void> {
  const { prepareUpdate, activateUpdate } = (await updateServiceOf(subject)).method
  for (const method of [prepareUpdate, activateUpdate]) {
    const code = await codeOfStream(subject.converse(method, chunks))
    expect(code === status.INVALID_ARGUMENT, `${method.name} returned ${nameOf(code)}.`)
  }
}
