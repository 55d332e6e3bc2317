import { iconSendTopRight, iconWarning } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type PagedList, usePagedList } from '../../app/api/paged-list.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import type { Formats } from '../../app/language/formats.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { CopyButton } from '../../components/actions/copy-button.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import type { Column } from '../../components/tables/data-table.tsx'
import { useHasEntries } from '../../components/tables/entries.ts'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { RowLink } from '../../components/tables/row-link.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { StatusText } from '../../components/values/status-text.tsx'
import { Time } from '../../components/values/time.tsx'
import { StateNotice } from './detail/state-notice.tsx'
import { ErrorText } from './error-text.tsx'
import { webhookMessages } from './messages.ts'
import { nextStepOf } from './next-step.ts'
import {
  isInterrupted,
  kindOf,
  pathOf,
  type Subscription,
  type SubscriptionKind,
  undeliveredCount,
  workingOnSameHost,
} from './subscription.ts'
import { pollMs, subscriptionEvents } from './subscription-data.ts'
import { SubscriptionState } from './subscription-state.tsx'
import './webhooks.css'

const listOptions = { ...subscriptionEvents, refetchIntervalMs: pollMs }

/** `WebhookList` lists the webhooks of the tenant. */
export function WebhookList() {
  return <SubscriptionTable kind="webhook" pagedList={usePagedList(['events', 'listWebhooks'], {}, listOptions)} />
}

/** `PublisherList` lists the MQTT publishers of the tenant. */
export function PublisherList() {
  return <SubscriptionTable kind="mqtt" pagedList={usePagedList(['events', 'listMqttPublishers'], {}, listOptions)} />
}

type SubscriptionTableProps = { kind: SubscriptionKind; pagedList: PagedList<Subscription> }

function SubscriptionTable({ kind, pagedList }: SubscriptionTableProps) {
  const text = useText(webhookMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const isWebhook = kind === 'webhook'
  const create = (
    <IxButton onClick={() => navigate({ to: `${pathOf[kind]}/new` })}>
      {isWebhook ? text.createWebhook : text.createPublisher}
    </IxButton>
  )
  const hasEntries = useHasEntries(pagedList)
  return (
    <>
      {hasEntries && <Toolbar count={text.count(formats.number(pagedList.total))}>{create}</Toolbar>}
      <Interruptions kind={kind} subscriptions={pagedList.rows} />
      <PagedTable
        label={isWebhook ? text.webhooks : text.publishers}
        pagedList={pagedList}
        isRoomy
        columns={columnsOf(text, formats)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `${pathOf[kind]}/${id}` })}
        empty={<NoSubscriptions kind={kind} />}
      />
    </>
  )
}

/** The maximum number of notices above the list. The list shows the others. */
const maxNotices = 3

/** `Interruptions` explains the interruptions above the list, and offers to try again. */
function Interruptions({ kind, subscriptions }: { kind: SubscriptionKind; subscriptions: readonly Subscription[] }) {
  const navigate = useNavigate()
  return subscriptions
    .filter(isInterrupted)
    .slice(0, maxNotices)
    .map((subscription) => (
      <StateNotice
        key={subscription.id}
        subscription={subscription}
        isNamed
        sameHost={workingOnSameHost(subscription, subscriptions)}
        onReplay={() => navigate({ to: `${pathOf[kind]}/${subscription.id}` })}
      />
    ))
}

/** The host in the example of the setting. */
const exampleHosts = { webhook: 'cmms.example.com', mqtt: 'broker.example.com' } as const

/** `NoSubscriptions` explains what to do before the first subscription: without an allowed host, none can be created. */
function NoSubscriptions({ kind }: { kind: SubscriptionKind }) {
  const text = useText(webhookMessages)
  const navigate = useNavigate()
  const query = useOperationQuery()
  const hosts = useQuery(query(['events', 'listOutboundHosts'], {})).data?.data
  const isWebhook = kind === 'webhook'
  const isBlocked = hosts?.length === 0
  const setting = `MILLWRIGHT_OUTBOUND_ALLOW=${exampleHosts[kind]}`
  return (
    <EmptyState icon={iconSendTopRight} title={isWebhook ? text.noWebhooks : text.noPublishers} isAtStart>
      <p>{isWebhook ? text.webhookMeaning : text.publisherMeaning}</p>
      {isBlocked && (
        <div className="notice" data-tone="warning">
          <Icon name={iconWarning} />
          <div>
            <p className="notice-title">{text.noHosts}</p>
            <p>{isWebhook ? text.blockedWebhook : text.blockedPublisher}</p>
          </div>
        </div>
      )}
      <ol className="webhook-steps">
        <li>
          {text.stepHost}
          <span className="webhook-setting with-copy">
            <code>{setting}</code>
            <CopyButton value={setting} label={text.setting} />
          </span>
          {hosts !== undefined && !isBlocked && (
            <span className="webhook-hosts">
              {text.allowedNow} <code>{hosts.join(', ')}</code>
            </span>
          )}
        </li>
        <li>{text.stepRestart}</li>
        <li>{isWebhook ? text.stepWebhook : text.stepPublisher}</li>
      </ol>
      <div className="notice-actions">
        <IxButton variant={isBlocked ? 'secondary' : 'primary'} onClick={() => navigate({ to: `${pathOf[kind]}/new` })}>
          {isWebhook ? text.createWebhook : text.createPublisher}
        </IxButton>
        <a href="/docs/how-to/receive-events#receive-the-first-event" target="_blank" rel="noopener">
          {text.outboundGuide}
        </a>
      </div>
    </EmptyState>
  )
}

