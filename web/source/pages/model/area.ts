import { iconDocumentSettings } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

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
  commands: [
    { title: { en: 'Custom properties', de: 'Eigene Eigenschaften' }, search: { view: 'properties' } },
    { title: { en: 'Asset schemas', de: 'Asset-Schemata' }, search: { view: 'schemas' } },
    {
      title: { en: 'Add a property', de: 'Eigenschaft hinzufügen' },
      search: { view: 'properties', add: 'yes' },
      permission: 'glb_schema_write',
    },
    {
      title: { en: 'Add a schema', de: 'Schema hinzufügen' },
      search: { view: 'schemas', add: 'yes' },
      permission: 'glb_schema_write',
    },
  ],
}
