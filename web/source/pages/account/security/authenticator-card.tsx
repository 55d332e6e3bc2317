import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { isFailure } from '../../../app/api/failure.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { securityMessages } from './messages.ts'
import { RecoveryCodeDialog } from './recovery-codes.tsx'

type NewSecret = Output<'identity', 'startTotp'>['data']

/** `AuthenticatorCard` adds or removes the authenticator app of the signed-in user. */
export function AuthenticatorCard({ addedTimestamp }: { addedTimestamp: string | null }) {
  const text = useText(securityMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [secret, setSecret] = useState<NewSecret>()
  const [codes, setCodes] = useState<readonly string[]>([])
  const [failure, setFailure] = useState<unknown>()
  const refresh = () => queryClient.invalidateQueries({ queryKey: keyOf('identity') })
  const start = () => {
    setFailure(undefined)
    api.identity.startTotp({}).then(({ data }) => setSecret(data), setFailure)
  }
  const confirmed = async (recoveryCodes: readonly string[]) => {
    setSecret(undefined)
    setCodes(recoveryCodes)
    showSuccess(text.appConfirmed)
    await refresh()
  }
  const remove = async () => {
    await api.identity.deleteTotp({})
    showSuccess(text.appRemoved)
    await refresh()
  }
  return (
    <Card
      title={text.app}
      actions={
        addedTimestamp === null ? (
          <IxButton onClick={start}>{text.addApp}</IxButton>
        ) : (
          <ConfirmButton action={text.removeApp} title={text.removeAppTitle} onConfirm={remove}>
            {text.removeAppText}
          </ConfirmButton>
        )
      }
    >
      <p className="quiet card-lead">{text.appText}</p>
      {addedTimestamp === null ? (
        <p>
          <StatusChip>{text.notAdded}</StatusChip>
        </p>
      ) : (
        <p className="chips">
          <StatusChip tone="good">{text.appAdded}</StatusChip> <Time at={addedTimestamp} />
        </p>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} onRetry={start} />}
      {secret !== undefined && (
        <EnrolmentDialog secret={secret} onConfirmed={confirmed} onClose={() => setSecret(undefined)} />
      )}
      {codes.length > 0 && <RecoveryCodeDialog codes={codes} onClose={() => setCodes([])} />}
    </Card>
  )
}

type EnrolmentDialogProps = {
  secret: NewSecret
  onConfirmed: (recoveryCodes: readonly string[]) => Promise<void>
  onClose: () => void
}

/** `EnrolmentDialog` shows a new secret as a QR code and as text, and checks the first code of the app. */
function EnrolmentDialog({ secret: { secret, qrCode }, onConfirmed, onClose }: EnrolmentDialogProps) {
  const text = useText(securityMessages)
  const api = useApi()
  const [code, setCode] = useState('')
  const [error, setError] = useState<string>()
  const confirm = async () => {
    try {
      const { data } = await api.identity.confirmTotp({ body: { data: { code: code.replaceAll(' ', '') } } })
      await onConfirmed(data.recoveryCodes)
    } catch (failure) {
      if (!isFailure(failure, 'wrong_code')) throw failure
      setError(text.codeWrong)
    }
  }
  const submit = () => {
    const isMissing = code.trim() === ''
    setError(isMissing ? text.codeMissing : undefined)
    return isMissing ? false : confirm()
  }
  return (
    <Dialog title={text.addApp} onClose={onClose}>
      <div className="enrolment">
        <p>{text.scan}</p>
        <QrCode svg={qrCode} label={text.qrCode} />
        <p>{text.typeSecret}</p>
        <p className="with-copy">
          <code>{inGroups(secret)}</code>
          <CopyButton value={secret} label={text.secret} />
        </p>
        <p>{text.enterCode}</p>
        <Form action={text.confirm} onSubmit={submit}>
          <TextField
            label={text.code}
            autoComplete="one-time-code"
            inputMode="numeric"
            maxLength={16}
            isCode
            isRequired
            error={error}
            value={code}
            onChange={setCode}
          />
        </Form>
      </div>
    </Dialog>
  )
}

/** Separates a secret into groups of four characters, which are easier to type. */
function inGroups(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(' ') ?? secret
}

/** `QrCode` shows an SVG document as an image. An image cannot run scripts, and the policy of the page allows blobs. */
function QrCode({ svg, label }: { svg: string; label: string }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const created = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))
    setUrl(created)
    return () => URL.revokeObjectURL(created)
  }, [svg])
  return url !== undefined && <img className="qr-code" src={url} alt={label} width="200" height="200" />
}
