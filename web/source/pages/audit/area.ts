import { iconAuditReport } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'audit',
  title: { en: 'Audit', de: 'Audit-Protokoll' },
  description: {
    en: 'All actions with author, time and source',
    de: 'Alle Aktionen mit Urheber, Zeitpunkt und Quelle',
  },
  icon: iconAuditReport,
  path: '/audit',
  group: 'administration',
  permissions: ['glb_audit_read'],
  routes: [{ path: '', load: async () => (await import('./audit-page.tsx')).AuditPage }],
}
