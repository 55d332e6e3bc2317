import {
  type RemoteService,
  type RemoteSession,
  type RemoteTarget,
  remoteAccessLimits,
  remoteServices,
  type SessionRequest,
} from '@millwright/api/remote-access.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Failure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, useRights } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { integerOf } from '../../../components/forms/integer.ts'
import { useRefreshSessions, useSession } from '../remote-session.ts'
import { SessionEntry } from '../sessions/session-entry.tsx'
import { connectCommand } from './connect-command.ts'
import { durationsOf, firstDuration, firstPort, type Obstacle, obstacleOf } from './connect-form.ts'
import { connectMessages } from './messages.ts'
import '../remote-access.css'

type ConnectDialogProps = { asset: { id: string; name: string }; onClose: () => void }

const highestPort = 65_535
/** The interval at which the dialog checks whether the gateway is connected. */
const targetPollMs = 10_000

/** `ConnectDialog` opens a session to an asset, or shows why no session is possible. */
export function ConnectDialog({ asset, onClose }: ConnectDialogProps) {
  const text = useText(connectMessages)
  const query = useOperationQuery()
  const [session, setSession] = useState<RemoteSession>()
  const target = useQuery({
    ...query(['remote-access', 'readTarget'], { params: { id: asset.id } }, { live: ['remote-access'] }),
    refetchInterval: targetPollMs,
    enabled: session === undefined,
  })
  return (
    <Dialog title={text.connectTo(asset.name)} onClose={onClose}>
      {session === undefined ? (
        <QueryState query={target}>
          {({ data }) => <TargetView asset={asset} target={data} onSession={setSession} onClose={onClose} />}
        </QueryState>
      ) : (
        <RequestedSession session={session} onClose={onClose} />
      )}
    </Dialog>
  )
}

type TargetViewProps = {
  asset: { id: string; name: string }
  target: RemoteTarget
  onSession: (session: RemoteSession) => void
  onClose: () => void
}

function TargetView({ target, ...props }: TargetViewProps) {
  const text = useText(connectMessages)
  const obstacle = obstacleOf(target)
  if (obstacle !== undefined) return <ObstacleView obstacle={obstacle} onClose={props.onClose} />
  if (target.problem !== undefined) {
    return <ProblemMessage failure={new Failure({ title: text.notPossible, ...target.problem })} />
  }
  return <ConnectForm target={target} {...props} />
}

function ObstacleView({ obstacle, onClose }: { obstacle: Obstacle; onClose: () => void }) {
  const text = useText(connectMessages)
  const rights = useRights()
  const canSwitch = rights.hasAny(['glb_access_manage', 'glb_gateway_manage'])
  return (
    <div className="form" role="status">
      <p>
        <strong>{text.notPossible}</strong>
      </p>
      <p>{text[obstacle]}</p>
      {obstacle === 'switchedOff' && canSwitch && (
        <Link to="/remote" search={{ view: 'switches' }}>
          {text.toSwitches}
        </Link>
      )}
      {obstacle !== 'switchedOff' && rights.has('glb_jobs_read') && <Link to="/discovery">{text.toDiscovery}</Link>}
      <div className="form-actions form-actions-end">
        <IxButton variant="secondary" onClick={onClose}>
          {text.close}
        </IxButton>
      </div>
    </div>
  )
}

