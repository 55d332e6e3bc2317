import type { Delivery } from '@millwright/api/event-subscriptions.ts'
import { IxButton } from '@siemens/ix-react'
import { useEffect, useEffectEvent, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { AttemptView } from '../log/attempt-view.tsx'
import type { SubscriptionKind } from '../subscription.ts'
import { operationsOf, useRefreshSubscriptions } from '../subscription-data.ts'
import { detailMessages } from './messages.ts'

type TestDialogProps = { kind: SubscriptionKind; id: string; onClose: () => void }

/** `TestDialog` sends a test event when it opens, and shows the response of the receiver. */
export function TestDialog({ kind, id, onClose }: TestDialogProps) {
  const text = useText(detailMessages)
  const api = useApi()
  const refresh = useRefreshSubscriptions()
  const [delivery, setDelivery] = useState<Delivery>()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const send = async () => {
    setBusy(true)
    setFailure(undefined)
    setDelivery(undefined)
    try {
      setDelivery((await operationsOf(api, kind).test({ params: { id } })).data)
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
      await refresh()
    }
  }
  const sendFirst = useEffectEvent(send)
  useEffect(() => {
    sendFirst()
  }, [])
  const attempt = delivery?.attempts.at(-1)
  const isSuccess = delivery?.state === 'succeeded'
  return (
    <Dialog
      title={text.testTitle}
      onClose={onClose}
      isWide
      actions={
        <>
          <IxButton variant="secondary" onClick={onClose}>
            {text.close}
          </IxButton>
          <IxButton loading={isBusy} onClick={send}>
            {text.sendAgain}
          </IxButton>
        </>
      }
    >
      <p className="quiet card-lead">{kind === 'webhook' ? text.testText : text.testTextMqtt}</p>
      {isBusy && <Loading label={text.testWaiting} />}
      <div className="delivery-facts" role="status">
        {delivery !== undefined && (
          <p className="card-lead">
            <StatusChip tone={isSuccess ? 'good' : 'bad'}>
              {isSuccess ? text.testSucceeded : text.testFailed}
            </StatusChip>
          </p>
        )}
        {attempt !== undefined && <AttemptView kind={kind} attempt={attempt} />}
      </div>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </Dialog>
  )
}
