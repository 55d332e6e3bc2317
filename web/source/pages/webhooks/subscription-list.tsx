import { iconSendTopRight } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { type PagedList, usePagedList } from '../../app/api/paged-list.ts'
import type { Formats } from '../../app/language/formats.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import type { Column } from '../../components/tables/data-table.tsx'
import { useHasEntries } from '../../components/tables/entries.ts'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { Time } from '../../components/values/time.tsx'
import { webhookMessages } from './messages.ts'
import { eventsBehind, pathOf, type Subscription, type SubscriptionKind } from './subscription.ts'
import { pollMs, subscriptionEvents } from './subscription-data.ts'
import { SubscriptionState } from './subscription-state.tsx'

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
      <PagedTable
        label={isWebhook ? text.webhooks : text.publishers}
        pagedList={pagedList}
        columns={columnsOf(text, formats)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `${pathOf[kind]}/${id}` })}
        empty={
          <EmptyState icon={iconSendTopRight} title={isWebhook ? text.noWebhooks : text.noPublishers}>
            <p>{isWebhook ? text.webhookMeaning : text.publisherMeaning}</p>
            <p>
              {text.outboundSetting} <code>MILLWRIGHT_OUTBOUND_ALLOW</code>
            </p>
            <p className="quiet">
              {text.outboundExample}{' '}
              <code>MILLWRIGHT_OUTBOUND_ALLOW={isWebhook ? 'cmms.example.com' : 'broker.example.com'}</code>
            </p>
            <p className="quiet">
              {text.outboundRestart}{' '}
              <a href="/docs/how-to/receive-events#receive-the-first-event" target="_blank" rel="noopener">
                {text.outboundGuide}
              </a>
            </p>
            {create}
          </EmptyState>
        }
      />
    </>
  )
}

type Text = (typeof webhookMessages)['en']

function columnsOf(text: Text, formats: Formats): Column<Subscription>[] {
  return [
    { id: 'name', header: text.name, width: 150, cell: ({ name }) => name },
    {
      id: 'state',
      header: text.state,
      width: 155,
      cell: (subscription) => <SubscriptionState subscription={subscription} />,
    },
    { id: 'target', header: text.target, width: 165, cell: ({ url }) => url },
    {
      id: 'behind',
      header: text.behind,
      width: 115,
      isNumber: true,
      cell: (subscription) => formats.number(eventsBehind(subscription)),
    },
    { id: 'waiting', header: text.waiting, width: 105, isNumber: true, cell: ({ waiting }) => formats.number(waiting) },
    {
      id: 'dead',
      header: text.deadLetters,
      width: 140,
      isNumber: true,
      cell: ({ deadLetters }) => formats.number(deadLetters),
    },
    {
      id: 'result',
      header: text.lastResult,
      width: 340,
      cell: (subscription) => <LastResult subscription={subscription} />,
    },
  ]
}

/** `LastResult` shows the error of the last attempt, or when the last attempt succeeded. */
function LastResult({ subscription }: { subscription: Subscription }) {
  const text = useText(webhookMessages)
  const { lastSuccessTimestamp: success, lastFailureTimestamp: failure, lastError } = subscription
  if (failure === null || lastError === null || (success !== null && success > failure))
    return (
      <>
        {success !== null && `${text.delivered} · `}
        <Time at={success} isRelative />
      </>
    )
  return (
    <>
      <span lang="en" title={lastError}>
        {lastError}
      </span>
      {' · '}
      <Time at={failure} isRelative />
    </>
  )
}
