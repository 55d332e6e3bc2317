import { iconHome } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'start',
  title: { en: 'Start', de: 'Start' },
  description: {
    en: 'Overview, recent changes and next steps',
    de: 'Übersicht, letzte Änderungen und nächste Schritte',
  },
  icon: iconHome,
  path: '/',
  group: 'overview',
  permissions: [],
  routes: [{ path: '', load: async () => (await import('./start-page.tsx')).StartPage }],
}