type Text = (typeof webhookMessages)['en']

function columnsOf(text: Text, formats: Formats): Column<Subscription>[] {
  return [
    {
      id: 'name',
      header: text.name,
      width: 140,
      cell: (subscription) => (
        <RowLink to={`${pathOf[kindOf(subscription)]}/${subscription.id}`}>{subscription.name}</RowLink>
      ),
    },
    {
      id: 'state',
      header: text.state,
      width: 140,
      cell: (subscription) => <SubscriptionState subscription={subscription} />,
    },
    {
      id: 'receiver',
      header: text.receiver,
      width: 150,
      minWidth: 130,
      cell: ({ url }) => {
        const { host, pathname } = new URL(url)
        return (
          <span className="grid-lines" title={`${host}${pathname}`}>
            {host} <span className="quiet">{pathname}</span>
          </span>
        )
      },
    },
    {
      id: 'success',
      header: text.lastSuccess,
      width: 160,
      minWidth: 130,
      cell: (subscription) => <LastSuccess subscription={subscription} />,
    },
    {
      id: 'missing',
      header: text.notDelivered,
      width: 135,
      isNumber: true,
      cell: (subscription) => (
        <span title={undeliveredText(subscription, text, formats)}>
          {formats.number(undeliveredCount(subscription))}
        </span>
      ),
    },
    {
      id: 'error',
      header: text.lastError,
      width: 260,
      minWidth: 165,
      isGrowing: true,
      cell: (subscription) => <LastError subscription={subscription} />,
    },
    {
      id: 'next',
      header: text.nextStep,
      width: 185,
      cell: (subscription) => <NextStepText subscription={subscription} />,
    },
  ]
}

/** Returns why events are not delivered, in words. Returns an empty text if all events are delivered. */
function undeliveredText(subscription: Subscription, text: Text, formats: Formats): string {
  const { waiting, deadLetters } = subscription
  const behind = undeliveredCount(subscription) - waiting - deadLetters
  return [
    waiting > 0 && text.waitingCount(formats.number(waiting)),
    deadLetters > 0 && text.deadLetterCount(deadLetters, formats.number(deadLetters)),
    behind > 0 && text.behindCount(formats.number(behind)),
  ]
    .filter(Boolean)
    .join(', ')
}

/** `LastError` shows the error of the last attempt, unless a later attempt succeeded. */
function LastError({ subscription }: { subscription: Subscription }) {
  const text = useText(webhookMessages)
  const { lastSuccessTimestamp: success, lastFailureTimestamp: failure, lastError } = subscription
  if (failure === null || lastError === null || (success !== null && success > failure))
    return <span className="quiet">{text.none}</span>
  return (
    <span className="grid-lines">
      <ErrorText error={lastError} isShort />
    </span>
  )
}

/** `LastSuccess` distinguishes a receiver that never worked from one that worked until some time. */
function LastSuccess({ subscription }: { subscription: Subscription }) {
  const text = useText(webhookMessages)
  const { lastSuccessTimestamp, lastFailureTimestamp } = subscription
  if (lastSuccessTimestamp === null)
    return <span className="quiet">{lastFailureTimestamp === null ? text.notSentYet : text.never}</span>
  return isInterrupted(subscription) ? (
    <span className="grid-lines">
      {text.workedUntil} <Time at={lastSuccessTimestamp} isCompact />
    </span>
  ) : (
    <Time at={lastSuccessTimestamp} isRelative isShort />
  )
}

/** `NextStepText` states what to do about a subscription, and links to the page where it can be done. */
function NextStepText({ subscription }: { subscription: Subscription }) {
  const text = useText(webhookMessages)
  const step = nextStepOf(subscription)
  if (step === 'none') return <span className="quiet">{text.nothingToDo}</span>
  const kind = kindOf(subscription)
  const name = step === 'checkReceiver' && kind === 'mqtt' ? text.checkBroker : text[step]
  return (
    <StatusText tone="warning" title={name}>
      {step === 'checkReceiver' ? (
        <Link to={`${pathOf[kind]}/${subscription.id}`} search={{ log: 'failed' } as never}>
          {name}
        </Link>
      ) : (
        <RowLink to={`${pathOf[kind]}/${subscription.id}`}>{name}</RowLink>
      )}
    </StatusText>
  )
}
