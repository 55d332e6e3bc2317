import type { RemoteSession } from '@millwright/api/remote-access.ts'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import { remoteMessages } from '../messages.ts'
import { useExtensionMinutes, useRefreshSessions, useSessionRights } from '../remote-session.ts'
import { extensionChoices } from './session-times.ts'

/** `SessionActions` extends or ends a session. */
export function SessionActions({ session }: { session: RemoteSession }) {
  const text = useText(remoteMessages)
  const api = useApi()
  const refresh = useRefreshSessions()
  const { isOwn, canEnd } = useSessionRights(session)
  const extensions = extensionChoices(useExtensionMinutes(session))
  const [isExtending, setExtending] = useState(false)
  const isPending = session.state === 'pending-approval'
  const end = async () => {
    await api['remote-access'].endSession({ params: { id: session.id } })
    showSuccess(text.sessionEnded)
    await refresh()
  }
  return (
    <>
      {extensions.length > 0 && (
        <IxButton variant="secondary" onClick={() => setExtending(true)}>
          {text.extend}
        </IxButton>
      )}
      {canEnd && (
        <ConfirmButton
          key={String(isPending)}
          action={isPending && isOwn ? text.withdraw : text.end}
          title={isPending && isOwn ? text.withdrawTitle : text.endTitle}
          onConfirm={end}
        >
          {isPending && isOwn ? text.withdrawText : text.endText}
        </ConfirmButton>
      )}
      {isExtending && <ExtendDialog session={session} extensions={extensions} onClose={() => setExtending(false)} />}
    </>
  )
}

type ExtendDialogProps = {
  session: RemoteSession
  /** The durations, in minutes, by which the session can be extended. */
  extensions: readonly number[]
  onClose: () => void
}

function ExtendDialog({ session: { id }, extensions, onClose }: ExtendDialogProps) {
  const text = useText(remoteMessages)
  const api = useApi()
  const refresh = useRefreshSessions()
  const [minutes, setMinutes] = useState(String(extensions[1] ?? extensions[0]))
  const extend = async () => {
    await api['remote-access'].extendSession({ params: { id }, body: { data: { minutes: Number(minutes) } } })
    showSuccess(text.extended)
    await refresh()
  }
  return (
    <ConfirmDialog title={text.extendTitle} action={text.extend} onConfirm={extend} onClose={onClose}>
      <SelectField
        label={text.extendBy}
        value={minutes}
        onChange={setMinutes}
        choices={extensions.map((value) => ({
          value: String(value),
          label: value % 60 === 0 ? text.hours(value / 60) : text.minutes(value),
        }))}
      />
    </ConfirmDialog>
  )
}
