import type { Caller } from '../../platform/access/caller.ts'
import { isTransient } from '../../platform/database/transient.ts'
import type { Context } from '../../platform/service.ts'
import { damagedDetail, RecordingReader } from './recording-reader.ts'
import { reportSession } from './session-report.ts'
import { closeSession, type SessionRow } from './session-store.ts'

/** The time after which an ended session is closed although a process has not counted its last bytes, because it died. */
const lostMs = 5_000
/** The time that a process has to store the last lines of the recording of a web session. */
const recordingMs = 1_500

/**
 * `SessionCloser` closes ended sessions: when all streams are closed and the recording is complete, it computes the digest
 * of the recording and writes the audit entry with the result of the session. A session with a damaged recording is closed
 * without a digest, and the audit entry contains the fault.
 */
export class SessionCloser {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /** Closes an ended session, if its last bytes are counted. Otherwise a later run closes it. */
  async close(system: Caller, row: SessionRow): Promise<void> {
    if (!isComplete(row, Date.now())) return
    const { database } = this.#context
    const { digest, fault } = row.recordingParts === 0 ? { digest: null } : await this.#digestOf(system, row)
    await database.transaction(system, async (tx) => {
      const { id, recordingParts } = row
      const closed = await closeSession(tx, id, { now: new Date().toISOString(), digest, recordingParts })
      if (closed === undefined) return
      await reportSession(tx, system, {
        row: closed,
        action: 'closeSession',
        event: 'closed',
        detail: { ...resultOf(closed), ...(fault === undefined ? {} : { recordingFault: fault }) },
      })
    })
  }

  /** Returns the digest of a recording, or why it has none. A temporary error is thrown, so that a later run retries. */
  async #digestOf(system: Caller, row: SessionRow): Promise<{ digest: string | null; fault?: string }> {
    try {
      return { digest: await new RecordingReader(this.#context, system, row).digest() }
    } catch (error) {
      if (isTransient(error)) throw error
      this.#context.log.error({ error, session: row.id }, 'A session is closed without its recording, which is damaged')
      return { digest: null, fault: damagedDetail }
    }
  }
}

/** Returns whether the streams of an ended session are closed and its recording is stored. */
export function isComplete(
  { streams, recording, openedAt, endedAt }: Pick<SessionRow, 'streams' | 'recording' | 'openedAt' | 'endedAt'>,
  now: number,
): boolean {
  const sinceMs = now - Date.parse(endedAt ?? '')
  if (sinceMs >= lostMs) return true
  if (streams > 0) return false
  return recording === 'none' || openedAt === null || sinceMs >= recordingMs
}

/** Returns the result of a session for its audit entry. */
function resultOf(row: SessionRow): Record<string, unknown> {
  const { openedAt, endedAt, sentBytes, receivedBytes, endingDetail, decidedById, endedById, reason } = row
  const durationSeconds =
    openedAt === null || endedAt === null ? 0 : Math.round((Date.parse(endedAt) - Date.parse(openedAt)) / 1_000)
  return {
    principalName: row.principalName,
    assetName: row.assetName,
    durationSeconds,
    sentBytes,
    receivedBytes,
    ...(reason === null ? {} : { reason }),
    ...(endingDetail === null ? {} : { endingDetail }),
    ...(decidedById === null ? {} : { decidedBy: decidedById }),
    ...(endedById === null ? {} : { endedBy: endedById }),
    recording: row.recording,
    ...(row.recordingDigest === null
      ? {}
      : { recordingBytes: row.recordingBytes, recordingDigest: row.recordingDigest }),
  }
}
