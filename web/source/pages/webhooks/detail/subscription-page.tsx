import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { DeliveryLog } from '../log/delivery-log.tsx'
import { webhookMessages } from '../messages.ts'
import type { Subscription, SubscriptionKind } from '../subscription.ts'
import { operationsOf, useRefreshSubscriptions, useSubscription } from '../subscription-data.ts'
import { detailMessages } from './messages.ts'
import { ProgressCard } from './progress-card.tsx'
import { ReplayDialog } from './replay-dialog.tsx'
import { SettingsCard } from './settings-card.tsx'
import { StateNotice } from './state-notice.tsx'
import { SubscriptionActions } from './subscription-actions.tsx'
import '../webhooks.css'

/** `WebhookPage` shows a webhook with its state and its deliveries. */
export function WebhookPage() {
  return <SubscriptionPage kind="webhook" />
}

/** `PublisherPage` shows an MQTT publisher with its state and its deliveries. */
export function PublisherPage() {
  return <SubscriptionPage kind="mqtt" />
}

function SubscriptionPage({ kind }: { kind: SubscriptionKind }) {
  const text = useText(webhookMessages)
  const { id = '' } = useParams({ strict: false })
  const loaded = useSubscription(kind, id)
  const [isReplaying, setReplaying] = useState(false)
  const subscription = loaded.data?.subscription
  const title = subscription?.name ?? (kind === 'webhook' ? text.webhook : text.publisher)
  usePageTitle(title)
  const replay = () => setReplaying(true)
  return (
    <>
      <PageHeader
        title={title}
        above={
          <Link to="/webhooks" search={(kind === 'mqtt' ? { view: 'mqtt' } : {}) as never}>
            {kind === 'webhook' ? text.webhooks : text.publishers}
          </Link>
        }
        actions={subscription !== undefined && <SubscriptionActions subscription={subscription} onReplay={replay} />}
      />
      <QueryState query={loaded}>
        {(data) => (
          <>
            <NoticeOf subscription={data.subscription} kind={kind} onReplay={replay} />
            <div className="cards cards-two">
              <ProgressCard subscription={data.subscription} />
              <SettingsCard subscription={data.subscription} />
            </div>
            <DeliveryLog subscription={data.subscription} />
            {isReplaying && <ReplayDialog subscription={data.subscription} onClose={() => setReplaying(false)} />}
          </>
        )}
      </QueryState>
    </>
  )
}

type NoticeOfProps = { subscription: Subscription; kind: SubscriptionKind; onReplay: () => void }

function NoticeOf({ subscription, kind, onReplay }: NoticeOfProps) {
  const text = useText(detailMessages)
  const api = useApi()
  const refresh = useRefreshSubscriptions()
  const change = async (data: { active: true; types?: string[] }, done: string) => {
    await operationsOf(api, kind).update({ params: { id: subscription.id }, body: { data } })
    showSuccess(done)
    await refresh()
  }
  return (
    <StateNotice
      subscription={subscription}
      onActivate={() => change({ active: true }, text.resumed)}
      onTakeOver={() => change({ active: true, types: subscription.types }, text.takenOver)}
      onReplay={onReplay}
    />
  )
}
