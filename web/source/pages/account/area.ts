import { iconUser } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'account',
  title: { en: 'Your account', de: 'Ihr Konto' },
  description: {
    en: 'Profile, password, second factor and sessions',
    de: 'Profil, Passwort, zweiter Faktor und Sitzungen',
  },
  icon: iconUser,
  path: '/account',
  group: 'own',
  permissions: [],
  routes: [{ path: '', load: async () => (await import('./account-page.tsx')).AccountPage }],
  commands: [
    { title: { en: 'Security of your account', de: 'Sicherheit Ihres Kontos' }, search: { view: 'security' } },
    { title: { en: 'Your sessions', de: 'Ihre Sitzungen' }, search: { view: 'sessions' } },
  ],
}
