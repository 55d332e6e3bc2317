import type { RemoteSession } from '@millwright/api/remote-access.ts'
import { Link, useParams } from '@tanstack/react-router'
import { useGroupNames } from '../../../app/api/access-groups.ts'
import { useGateways } from '../../../app/api/gateways.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useRights } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { PrincipalLink } from '../../../components/values/principal-link.tsx'
import { Time } from '../../../components/values/time.tsx'
import { Decision } from '../approvals/approvals.tsx'
import { recordingNames, remoteMessages } from '../messages.ts'
import { RecordingCard } from '../recording/recording-card.tsx'
import { useNow, useSession } from '../remote-session.ts'
import { HostKeys } from './host-keys.tsx'
import { SessionActions } from './session-actions.tsx'
import { SessionEntry } from './session-entry.tsx'
import { SessionStateChip, useServiceName } from './session-state.tsx'
import { clockText, durationMsOf, timeLeftMsOf } from './session-times.ts'
import '../remote-access.css'

/** `SessionPage` shows one session: how to continue with it, its details, its recording and the keys of the device. */
export function SessionPage() {
  const text = useText(remoteMessages)
  const { id = '' } = useParams({ strict: false })
  const session = useSession(id)
  const title = session.data === undefined ? text.session : `${text.session}: ${session.data.data.assetName}`
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        above={<ParentLink to="/remote">{text.title}</ParentLink>}
        actions={session.data !== undefined && <SessionActions session={session.data.data} />}
      />
      <QueryState query={session}>
        {({ data }) => (
          <div className="cards cards-two">
            <Card title={text.session}>
              <div className="remote-entry">
                <SessionEntry session={data} />
                <Decision session={data} />
              </div>
              <SessionProgress session={data} />
            </Card>
            <Card title={text.asset}>
              <SessionTarget session={data} />
            </Card>
            <HostKeys session={data} />
            <RecordingCard session={data} />
          </div>
        )}
      </QueryState>
    </>
  )
}

function SessionProgress({ session }: { session: RemoteSession }) {
  const text = useText(remoteMessages)
  const formats = useFormats()
  const now = useNow(session.state !== 'ended')
  const [duration, left] = [durationMsOf(session, now), timeLeftMsOf(session, now)]
  return (
    <KeyValueList
      items={[
        { name: text.state, value: <SessionStateChip session={session} /> },
        { name: text.endedBy, value: session.endedBy && <Person person={session.endedBy} /> },
        { name: text.started, value: <Time at={session.createdTimestamp} isExact /> },
        session.openedTimestamp !== undefined && {
          name: text.opened,
          value: <Time at={session.openedTimestamp} isExact />,
        },
        session.endedTimestamp === undefined
          ? { name: text.expires, value: <Time at={session.expiresTimestamp} isExact /> }
          : { name: text.endedAt, value: <Time at={session.endedTimestamp} isExact /> },
        left !== undefined && { name: text.timeLeft, value: clockText(left) },
        duration !== undefined && { name: text.duration, value: formats.duration(duration) },
        { name: text.sent, value: formats.bytes(session.sentBytes) },
        { name: text.received, value: formats.bytes(session.receivedBytes) },
        session.state === 'open' && { name: text.streams, value: formats.number(session.streams) },
      ]}
    />
  )
}

function Person({ person: { id, name } }: { person: RemoteSession['requestedBy'] }) {
  return <PrincipalLink id={id} name={name} />
}

function SessionTarget({ session }: { session: RemoteSession }) {
  const text = useText(remoteMessages)
  const recordings = useText(recordingNames)
  const rights = useRights()
  const serviceName = useServiceName()
  const groups = useGroupNames()
  const canReadJobs = rights.has('glb_jobs_read')
  const gateway = useGateways({ isEnabled: canReadJobs }).data?.data.find(({ id }) => id === session.gatewayId)
  return (
    <KeyValueList
      items={[
        { name: text.asset, value: <Link to={`/assets/${session.assetId}`}>{session.assetName}</Link> },
        { name: text.service, value: serviceName(session) },
        { name: text.address, value: session.address && <code>{session.address}</code> },
        { name: text.user, value: <Person person={session.requestedBy} /> },
        { name: text.reason, value: session.reason },
        { name: text.decidedBy, value: session.decidedBy && <Person person={session.decidedBy} /> },
        gateway !== undefined && {
          name: text.gateway,
          value: <Link to={`/discovery/gateways/${gateway.id}`}>{gateway.name}</Link>,
        },
        { name: text.accessGroup, value: groups.get(session.accessGroup) },
        session.credentialInstanceId !== undefined &&
          rights.has('glb_credential_read') && {
            name: text.credential,
            value: <Link to={`/credentials/${session.credentialInstanceId}`}>{text.credential}</Link>,
          },
        { name: text.recordingMode, value: recordings[session.recording] },
        { name: text.digest, value: session.recordingDigest && <code>{session.recordingDigest}</code> },
        canReadJobs && { name: text.job, value: <Link to={`/jobs/${session.jobId}`}>{text.viewJob}</Link> },
        rights.has('glb_audit_read') && {
          name: text.audit,
          value: (
            <Link to="/activity" search={{ object: `remote-session/${session.id}`, range: 'month' }}>
              {text.viewAudit}
            </Link>
          ),
        },
        {
          name: 'ID',
          value: (
            <span className="with-copy">
              <code>{session.id}</code>
              <CopyButton value={session.id} label="ID" />
            </span>
          ),
        },
      ]}
    />
  )
}
