import { iconCheck, iconClose, iconPen, iconTrashcan } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { type FormEvent, type KeyboardEvent, type ReactNode, useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { ConfirmDialog } from '../dialogs/confirm-dialog.tsx'
import { ProblemMessage } from '../feedback/problem-message.tsx'
import { componentMessages } from '../messages.ts'
import { SelectField, TextAreaField, TextField } from './fields.tsx'

type EditableValueProps = {
  /** The name of the value, for labels. */
  name: string
  value: string
  /** Saves the value. A thrown error is shown below the field. */
  onSave: (value: string) => Promise<unknown>
  /** Clears the value. It is set only for optional values. */
  onClear?: () => Promise<unknown>
  type?: 'text' | 'number' | 'date' | 'url'
  /** The values that the user can choose from. Without choices, the user types the value. */
  choices?: readonly { value: string; label: string }[]
  /** The content that is shown while the value is not edited. The default is the value as text. */
  shown?: ReactNode
  isRequired?: boolean
  maxLength?: number
  /** Whether the text can have several lines. If it can, Enter adds a line and Ctrl+Enter saves. */
  isLong?: boolean
}

/** `EditableValue` edits a value in place. Enter saves the value, and Escape cancels. */
export function EditableValue({
  name,
  value,
  onSave,
  onClear,
  type = 'text',
  choices,
  shown,
  ...props
}: EditableValueProps) {
  const { isRequired, maxLength = 512, isLong } = props
  const text = useText(componentMessages)
  const [draft, setDraft] = useState<string>()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const [isClearing, setClearing] = useState(false)
  const run = async (act: () => Promise<unknown>) => {
    setBusy(true)
    setFailure(undefined)
    try {
      await act()
      setDraft(undefined)
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  const submit = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault()
    if (draft === undefined || isBusy || (isRequired && draft.trim() === '')) return
    run(() => onSave(draft.trim()))
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) return submit(event)
    if (event.key !== 'Escape') return
    event.stopPropagation()
    setDraft(undefined)
    setFailure(undefined)
  }
  if (draft === undefined) {
    return (
      <span className="editable">
        <span>{value === '' ? <span className="quiet">{text.unset}</span> : (shown ?? value)}</span>
        <Tool icon={iconPen} label={text.change(name)} onClick={() => setDraft(value)} />
        {onClear !== undefined && value !== '' && (
          <Tool icon={iconTrashcan} label={text.clear(name)} onClick={() => setClearing(true)} />
        )}
        {isClearing && onClear !== undefined && (
          <ConfirmDialog
            title={text.clearTitle(name)}
            action={text.remove}
            isDangerous
            onConfirm={onClear}
            onClose={() => setClearing(false)}
          />
        )}
        {failure !== undefined && <ProblemMessage failure={failure} />}
      </span>
    )
  }
  return (
    <form className="editable-form" onSubmit={submit} onKeyDown={onKey} aria-busy={isBusy}>
      {isLong ? (
        <TextAreaField label={name} isLabelUnseen value={draft} onChange={setDraft} rows={3} maxLength={maxLength} />
      ) : choices === undefined ? (
        <TextField
          label={name}
          isLabelUnseen
          type={type}
          value={draft}
          onChange={setDraft}
          ref={focusOn}
          maxLength={maxLength}
        />
      ) : (
        <SelectField label={name} isLabelUnseen value={draft} onChange={setDraft} choices={choices} />
      )}
      <IxIconButton
        type="submit"
        icon={iconCheck}
        variant="primary"
        size="16"
        aria-label={text.save}
        loading={isBusy}
      />
      <Tool icon={iconClose} label={text.cancel} onClick={() => setDraft(undefined)} />
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </form>
  )
}

function focusOn(input: HTMLInputElement | null): void {
  input?.focus()
}

function Tool({ icon, label, onClick }: { icon: string; label: string; onClick: () => void }) {
  return <IxIconButton icon={icon} size="16" variant="subtle-tertiary" aria-label={label} onClick={onClick} />
}
