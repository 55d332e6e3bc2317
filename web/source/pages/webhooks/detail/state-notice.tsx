import { filterErrorStart } from '@millwright/api/event-subscriptions.ts'
import { iconInfo, iconWarning } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Icon } from '../../../components/values/icon.tsx'
import { Time } from '../../../components/values/time.tsx'
import { ErrorText } from '../error-text.tsx'
import { webhookMessages } from '../messages.ts'
import { checkFor, type PathError, pathErrorOf } from '../plain-error.ts'
import { eventsBehind, isInterrupted, kindOf, pathOf, type Subscription, undeliveredCount } from '../subscription.ts'
import { operationsOf, useRefreshSubscriptions } from '../subscription-data.ts'
import { detailMessages } from './messages.ts'
import { TestDialog } from './test-dialog.tsx'

type StateNoticeProps = {
  subscription: Subscription
  /** Whether the title contains the name of the subscription. A list needs the name. */
  isNamed?: boolean
  /** Another subscription that delivers events to the same host and port. */
  sameHost?: Subscription | undefined
  onReplay: () => void
}

/** `StateNotice` explains why a subscription does not send events, and offers what the user can do. */
export function StateNotice({ subscription, isNamed = false, sameHost, onReplay }: StateNoticeProps) {
  const text = useText(detailMessages)
  const shared = useText(webhookMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useRefreshSubscriptions()
  const { state, reason, circuit, owner, lastSuccessTimestamp, nextAttemptTimestamp, lastError } = subscription
  const [isTesting, setTesting] = useState(false)
  const behind = eventsBehind(subscription)
  const kind = kindOf(subscription)
  const isWebhook = kind === 'webhook'
  const change = async (data: { active: true; types?: string[] }, done: string) => {
    await operationsOf(api, kind).update({ params: { id: subscription.id }, body: { data } })
    showSuccess(done)
    await refresh()
  }
  const activate = () => change({ active: true }, text.resumed)
  const takeOver = () => change({ active: true, types: subscription.types }, text.takenOver)
  const failureTitle = () => {
    if (lastSuccessTimestamp === null) return isWebhook ? text.neverWorkedTitle : text.neverWorkedTitleMqtt
    if (circuit !== 'open') return text.failing
    return isWebhook ? text.circuitOpen : text.circuitOpenMqtt
  }
  const titleOf = (title: string) => (isNamed ? `${subscription.name} · ${title}` : title)
  if (reason === 'events_gone') {
    return (
      <Notice title={titleOf(text.eventsGone)} actions={<IxButton onClick={onReplay}>{text.replayMenu}</IxButton>}>
        <p>{text.eventsGoneText}</p>
      </Notice>
    )
  }
  if (reason === 'receiver_gone') {
    return (
      <Notice title={titleOf(text.receiverGone)} actions={<ActionButton action={text.activate} onRun={activate} />}>
        <p>{text.receiverGoneText}</p>
      </Notice>
    )
  }
  if (reason === 'owner_disabled') {
    return (
      <Notice title={titleOf(text.ownerDisabled)} actions={<ActionButton action={text.takeOver} onRun={takeOver} />}>
        <p>{text.ownerDisabledText(owner.name)}</p>
      </Notice>
    )
  }
  if (state === 'paused') {
    return (
      <Notice title={titleOf(text.paused)} tone="info" actions={<ActionButton action={text.resume} onRun={activate} />}>
        <p>{text.pausedText(behind, formats.number(behind))}</p>
      </Notice>
    )
  }
  if (circuit === 'open' && lastError?.startsWith(filterErrorStart)) {
    return (
      <Notice title={titleOf(text.filterInvalid)}>
        <p>{text.filterInvalidText}</p>
      </Notice>
    )
  }
  if (isInterrupted(subscription)) {
    const undelivered = undeliveredCount(subscription)
    const pathError = sameHost && pathErrorOf(lastError, subscription.url, sameHost.url)
    const check = checkFor(lastError, sameHost !== undefined)
    // An address that worked before is only named if the error is about it.
    const isChecked = check !== 'checkAddress' || lastSuccessTimestamp === null
    return (
      <Notice
        title={titleOf(failureTitle())}
        actions={
          <>
            {/* The page of the subscription has this button, and shows its deliveries. */}
            {isNamed && (
              <IxButton variant="secondary" onClick={() => setTesting(true)}>
                {text.sendTest}
              </IxButton>
            )}
            <ActionButton action={shared.retryNow} onRun={() => change({ active: true }, shared.retried)} />
            {isNamed && (
              <Link to={`${pathOf[kind]}/${subscription.id}`} search={{ log: 'failed' } as never}>
                {shared.failedDeliveries}
              </Link>
            )}
            <a href="/docs/how-to/receive-events#troubleshooting" target="_blank" rel="noopener">
              {text.repairGuide}
            </a>
            {isTesting && <TestDialog kind={kind} id={subscription.id} onClose={() => setTesting(false)} />}
          </>
        }
      >
        <p>
          {lastError !== null && (
            <>
              <ErrorText error={lastError} />.{' '}
            </>
          )}
          {text.undelivered(undelivered, formats.number(undelivered))}
          {nextAttemptTimestamp !== null && (
            <>
              {' '}
              {text.nextAttempt}: <Time at={nextAttemptTimestamp} isRelative />.
            </>
          )}
        </p>
        <p>
          {lastSuccessTimestamp !== null && (
            <>
              {text.workedUntil} <Time at={lastSuccessTimestamp} isCompact />. {text.workedUntilEnd}{' '}
            </>
          )}
          {sameHost !== undefined && pathError !== undefined ? (
            <PathErrorText error={pathError} working={sameHost.name} />
          ) : (
            <>
              {sameHost !== undefined && (isWebhook ? text.sameHost(sameHost.name) : text.sameHostMqtt(sameHost.name))}{' '}
              {isChecked && (check === 'checkAgain' && !isWebhook ? text.checkTopicAndSignIn : text[check])}
            </>
          )}
        </p>
        <p>
          {circuit !== 'open' ? text.failingText : isWebhook ? text.circuitOpenText : text.circuitOpenTextMqtt}{' '}
          {text.checkHint}
        </p>
      </Notice>
    )
  }
  return null
}

/** `PathErrorText` explains that a host responds to another webhook, and what to check behind the path that fails. */
function PathErrorText({ error: { cause, status, path }, working }: { error: PathError; working: string }) {
  const text = useText(detailMessages)
  return `${text.hostResponds(working)} ${text[`${cause}At`](path, status)}`
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
