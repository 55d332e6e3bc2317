import { iconUser } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'account',
  title: { en: 'Your account', de: 'Ihr Konto' },
  description: { en: 'Profile, permissions and password', de: 'Profil, Berechtigungen und Passwort' },
  icon: iconUser,
  path: '/account',
  group: 'own',
  permissions: [],
  routes: [{ path: '', load: async () => (await import('./account-page.tsx')).AccountPage }],
}
