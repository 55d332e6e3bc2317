import { Readable } from 'node:stream'
import { Problem } from '@millwright/api/problem.ts'
import type { remoteAccess } from '@millwright/api/remote-access.ts'
import { record } from '../../platform/audit/audit.ts'
import { attachment } from '../../platform/files/attachment.ts'
import { limits } from '../../platform/limits.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { damagedDetail, RecordingReader } from './recording-reader.ts'
import { requireSupervised } from './session-access.ts'

/** The time within which a client must have read a recording. */
const contentSeconds = 600

/** The download of recordings. Each download is in the audit trail. */
export function recordingHandlers(context: Context): Pick<Handlers<typeof remoteAccess>, 'readRecording'> {
  const { database, log } = context
  return {
    async readRecording({ params: { id } }, caller) {
      const { row } = await requireSupervised(context, caller, id)
      if (row.closedAt === null)
        throw new Problem(
          'conflict',
          row.state === 'ended'
            ? 'The recording is not complete yet. Retry in a few seconds'
            : 'The session has not ended. Its recording is available after its end',
        )
      if (row.recordingParts === 0)
        throw new Problem(
          'not_found',
          row.isRecordingDeleted
            ? 'The recording was deleted after its retention period'
            : 'The session has no recording',
        )
      if (row.recordingDigest === null)
        throw new Problem('recording_damaged', `${damagedDetail}. It cannot be downloaded`)
      await database.transaction(caller, (tx) =>
        record(tx, caller, {
          action: 'remote-access.readRecording',
          target: `remote-session/${id}`,
          detail: { assetId: row.assetId, principalId: row.principalId, recordingDigest: row.recordingDigest },
        }),
      )
      const reader = new RecordingReader(context, caller, row)
      const content = Readable.from(reader.parts(), { objectMode: false, highWaterMark: limits.streamBytes })
      const timer = setTimeout(
        () => content.destroy(new Error(`The client has not read the recording within ${contentSeconds} seconds`)),
        contentSeconds * 1_000,
      ).unref()
      content.once('close', () => clearTimeout(timer))
      content.on('error', (error) => log.warn({ error, session: id }, 'A recording was not sent completely'))
      const isTerminal = row.service === 'ssh'
      return answer(200, content, {
        'content-type': isTerminal ? 'application/x-asciicast' : 'application/x-ndjson',
        'content-length': String(row.recordingBytes),
        'content-disposition': attachment(`${id}.${isTerminal ? 'cast' : 'ndjson'}`),
        'cache-control': 'no-store',
      })
    },
  }
}
