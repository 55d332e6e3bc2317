import { iconDataIngress } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'inbox',
  title: { en: 'Inbox', de: 'Eingang' },
  description: { en: 'New assets waiting for review', de: 'Neue Assets zur Prüfung' },
  icon: iconDataIngress,
  path: '/inbox',
  group: 'plant',
  permissions: ['inventory_read_asset_data'],
  routes: [
    { path: '', load: async () => (await import('./inbox-page.tsx')).InboxPage },
    { path: 'rules', load: async () => (await import('./rules/rules-page.tsx')).RulesPage },
  ],
  commands: [
    { title: { en: 'Recent decisions', de: 'Letzte Entscheidungen' }, search: { list: 'decisions' } },
    { title: { en: 'Possible duplicates', de: 'Mögliche Duplikate' }, search: { list: 'twins' } },
  ],
}
