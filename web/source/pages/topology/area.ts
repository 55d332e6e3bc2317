import { iconGraph } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'topology',
  title: { en: 'Topology', de: 'Topologie' },
  description: {
    en: 'The plant as a graph: what hangs on what, now and before',
    de: 'Die Anlage als Graph: was woran hängt, jetzt und früher',
  },
  icon: iconGraph,
  path: '/topology',
  group: 'plant',
  permissions: ['inventory_read_asset_data', 'glb_inventory_read_gateway_data'],
  routes: [{ path: '', load: async () => (await import('./topology-page.tsx')).TopologyPage }],
}
