import { iconHistory } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

/** Returns the search parameters for those of the former page of the audit trail. */
function searchOfAudit({ target, principal }: Readonly<Record<string, unknown>>): Record<string, string> {
  return {
    range: 'month',
    ...(typeof target === 'string' ? { object: target } : {}),
    ...(typeof principal === 'string' ? { person: principal } : {}),
  }
}

export const area: Area = {
  id: 'activity',
  title: { en: 'Activity', de: 'Aktivität' },
  description: {
    en: 'What changed, when, and who did it',
    de: 'Was hat sich geändert, wann, und wer war es',
  },
  icon: iconHistory,
  path: '/activity',
  formerPaths: [{ path: '/events' }, { path: '/audit', searchOf: searchOfAudit }],
  group: 'plant',
  permissions: ['inventory_read_asset_data', 'glb_inventory_read_gateway_data', 'glb_audit_read'],
  routes: [{ path: '', load: async () => (await import('./activity-page.tsx')).ActivityPage }],
  commands: [
    {
      title: { en: 'What changed last night', de: 'Was hat sich letzte Nacht geändert' },
      search: { range: 'night' },
    },
    {
      title: { en: 'Denied and failed actions', de: 'Verweigerte und fehlgeschlagene Aktionen' },
      search: { kind: 'refused' },
      permission: 'glb_audit_read',
    },
  ],
}
