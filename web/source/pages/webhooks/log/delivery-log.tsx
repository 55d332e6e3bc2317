import type { Delivery } from '@millwright/api/event-subscriptions.ts'
import { iconSendTopRight } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import type { Failure } from '../../../app/api/failure.ts'
import { keyOf } from '../../../app/api/queries.ts'
import type { Formats } from '../../../app/language/formats.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { eventTypePrefix } from '../../../app/live/live-events.ts'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showSuccess, showWarning } from '../../../components/feedback/toast.ts'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { SubjectLink } from '../../../components/values/subject-link.tsx'
import { Time } from '../../../components/values/time.tsx'
import { kindOf, type Subscription, type SubscriptionKind } from '../subscription.ts'
import { operationsOf, pollMs, useRefreshSubscriptions } from '../subscription-data.ts'
import { DeliveryDialog } from './delivery-dialog.tsx'
import { DeliveryState } from './delivery-state.tsx'
import { logMessages } from './messages.ts'
import { NextAttempt } from './next-attempt.tsx'

/** The parts of the log, with the query of each part. */
const parts = {
  all: {},
  failed: { state: 'failed' },
  dead: { deadLetters: true },
  waiting: { state: 'waiting' },
} as const

type Part = keyof typeof parts
const partNames = Object.keys(parts) as Part[]

/** `DeliveryLog` lists the deliveries of a subscription, newest first. */
export function DeliveryLog({ subscription }: { subscription: Subscription }) {
  const text = useText(logMessages)
  const formats = useFormats()
  const kind = kindOf(subscription)
  const { id, deadLetters } = subscription
  const [search, setSearch] = useSearchState<'log' | 'delivery'>()
  const part = partNames.find((each) => each === search.log) ?? 'all'
  const list = useDeliveries(kind, id, part)
  const rows = list.data?.pages.flatMap(({ data }) => data) ?? []
  const [isRetrying, setRetrying] = useState(false)
  return (
    <section className="delivery-log" aria-labelledby="delivery-log">
      <div className="card-head">
        <h2 id="delivery-log">{text.title}</h2>
        {deadLetters > 0 && (
          <IxButton variant="secondary" onClick={() => setRetrying(true)}>
            {text.retryAll}
          </IxButton>
        )}
      </div>
      <ViewSwitch
        label={text.filter}
        choices={partNames.map((value) => ({ value, label: text[value] }))}
        chosen={part}
        onChoose={(chosen) => setSearch({ log: chosen === 'all' ? undefined : chosen })}
      />
      {list.error !== null && list.data === undefined ? (
        <ProblemMessage failure={list.error} onRetry={() => list.refetch()} />
      ) : list.isPending ? (
        <Loading />
      ) : (
        <DataTable
          label={text.title}
          columns={columnsOf(text, formats, subscription)}
          rows={rows}
          idOf={(delivery) => delivery.id}
          onOpen={(delivery) => setSearch({ delivery: delivery.id })}
          onEnd={() => {
            if (list.hasNextPage && !list.isFetchingNextPage) list.fetchNextPage()
          }}
          empty={
            <EmptyState icon={iconSendTopRight} title={part === 'all' ? text.none : text.noneOfPart}>
              {part === 'all' && <p>{text.noneHint}</p>}
            </EmptyState>
          }
        />
      )}
      {search.delivery !== undefined && (
        <DeliveryDialog
          subscription={subscription}
          deliveryId={search.delivery}
          onClose={() => setSearch({ delivery: undefined })}
        />
      )}
      {isRetrying && <RetryAllDialog kind={kind} subscription={subscription} onClose={() => setRetrying(false)} />}
    </section>
  )
}

type DeliveryPage = Output<'events', 'listWebhookDeliveries'>

/**
 * Loads the log page by page while the user scrolls. The log is loaded again periodically only while it has one page,
 * so that rows do not move while the user reads older deliveries.
 */
function useDeliveries(kind: SubscriptionKind, id: string, part: Part) {
  const api = useApi()
  const { listDeliveries } = operationsOf(api, kind)
  return useInfiniteQuery<DeliveryPage, Failure, { pages: DeliveryPage[] }, readonly unknown[], string | undefined>({
    queryKey: keyOf('events', 'listDeliveries', { kind, id, part }),
    initialPageParam: undefined,
    queryFn: ({ pageParam: cursor }) =>
      listDeliveries({
        params: { id },
        query: { ...parts[part], limit: 100, ...(cursor !== undefined && { cursor }) },
      }),
    getNextPageParam: ({ meta }) => meta.nextCursor,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : pollMs),
  })
}

type RetryAllDialogProps = { kind: SubscriptionKind; subscription: Subscription; onClose: () => void }

function RetryAllDialog({ kind, subscription: { id, deadLetters }, onClose }: RetryAllDialogProps) {
  const text = useText(logMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useRefreshSubscriptions()
  const retry = async () => {
    const { data } = await operationsOf(api, kind).retryDeadLetters({ params: { id } })
    showSuccess(text.retriedAll(data.retried, formats.number(data.retried)))
    if (data.remaining > 0) showWarning(text.remaining(data.remaining, formats.number(data.remaining)))
    await refresh()
  }
  return (
    <ConfirmDialog title={text.retryAllTitle} action={text.retryAll} onConfirm={retry} onClose={onClose}>
      <p>{text.retryAllText(deadLetters, formats.number(deadLetters))}</p>
    </ConfirmDialog>
  )
}

type Text = (typeof logMessages)['en']

function columnsOf(text: Text, formats: Formats, subscription: Subscription): Column<Delivery>[] {
  const kind = kindOf(subscription)
  return [
    {
      id: 'time',
      header: text.time,
      width: 190,
      cell: ({ createdTimestamp }) => <Time at={createdTimestamp} isExact />,
    },
    { id: 'state', header: text.state, width: 165, cell: (delivery) => <DeliveryState delivery={delivery} /> },
    { id: 'type', header: text.type, width: 200, cell: ({ type }) => shortened(type) },
    {
      id: 'subject',
      header: text.subject,
      width: 155,
      cell: ({ subject }) => (subject === null ? text.hidden : <SubjectLink subject={subject} />),
    },
    {
      id: 'result',
      header: text.result,
      width: 160,
      cell: (delivery) => <LastResult delivery={delivery} kind={kind} />,
    },
    {
      id: 'attempts',
      header: text.attemptCount,
      width: 105,
      isNumber: true,
      cell: ({ attemptCount }) => formats.number(attemptCount),
    },
    {
      id: 'next',
      header: text.nextAttempt,
      width: 195,
      cell: ({ nextAttemptTimestamp }) => <NextAttempt at={nextAttemptTimestamp} subscription={subscription} />,
    },
  ]
}

/** `LastResult` shows the HTTP status and the duration of the last attempt, or why it failed without an HTTP status. */
function LastResult({ delivery: { attempts }, kind }: { delivery: Delivery; kind: SubscriptionKind }) {
  const text = useText(logMessages)
  const formats = useFormats()
  const last = attempts.at(-1)
  if (last === undefined) return null
  const duration = text.milliseconds(formats.number(last.durationMs))
  if (kind === 'webhook' && last.status !== null) return `${last.status} · ${duration}`
  if (last.error === null) return duration
  return (
    <span lang="en" title={last.error}>
      {last.error}
    </span>
  )
}

function shortened(type: string): string {
  return type.startsWith(eventTypePrefix) ? type.slice(eventTypePrefix.length) : type
}
