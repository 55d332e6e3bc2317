import { iconProductManagement } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'assets',
  title: { en: 'Assets', de: 'Assets' },
  description: { en: 'All assets of the plant', de: 'Alle Assets der Anlage' },
  icon: iconProductManagement,
  path: '/assets',
  group: 'plant',
  permissions: ['inventory_read_asset_data', 'glb_inventory_read_gateway_data'],
  routes: [
    { path: '', load: async () => (await import('./assets-page.tsx')).AssetsPage },
    { path: '$id', load: async () => (await import('../asset/asset-page.tsx')).AssetPage },
  ],
}
