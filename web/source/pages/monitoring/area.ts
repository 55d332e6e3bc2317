import { iconMonitoring } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'monitoring',
  title: { en: 'Monitoring', de: 'Überwachung' },
  description: {
    en: 'Reachability, firmware and properties of devices, checked by schedule',
    de: 'Erreichbarkeit, Firmware und Eigenschaften von Geräten, nach Zeitplan geprüft',
  },
  icon: iconMonitoring,
  path: '/monitoring',
  group: 'operation',
  permissions: ['glb_jobs_read'],
  routes: [
    { path: '', load: async () => (await import('./monitoring-page.tsx')).MonitoringPage },
    { path: '$id', load: async () => (await import('./detail/detail-page.tsx')).MonitoringDetailPage },
  ],
  commands: [
    {
      title: { en: 'Create monitoring', de: 'Überwachung anlegen' },
      search: { add: 'yes' },
      permission: 'glb_discovery_run',
    },
  ],
}
