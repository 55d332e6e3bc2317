import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { usePreference } from '../../../app/preferences/preference.ts'
import { useCopy } from '../../../components/actions/clipboard.ts'
import { MenuButton, type MenuEntry } from '../../../components/actions/menu-button.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { assetsMessages } from '../messages.ts'
import { type SavedView, savedViewsOf } from './saved-views.ts'
import { searchOf, type View, type ViewSearch } from './view-search.ts'

const maxViews = 50

type ViewsMenuProps = { view: View; columns: readonly string[] }

/** `ViewsMenu` opens, saves and deletes views, and copies a link to the current view. */
export function ViewsMenu({ view, columns }: ViewsMenuProps) {
  const text = useText(assetsMessages)
  const navigate = useNavigate()
  const [stored, setStored] = usePreference<unknown>('assets.views', [])
  const [isSaving, setSaving] = useState(false)
  const [deleting, setDeleting] = useState<SavedView>()
  const copy = useCopy()
  const views = savedViewsOf(stored)
  const search = searchOf({ ...view, columns: columns.join(',') })
  const go = (next: ViewSearch) => navigate({ to: '/assets', search: next as never })
  const share = async () => {
    const address = new URL('/console/assets', location.origin)
    for (const [name, value] of Object.entries(search)) address.searchParams.set(name, value)
    if (await copy(address.href)) showSuccess(text.shared)
  }
  const entries: MenuEntry[] = [
    { kind: 'item', label: text.defaultView, onSelect: () => go({}) },
    ...views.map(
      (saved): MenuEntry => ({ kind: 'item', label: saved.name, onSelect: () => go(saved.search as ViewSearch) }),
    ),
    { kind: 'line' },
    { kind: 'item', label: text.saveView, isDisabled: views.length >= maxViews, onSelect: () => setSaving(true) },
    { kind: 'item', label: text.share, onSelect: share },
    ...(views.length > 0 ? ([{ kind: 'line' }, { kind: 'heading', label: text.deleteViews }] as const) : []),
    ...views.map(
      (saved): MenuEntry => ({
        kind: 'item',
        label: text.deleteView(saved.name),
        onSelect: () => setDeleting(saved),
      }),
    ),
  ]
  return (
    <>
      <MenuButton label={text.views} entries={entries} isAtEnd />
      {isSaving && (
        <SaveDialog
          onClose={() => setSaving(false)}
          onSave={(name) =>
            setStored([...views.filter((each) => each.name !== name), { id: crypto.randomUUID(), name, search }])
          }
        />
      )}
      {deleting !== undefined && (
        <ConfirmDialog
          title={text.deleteViewTitle(deleting.name)}
          action={text.deleteVerb}
          isDangerous
          onConfirm={async () => setStored(views.filter(({ id }) => id !== deleting.id))}
          onClose={() => setDeleting(undefined)}
        >
          <p>{text.deleteViewText}</p>
        </ConfirmDialog>
      )}
    </>
  )
}

function SaveDialog({ onSave, onClose }: { onSave: (name: string) => void; onClose: () => void }) {
  const text = useText(assetsMessages)
  const [name, setName] = useState('')
  const [isMissing, setMissing] = useState(false)
  const save = async () => {
    setMissing(name.trim() === '')
    return name.trim() !== '' && onSave(name.trim())
  }
  return (
    <ConfirmDialog title={text.saveView.replace('…', '')} action={text.save} onClose={onClose} onConfirm={save}>
      <TextField
        label={text.viewName}
        value={name}
        onChange={setName}
        maxLength={64}
        error={isMissing && name.trim() === '' ? text.required : undefined}
        isRequired
      />
    </ConfirmDialog>
  )
}
