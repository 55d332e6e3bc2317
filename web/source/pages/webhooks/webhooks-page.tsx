import { useText } from '../../app/language/language-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { webhookMessages } from './messages.ts'
import { PublisherList, WebhookList } from './subscription-list.tsx'

/** `WebhooksPage` lists the webhooks and the MQTT publishers of the tenant. */
export function WebhooksPage() {
  const text = useText(webhookMessages)
  return (
    <TabbedPage
      title={text.title}
      subtitle={text.subtitle}
      label={text.views}
      views={{
        webhooks: { title: text.webhooks, View: WebhookList },
        mqtt: { title: text.publishers, View: PublisherList },
      }}
    />
  )
}