function ConnectForm({ asset, target, onSession, onClose }: TargetViewProps) {
  const text = useText(connectMessages)
  const api = useApi()
  const navigate = useNavigate()
  const refresh = useRefreshSessions()
  const { policy } = target
  const [service, setService] = useState<RemoteService>('ssh')
  const [typedPort, setTypedPort] = useState<string>()
  const [credential, setCredential] = useState('')
  const [reason, setReason] = useState('')
  const [minutes, setMinutes] = useState(String(firstDuration(policy.maxMinutes)))
  const portText = typedPort ?? String(firstPort(service, policy.ports) ?? '')
  const port = integerOf(portText, highestPort)
  const isWeb = service === 'http' || service === 'https'
  const portError =
    port === undefined ? text.invalidPort : policy.ports.includes(port) ? undefined : text.portNotAllowed(port)
  const isWebOff = isWeb && !target.isWebAvailable
  const submit = () => {
    if (port === undefined || portError !== undefined) return false
    const request: SessionRequest = {
      assetId: asset.id,
      service,
      port,
      durationMinutes: Number(minutes),
      ...(service === 'ssh' && credential !== '' && { credentialInstanceId: credential }),
      ...(reason.trim() !== '' && { reason: reason.trim() }),
    }
    return create(request)
  }
  const create = async (data: SessionRequest) => {
    const { data: session } = await api['remote-access'].createSession({ body: { data } })
    await refresh()
    if (session.state === 'open' && session.service === 'ssh') {
      await navigate({ to: `/remote/sessions/${session.id}/terminal` })
    } else onSession(session)
  }
  const fields = (
    <>
      <SelectField
        label={text.service}
        value={service}
        onChange={(value) => {
          setService(value)
          setTypedPort(undefined)
        }}
        choices={remoteServices.map((value) => ({ value, label: text[value] }))}
      />
      <TextField
        label={text.port}
        type="number"
        hint={policy.ports.length === 0 ? text.noPorts : text.portHint(policy.ports.join(', '))}
        error={portError}
        value={portText}
        onChange={setTypedPort}
      />
    </>
  )
  if (service === 'tcp') {
    return (
      <div className="form">
        {fields}
        {portError === undefined && <TcpCommand command={connectCommand({ assetId: asset.id, service, port })} />}
        <div className="form-actions form-actions-end">
          <IxButton variant="secondary" onClick={onClose}>
            {text.close}
          </IxButton>
        </div>
      </div>
    )
  }
  const isRecorded = policy.recording === 'all' || (policy.recording === 'terminal' && service === 'ssh')
  return (
    <Form
      action={policy.approval === 'required' ? text.request : text.open}
      onSubmit={submit}
      onCancel={onClose}
      isDisabled={portError !== undefined || isWebOff}
    >
      {fields}
      {isWebOff && <p role="status">{text.webOff}</p>}
      {service === 'ssh' && (
        <CredentialField offered={target.credentials} value={credential} onChange={setCredential} />
      )}
      <SelectField
        label={text.duration}
        value={minutes}
        onChange={setMinutes}
        choices={durationsOf(policy.maxMinutes).map((value) => ({
          value: String(value),
          label: value % 60 === 0 ? text.hours(value / 60) : text.minutes(value),
        }))}
      />
      <TextField
        label={text.reason}
        hint={text.reasonHint}
        value={reason}
        onChange={setReason}
        maxLength={remoteAccessLimits.reason}
      />
      {policy.approval === 'required' && <p>{text.needsApproval}</p>}
      {isRecorded && <p>{text.isRecorded}</p>}
    </Form>
  )
}

type CredentialFieldProps = {
  offered: RemoteTarget['credentials']
  value: string
  onChange: (id: string) => void
}

/** `CredentialField` offers the credentials for the device. Without them, the user signs in by hand. */
function CredentialField({ offered, value, onChange }: CredentialFieldProps) {
  const text = useText(connectMessages)
  if (offered.length === 0) return <p className="quiet">{text.byHandHint}</p>
  return (
    <SelectField
      label={text.credential}
      hint={value === '' ? text.byHandHint : text.credentialHint}
      value={value}
      onChange={onChange}
      choices={[{ value: '', label: text.byHand }, ...offered.map(({ id, name }) => ({ value: id, label: name }))]}
    />
  )
}

function TcpCommand({ command }: { command: string }) {
  const text = useText(connectMessages)
  return (
    <>
      <p>{text.commandHint}</p>
      <div className="command">
        <code>{command}</code>
        <CopyButton value={command} label={text.command} />
      </div>
    </>
  )
}

/** `RequestedSession` shows the state of a session that the user has just requested. */
function RequestedSession({ session, onClose }: { session: RemoteSession; onClose: () => void }) {
  const text = useText(connectMessages)
  const current = useSession(session.id)
  return (
    <div className="form">
      <SessionEntry session={current.data?.data ?? session} />
      <div className="form-actions form-actions-end">
        <Link to={`/remote/sessions/${session.id}`}>{text.toSession}</Link>
        <IxButton variant="secondary" onClick={onClose}>
          {text.close}
        </IxButton>
      </div>
    </div>
  )
}
