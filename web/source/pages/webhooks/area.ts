import { iconSendTopRight } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'webhooks',
  title: { en: 'Webhooks and MQTT', de: 'Webhooks und MQTT' },
  description: {
    en: 'Webhooks and MQTT publishers, which send events to other systems',
    de: 'Webhooks und MQTT-Publisher, die Ereignisse an andere Systeme senden',
  },
  icon: iconSendTopRight,
  path: '/webhooks',
  group: 'administration',
  permissions: ['glb_webhook_manage'],
  routes: [
    { path: '', load: async () => (await import('./webhooks-page.tsx')).WebhooksPage },
    { path: 'new', load: async () => (await import('./form/form-page.tsx')).NewWebhookPage },
    { path: '$id', load: async () => (await import('./detail/subscription-page.tsx')).WebhookPage },
    { path: '$id/edit', load: async () => (await import('./form/form-page.tsx')).EditWebhookPage },
    { path: 'mqtt/new', load: async () => (await import('./form/form-page.tsx')).NewPublisherPage },
    { path: 'mqtt/$id', load: async () => (await import('./detail/subscription-page.tsx')).PublisherPage },
    { path: 'mqtt/$id/edit', load: async () => (await import('./form/form-page.tsx')).EditPublisherPage },
  ],
  commands: [{ title: { en: 'MQTT publishers', de: 'MQTT-Publisher' }, search: { view: 'mqtt' } }],
}
