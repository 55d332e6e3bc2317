import { iconNotifications } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'events',
  title: { en: 'Events', de: 'Ereignisse' },
  description: { en: 'All changes in real time', de: 'Alle Änderungen in Echtzeit' },
  icon: iconNotifications,
  path: '/events',
  group: 'administration',
  permissions: [],
  routes: [{ path: '', load: async () => (await import('./events-page.tsx')).EventsPage }],
}
