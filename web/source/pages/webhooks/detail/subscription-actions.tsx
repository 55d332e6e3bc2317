import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { MenuButton } from '../../../components/actions/menu-button.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { kindOf, pathOf, type Subscription } from '../subscription.ts'
import { operationsOf, useRefreshSubscriptions } from '../subscription-data.ts'
import { detailMessages } from './messages.ts'
import { RotateDialog } from './rotate-dialog.tsx'
import { TestDialog } from './test-dialog.tsx'

type SubscriptionActionsProps = { subscription: Subscription; onReplay: () => void }

/** `SubscriptionActions` contains the buttons of a subscription. */
export function SubscriptionActions({ subscription, onReplay }: SubscriptionActionsProps) {
  const text = useText(detailMessages)
  const api = useApi()
  const navigate = useNavigate()
  const refresh = useRefreshSubscriptions()
  const [open, setOpen] = useState<'test' | 'rotate' | 'delete'>()
  const close = () => setOpen(undefined)
  const { id, name, state } = subscription
  const kind = kindOf(subscription)
  const operations = operationsOf(api, kind)
  const pause = async () => {
    try {
      await operations.update({ params: { id }, body: { data: { active: false } } })
      showSuccess(text.nowPaused)
    } catch (error) {
      showError((error as Error).message)
    }
    await refresh()
  }
  const remove = async () => {
    await operations.remove({ params: { id } })
    showSuccess(text.deleted)
    await navigate({ to: '/webhooks', search: (kind === 'mqtt' ? { view: 'mqtt' } : {}) as never })
    await refresh()
  }
  return (
    <>
      <IxButton onClick={() => setOpen('test')}>{text.sendTest}</IxButton>
      {/* The notice on the page offers what to do in all other states. */}
      {state === 'active' && (
        <IxButton variant="secondary" onClick={pause}>
          {text.pause}
        </IxButton>
      )}
      <IxButton variant="secondary" onClick={() => navigate({ to: `${pathOf[kind]}/${id}/edit` })}>
        {text.edit}
      </IxButton>
      <MenuButton
        label={text.more}
        isAtEnd
        entries={[
          { kind: 'item', label: text.replayMenu, onSelect: onReplay },
          ...(kind === 'webhook'
            ? [{ kind: 'item' as const, label: text.rotateMenu, onSelect: () => setOpen('rotate') }]
            : []),
          { kind: 'line' },
          { kind: 'item', label: text.deleteMenu, onSelect: () => setOpen('delete') },
        ]}
      />
      {open === 'test' && <TestDialog kind={kind} id={id} onClose={close} />}
      {open === 'rotate' && <RotateDialog id={id} onClose={close} />}
      {open === 'delete' && (
        <ConfirmDialog
          title={text.deleteTitle(name)}
          action={text.delete}
          isDangerous
          onConfirm={remove}
          onClose={close}
        >
          <p>{kind === 'webhook' ? text.deleteText : text.deleteTextMqtt}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
