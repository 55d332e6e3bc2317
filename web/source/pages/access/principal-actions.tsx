import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { ConfirmButton } from '../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { accessMessages } from './messages.ts'

export function ActiveState({ isDisabled }: { isDisabled: boolean }) {
  const text = useText(accessMessages)
  return <StatusChip tone={isDisabled ? 'warning' : 'good'}>{isDisabled ? text.disabled : text.active}</StatusChip>
}

type PrincipalActionsProps = {
  name: string
  /** The name that the user can edit: the display name of a user, or the name of a service account. */
  renamed: { label: string; value: string }
  onRename: (value: string) => Promise<unknown>
  isDisabled: boolean
  onDisable: (isDisabled: boolean) => Promise<unknown>
  onRemove: () => Promise<unknown>
}

/** `PrincipalActions` contains the actions that users and service accounts have in common. */
export function PrincipalActions({ name, renamed, onRename, isDisabled, onDisable, onRemove }: PrincipalActionsProps) {
  const text = useText(accessMessages)
  const [isRenaming, setRenaming] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const enable = () => {
    setFailure(undefined)
    onDisable(false).catch(setFailure)
  }
  return (
    <>
      <ConfirmButton action={text.remove} title={text.removeTitle(name)} onConfirm={onRemove}>
        {text.removePrincipal}
      </ConfirmButton>
      {isDisabled ? (
        <IxButton variant="secondary" onClick={enable}>
          {text.enable}
        </IxButton>
      ) : (
        <ConfirmButton action={text.disable} title={text.disableTitle(name)} onConfirm={() => onDisable(true)}>
          {text.disableDetail}
        </ConfirmButton>
      )}
      <IxButton variant="secondary" onClick={() => setRenaming(true)}>
        {text.rename}
      </IxButton>
      {isRenaming && <RenameDialog {...renamed} onRename={onRename} onClose={() => setRenaming(false)} />}
      {failure !== undefined && <ProblemMessage failure={failure} onRetry={enable} />}
    </>
  )
}

type RenameDialogProps = PrincipalActionsProps['renamed'] &
  Pick<PrincipalActionsProps, 'onRename'> & { onClose: () => void }

function RenameDialog({ label, value, onRename, onClose }: RenameDialogProps) {
  const text = useText(accessMessages)
  const [typed, setTyped] = useState(value)
  const [isSubmitted, setSubmitted] = useState(false)
  const save = async () => {
    await onRename(typed.trim())
    showSuccess(text.saved)
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return typed.trim() === '' ? false : save()
  }
  return (
    <Dialog title={text.rename} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <TextField
          label={label}
          error={isSubmitted && typed.trim() === '' ? text.required : undefined}
          isRequired
          value={typed}
          onChange={setTyped}
        />
      </Form>
    </Dialog>
  )
}
