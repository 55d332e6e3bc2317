import { iconGraph } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'topology',
  title: { en: 'Topology', de: 'Topologie' },
  description: {
    en: 'Assets and their relations as a graph, now and in the past',
    de: 'Assets und ihre Beziehungen als Graph, jetzt und früher',
  },
  icon: iconGraph,
  path: '/topology',
  group: 'plant',
  permissions: ['inventory_read_asset_data', 'glb_inventory_read_gateway_data'],
  routes: [{ path: '', load: async () => (await import('./topology-page.tsx')).TopologyPage }],
}
