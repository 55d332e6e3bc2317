import { iconAuditReport } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'audit',
  title: { en: 'Audit', de: 'Protokoll' },
  description: { en: 'Who did what, when and from where', de: 'Wer was wann von wo getan hat' },
  icon: iconAuditReport,
  path: '/audit',
  group: 'administration',
  permissions: ['glb_audit_read'],
  routes: [{ path: '', load: async () => (await import('./audit-page.tsx')).AuditPage }],
}
