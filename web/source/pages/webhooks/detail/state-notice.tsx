import { filterErrorStart } from '@millwright/api/event-subscriptions.ts'
import { iconInfo, iconWarning } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { type ReactNode, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { Time } from '../../../components/values/time.tsx'
import { eventsBehind, kindOf, type Subscription } from '../subscription.ts'
import { detailMessages } from './messages.ts'

type StateNoticeProps = {
  subscription: Subscription
  onActivate: () => Promise<void>
  onTakeOver: () => Promise<void>
  onReplay: () => void
}

/** `StateNotice` explains why a subscription does not send events, and offers what the user can do. */
export function StateNotice({ subscription, onActivate, onTakeOver, onReplay }: StateNoticeProps) {
  const text = useText(detailMessages)
  const formats = useFormats()
  const { state, reason, circuit, owner, nextAttemptTimestamp, lastError } = subscription
  const behind = eventsBehind(subscription)
  const isWebhook = kindOf(subscription) === 'webhook'
  if (reason === 'events_gone') {
    return (
      <Notice title={text.eventsGone} actions={<IxButton onClick={onReplay}>{text.replayMenu}</IxButton>}>
        <p>{text.eventsGoneText}</p>
      </Notice>
    )
  }
  if (reason === 'receiver_gone') {
    return (
      <Notice title={text.receiverGone} actions={<ActionButton action={text.activate} onRun={onActivate} />}>
        <p>{text.receiverGoneText}</p>
      </Notice>
    )
  }
  if (reason === 'owner_disabled') {
    return (
      <Notice title={text.ownerDisabled} actions={<ActionButton action={text.takeOver} onRun={onTakeOver} />}>
        <p>{text.ownerDisabledText(owner.name)}</p>
      </Notice>
    )
  }
  if (state === 'paused') {
    return (
      <Notice title={text.paused} tone="info" actions={<ActionButton action={text.resume} onRun={onActivate} />}>
        <p>{text.pausedText(behind, formats.number(behind))}</p>
      </Notice>
    )
  }
  if (circuit === 'open' && lastError?.startsWith(filterErrorStart)) {
    return (
      <Notice title={text.filterInvalid}>
        <p>{text.filterInvalidText}</p>
      </Notice>
    )
  }
  if (circuit === 'open') {
    return (
      <Notice title={isWebhook ? text.circuitOpen : text.circuitOpenMqtt}>
        <p>
          {isWebhook ? text.circuitOpenText : text.circuitOpenTextMqtt}
          {nextAttemptTimestamp !== null && (
            <>
              {' '}
              {text.nextAttempt}: <Time at={nextAttemptTimestamp} isExact />.
            </>
          )}
        </p>
      </Notice>
    )
  }
  return null
}

type NoticeProps = { title: string; tone?: 'warning' | 'info'; children: ReactNode; actions?: ReactNode }

function Notice({ title, tone = 'warning', children, actions }: NoticeProps) {
  return (
    <section className="notice" data-tone={tone} aria-label={title}>
      <Icon name={tone === 'warning' ? iconWarning : iconInfo} />
      <div>
        <p className="notice-title">{title}</p>
        {children}
        {actions !== undefined && <div className="notice-actions">{actions}</div>}
      </div>
    </section>
  )
}

/** `ActionButton` runs an action at once, and shows its error. */
function ActionButton({ action, onRun }: { action: string; onRun: () => Promise<void> }) {
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    setFailure(undefined)
    await onRun().catch(setFailure)
    setBusy(false)
  }
  return (
    <>
      <IxButton variant="secondary" loading={isBusy} onClick={run}>
        {action}
      </IxButton>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </>
  )
}
