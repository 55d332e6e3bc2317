import { iconNetworkDevicePlay } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'discovery',
  title: { en: 'Discovery', de: 'Gerätesuche' },
  description: {
    en: 'Gateways, asset links, scans and schedules',
    de: 'Gateways, Asset-Links, Suchläufe und Zeitpläne',
  },
  icon: iconNetworkDevicePlay,
  path: '/discovery',
  group: 'connection',
  permissions: ['glb_jobs_read'],
  routes: [
    { path: '', load: async () => (await import('./discovery-page.tsx')).DiscoveryPage },
    { path: 'gateways/$id', load: async () => (await import('./gateways/gateway-page.tsx')).GatewayPage },
    { path: 'scans/$id', load: async () => (await import('./scans/scan-page.tsx')).ScanPage },
  ],
  commands: [
    {
      title: { en: 'Start scan', de: 'Suchlauf starten' },
      search: { scan: 'any' },
      permission: 'glb_discovery_run',
    },
    {
      title: { en: 'Add gateway', de: 'Gateway hinzufügen' },
      search: { onboard: 'yes' },
      permission: 'glb_gateway_manage',
    },
  ],
}
