import { iconGraph } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'topology',
  title: { en: 'Topology', de: 'Topologie' },
  description: {
    en: 'The plant as a map: groups, connections and changes, now and in the past',
    de: 'Die Anlage als Karte: Gruppen, Verbindungen und Änderungen, jetzt und früher',
  },
  icon: iconGraph,
  path: '/topology',
  group: 'plant',
  permissions: ['inventory_read_asset_data', 'glb_inventory_read_gateway_data'],
  routes: [
    { path: '', load: async () => (await import('./topology-page.tsx')).TopologyPage },
    { path: 'impact', load: async () => (await import('./impact/impact-reports-page.tsx')).ImpactReportsPage },
    { path: 'impact/$id', load: async () => (await import('./impact/impact-report-page.tsx')).ImpactReportPage },
  ],
}
