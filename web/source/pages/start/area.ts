import { iconHome } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'start',
  title: { en: 'Start', de: 'Start' },
  description: {
    en: 'What is there, what changed, what to do next',
    de: 'Was da ist, was sich geändert hat, was als Nächstes zu tun ist',
  },
  icon: iconHome,
  path: '/',
  group: 'plant',
  permissions: [],
  routes: [{ path: '', load: async () => (await import('./start-page.tsx')).StartPage }],
}
