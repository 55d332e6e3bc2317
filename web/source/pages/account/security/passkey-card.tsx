import { signInLimits } from '@millwright/api/sign-in-limits.ts'
import type { Passkey } from '@millwright/api/sign-in-security.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { createPasskey, hasPasskeySupport, passkeyCancelled, passkeyPresent } from '../../../app/session/passkey.ts'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { securityMessages } from './messages.ts'
import { RecoveryCodeDialog } from './recovery-codes.tsx'

type OpenDialog = { kind: 'add' } | { kind: 'rename' | 'remove'; passkey: Passkey }

/** `PasskeyCard` lists, adds, renames and removes the passkeys of the signed-in user. */
export function PasskeyCard({ passkeys }: { passkeys: readonly Passkey[] }) {
  const text = useText(securityMessages)
  const [dialog, setDialog] = useState<OpenDialog>()
  const [codes, setCodes] = useState<readonly string[]>([])
  const close = () => setDialog(undefined)
  const canAdd = hasPasskeySupport() && passkeys.length < signInLimits.passkeys
  return (
    <Card
      title={text.passkeys}
      size="wide"
      actions={canAdd && <IxButton onClick={() => setDialog({ kind: 'add' })}>{text.addPasskey}</IxButton>}
    >
      <p className="quiet card-lead">{text.passkeysText}</p>
      {!hasPasskeySupport() && <p className="card-lead">{text.passkeyUnsupported}</p>}
      {passkeys.length === 0 ? <p>{text.noPasskeys}</p> : <PasskeyTable passkeys={passkeys} onOpen={setDialog} />}
      {dialog?.kind === 'add' && <AddDialog onAdded={setCodes} onClose={close} />}
      {dialog?.kind === 'rename' && <RenameDialog passkey={dialog.passkey} onClose={close} />}
      {dialog?.kind === 'remove' && <RemoveDialog passkey={dialog.passkey} onClose={close} />}
      {codes.length > 0 && <RecoveryCodeDialog codes={codes} onClose={() => setCodes([])} />}
    </Card>
  )
}

type PasskeyTableProps = { passkeys: readonly Passkey[]; onOpen: (dialog: OpenDialog) => void }

function PasskeyTable({ passkeys, onOpen }: PasskeyTableProps) {
  const text = useText(securityMessages)
  return (
    <PlainTable columns={[text.passkeyName, text.added, text.lastUse, { unseen: text.actions }]}>
      {passkeys.map((passkey) => (
        <tr key={passkey.id}>
          <td>{passkey.name}</td>
          <td>
            <Time at={passkey.createdTimestamp} isDate />
          </td>
          <td>
            <Time at={passkey.lastUseTimestamp} isRelative />
          </td>
          <td>
            <button
              type="button"
              className="link-button"
              aria-label={text.renameOf(passkey.name)}
              onClick={() => onOpen({ kind: 'rename', passkey })}
            >
              {text.rename}
            </button>{' '}
            <button
              type="button"
              className="link-button"
              aria-label={text.removeOf(passkey.name)}
              onClick={() => onOpen({ kind: 'remove', passkey })}
            >
              {text.remove}
            </button>
          </td>
        </tr>
      ))}
    </PlainTable>
  )
}

type AddDialogProps = { onAdded: (recoveryCodes: readonly string[]) => void; onClose: () => void }

function AddDialog({ onAdded, onClose }: AddDialogProps) {
  const text = useText(securityMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [isWaiting, setWaiting] = useState(false)
  const [error, setError] = useState<string>()
  const add = async () => {
    setWaiting(true)
    try {
      const { data: options } = await api.identity.startPasskey({})
      const response = await createPasskey(options)
      const { data } = await api.identity.addPasskey({ body: { data: { name: name.trim(), response } } })
      await queryClient.invalidateQueries({ queryKey: keyOf('identity') })
      showSuccess(text.passkeyAdded)
      onClose()
      onAdded(data.recoveryCodes)
    } catch (failure) {
      if (isFailure(failure, passkeyCancelled)) return setError(text.passkeyCancelled)
      if (isFailure(failure, passkeyPresent)) return setError(text.passkeyPresent)
      throw failure
    } finally {
      setWaiting(false)
    }
  }
  const submit = () => {
    const isMissing = name.trim() === ''
    setError(isMissing ? text.required : undefined)
    return isMissing ? false : add()
  }
  return (
    <Dialog title={text.addPasskey} onClose={onClose}>
      <Form action={text.addPasskey} onSubmit={submit}>
        <TextField
          label={text.passkeyName}
          hint={text.passkeyNameHint}
          maxLength={256}
          isRequired
          error={error}
          value={name}
          onChange={setName}
        />
        <p className="field-hint" role="status">
          {isWaiting && text.passkeyWaits}
        </p>
      </Form>
    </Dialog>
  )
}

type PasskeyDialogProps = { passkey: Passkey; onClose: () => void }

function RenameDialog({ passkey, onClose }: PasskeyDialogProps) {
  const text = useText(securityMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [name, setName] = useState(passkey.name)
  const [error, setError] = useState<string>()
  const save = async () => {
    await api.identity.renamePasskey({ params: { id: passkey.id }, body: { data: { name: name.trim() } } })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'readAccountSecurity') })
    showSuccess(text.saved)
    onClose()
  }
  const submit = () => {
    const isMissing = name.trim() === ''
    setError(isMissing ? text.required : undefined)
    return isMissing ? false : save()
  }
  return (
    <Dialog title={text.renameOf(passkey.name)} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <TextField label={text.passkeyName} maxLength={256} isRequired error={error} value={name} onChange={setName} />
      </Form>
    </Dialog>
  )
}

function RemoveDialog({ passkey, onClose }: PasskeyDialogProps) {
  const text = useText(securityMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const remove = async () => {
    await api.identity.deletePasskey({ params: { id: passkey.id } })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity') })
    showSuccess(text.passkeyRemoved)
  }
  return (
    <ConfirmDialog
      title={text.removeTitle(passkey.name)}
      action={text.remove}
      isDangerous
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{text.removeText}</p>
    </ConfirmDialog>
  )
}
