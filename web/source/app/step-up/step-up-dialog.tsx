import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import type { Input, Output } from '../api/client.ts'
import { isFailure } from '../api/failure.ts'
import { useOperationQuery } from '../api/queries.ts'
import { useText } from '../language/language-context.tsx'
import { useAppContext } from '../session/app-context.tsx'
import { hasPasskeySupport, passkeyCancelled, requestPasskey } from '../session/passkey.ts'
import { stepUpMessages } from './messages.ts'

type StepUpOptions = Output<'identity', 'startStepUp'>['data']
type Proof = Input<'identity', 'stepUp'>['body']['data']

/** `StepUpDialog` asks the user to confirm their identity while a call needs the confirmation. */
export function StepUpDialog() {
  const text = useText(stepUpMessages)
  const { confirmation } = useAppContext()
  const isOpen = useSyncExternalStore(
    (onChange) => confirmation.watch(onChange),
    () => confirmation.isOpen,
  )
  if (!isOpen) return null
  return (
    <Dialog title={text.title} onClose={() => confirmation.close(false)}>
      <p className="card-lead">{text.lead}</p>
      <Methods />
    </Dialog>
  )
}

function Methods() {
  const query = useOperationQuery()
  // The options contain a challenge that can be used once, so each dialog loads new options.
  const options = useQuery({ ...query(['identity', 'startStepUp'], {}), gcTime: 0, refetchOnWindowFocus: false })
  return (
    <QueryState query={options}>
      {({ data }) => <MethodForms options={data} onRefused={() => options.refetch()} />}
    </QueryState>
  )
}

function MethodForms({ options, onRefused }: { options: StepUpOptions; onRefused: () => unknown }) {
  const text = useText(stepUpMessages)
  const { api, confirmation } = useAppContext()
  const { methods, passkeyOptions } = options
  const hasPasskey = methods.includes('passkey') && passkeyOptions !== undefined && hasPasskeySupport()
  const hasCode = methods.includes('totp') || methods.includes('recovery-code')
  const confirm = async (data: Proof) => {
    await api.identity.stepUp({ body: { data } })
    confirmation.close(true)
  }
  const confirmWithPasskey = () =>
    requestPasskey(passkeyOptions ?? {})
      .then((passkey) => confirm({ passkey }))
      .catch((error) => {
        onRefused()
        throw error
      })
  return (
    <div className="step-up">
      {hasPasskey && <PasskeyMethod isOnly={!hasCode} onUse={confirmWithPasskey} />}
      {hasCode && (
        <SecretForm
          kind="code"
          hint={methods.includes('totp') ? text.codeFromApp : text.recoveryCode}
          onConfirm={(code) => confirm({ code })}
        />
      )}
      {methods.includes('password') && <SecretForm kind="password" onConfirm={(password) => confirm({ password })} />}
      {methods.includes('provider') && <ProviderMethod />}
      {methods.length === 0 && <p>{text.noMethod}</p>}
    </div>
  )
}

type SecretFormProps = { kind: 'password' | 'code'; hint?: string; onConfirm: (secret: string) => Promise<void> }

function SecretForm({ kind, hint, onConfirm }: SecretFormProps) {
  const text = useText(stepUpMessages)
  const { user } = useAppContext()
  const [secret, setSecret] = useState('')
  const [error, setError] = useState<string>()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  const send = async () => {
    try {
      await onConfirm(kind === 'code' ? secret.trim() : secret)
    } catch (failure) {
      if (!isFailure(failure, 'wrong_password') && !isFailure(failure, 'wrong_code')) throw failure
      setSecret('')
      setError(kind === 'password' ? text.wrongPassword : text.wrongCode)
      input.current?.focus()
    }
  }
  const submit = () => {
    const missing = kind === 'password' ? text.enterPassword : text.enterCode
    setError(secret === '' ? missing : undefined)
    return secret === '' ? false : send()
  }
  return (
    <Form action={text.confirm} onSubmit={submit}>
      {/* The form contains the user name for password managers. */}
      <input
        className="unseen"
        type="text"
        autoComplete="username"
        value={user.preferred_username}
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      <TextField
        ref={input}
        label={kind === 'password' ? text.password : text.code}
        {...(hint !== undefined && { hint })}
        type={kind === 'password' ? 'password' : 'text'}
        autoComplete={kind === 'password' ? 'current-password' : 'one-time-code'}
        maxLength={kind === 'password' ? 256 : 64}
        isCode={kind === 'code'}
        error={error}
        isRequired
        value={secret}
        onChange={setSecret}
      />
    </Form>
  )
}

function PasskeyMethod({ isOnly, onUse }: { isOnly: boolean; onUse: () => Promise<void> }) {
  const text = useText(stepUpMessages)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const start = () => {
    setBusy(true)
    setFailure(undefined)
    onUse().catch((error) => {
      setBusy(false)
      setFailure(error)
    })
  }
  return (
    <div>
      <IxButton variant={isOnly ? 'primary' : 'secondary'} loading={isBusy} onClick={start}>
        {text.passkey}
      </IxButton>
      <p className="field-hint" role="status">
        {isBusy && text.passkeyWaits}
      </p>
      {isFailure(failure, passkeyCancelled) && (
        <p className="field-error" role="alert">
          {text.passkeyCancelled}
        </p>
      )}
      {failure !== undefined && !isFailure(failure, passkeyCancelled) && <ProblemMessage failure={failure} />}
    </div>
  )
}

/** `ProviderMethod` signs in at the identity provider again, in another window. */
function ProviderMethod() {
  const text = useText(stepUpMessages)
  const { confirmation, signInAgain } = useAppContext()
  const [waiting, setWaiting] = useState<AbortController>()
  const [failure, setFailure] = useState<unknown>()
  useEffect(() => () => waiting?.abort(), [waiting])
  const start = () => {
    const attempt = new AbortController()
    setWaiting(attempt)
    setFailure(undefined)
    signInAgain(attempt.signal).then(
      () => confirmation.close(true),
      (error) => {
        if (attempt.signal.aborted) return
        setWaiting(undefined)
        setFailure(error)
      },
    )
  }
  return (
    <div>
      <p className="card-lead">{text.providerLead}</p>
      <IxButton onClick={start}>{text.provider}</IxButton>
      <p className="field-hint" role="status">
        {waiting !== undefined && text.providerWaits}
      </p>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </div>
  )
}
