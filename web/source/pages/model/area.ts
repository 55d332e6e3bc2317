import { iconDocumentSettings } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'model',
  title: { en: 'Data model', de: 'Datenmodell' },
  description: {
    en: 'Custom properties and asset schemas',
    de: 'Benutzerdefinierte Eigenschaften und Asset-Schemas',
  },
  icon: iconDocumentSettings,
  path: '/model',
  group: 'administration',
  permissions: ['inventory_read_asset_data'],
  routes: [{ path: '', load: async () => (await import('./model-page.tsx')).ModelPage }],
  commands: [
    { title: { en: 'Custom properties', de: 'Benutzerdefinierte Eigenschaften' }, search: { view: 'properties' } },
    { title: { en: 'Asset schemas', de: 'Asset-Schemas' }, search: { view: 'schemas' } },
    {
      title: { en: 'Add property', de: 'Eigenschaft hinzufügen' },
      search: { view: 'properties', add: 'yes' },
      permission: 'glb_schema_write',
    },
    {
      title: { en: 'Add schema', de: 'Schema hinzufügen' },
      search: { view: 'schemas', add: 'yes' },
      permission: 'glb_schema_write',
    },
  ],
}
