import { iconDocumentSettings } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/area.ts'

export const area: Area = {
  id: 'model',
  title: { en: 'Properties and schemas', de: 'Eigenschaften und Schemata' },
  description: {
    en: 'What can be said about assets: custom properties and asset schemas',
    de: 'Was über Assets gesagt werden kann: eigene Eigenschaften und Schemata',
  },
  icon: iconDocumentSettings,
  path: '/model',
  group: 'administration',
  permissions: ['inventory_read_asset_data'],
  routes: [{ path: '', load: async () => (await import('./model-page.tsx')).ModelPage }],
}
