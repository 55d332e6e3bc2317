import { pause } from '@millwright/api/back-off.ts'
import type { RemoteSession } from '@millwright/api/remote-access.ts'
import { IxButton } from '@siemens/ix-react'
import { lazy, Suspense, useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useAppContext } from '../../../app/session/app-context.tsx'
import { download } from '../../../components/actions/download.ts'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Card } from '../../../components/page/card.tsx'
import { useSessionRights } from '../remote-session.ts'
import { recordingMessages } from './messages.ts'
import { RequestTable } from './request-table.tsx'

const Player = lazy(async () => ({ default: (await import('./player.tsx')).Player }))

/** The maximum size of a recording that is played in the browser. */
const playableBytes = 64 * 1024 * 1024

/** The time within which the platform completes the recording of an ended session, and the pause between two requests. */
const completionMs = 20_000
const retryMs = 500

/** `RecordingCard` plays the recording of an ended session, or lists the requests of a web session. */
export function RecordingCard({ session }: { session: RemoteSession }) {
  const text = useText(recordingMessages)
  const { canReview } = useSessionRights(session)
  if (session.recording === 'none' || !canReview || session.service === 'tcp') return null
  const isTerminal = session.service === 'ssh'
  if (!isTerminal && session.recording !== 'all') return null
  return (
    <Card title={isTerminal ? text.recording : text.requests} size="wide">
      {session.state !== 'ended' ? (
        <p className="quiet">{text.notYet}</p>
      ) : session.recordingBytes === 0 ? (
        <p className="quiet">{text.deleted}</p>
      ) : (
        <StoredRecording session={session} isTerminal={isTerminal} />
      )}
    </Card>
  )
}

/** Reads a recording. Repeats the request while the platform completes the recording of a session that just ended. */
async function whenComplete(read: () => Promise<Response>): Promise<Response> {
  const deadline = performance.now() + completionMs
  for (;;) {
    try {
      return await read()
    } catch (error) {
      if (!isFailure(error, 'conflict') || performance.now() > deadline) throw error
      await pause(retryMs)
    }
  }
}

function StoredRecording({ session, isTerminal }: { session: RemoteSession; isTerminal: boolean }) {
  const text = useText(recordingMessages)
  const formats = useFormats()
  const { fetchOperation } = useAppContext()
  const [content, setContent] = useState<string>()
  const [busy, setBusy] = useState<'load' | 'download'>()
  const [failure, setFailure] = useState<unknown>()
  const read = async (purpose: 'load' | 'download') => {
    setBusy(purpose)
    setFailure(undefined)
    try {
      const answer = await whenComplete(() =>
        fetchOperation('remote-access', 'readRecording', { params: { id: session.id } }),
      )
      if (purpose === 'load') setContent(await answer.text())
      else download(await answer.blob(), `session-${session.id}.${isTerminal ? 'cast' : 'ndjson'}`)
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(undefined)
    }
  }
  const isTooLarge = session.recordingBytes > playableBytes
  return (
    <>
      <div className="recording-head">
        <span className="quiet">{text.size(formats.bytes(session.recordingBytes))}</span>
        {content === undefined && !isTooLarge && (
          <IxButton loading={busy === 'load'} onClick={() => read('load')}>
            {isTerminal ? text.load : text.loadRequests}
          </IxButton>
        )}
        <IxButton variant="secondary" loading={busy === 'download'} onClick={() => read('download')}>
          {text.download}
        </IxButton>
      </div>
      {isTooLarge && <p>{text.tooLarge}</p>}
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {content !== undefined &&
        (isTerminal ? (
          <Suspense fallback={<Loading />}>
            <Player content={content} />
          </Suspense>
        ) : (
          <RequestTable content={content} />
        ))}
    </>
  )
}
