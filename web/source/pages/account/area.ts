import { iconUser } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'account',
  title: { en: 'My account', de: 'Mein Konto' },
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
    { title: { en: 'Security of my account', de: 'Sicherheit meines Kontos' }, search: { view: 'security' } },
    { title: { en: 'My sessions', de: 'Meine Sitzungen' }, search: { view: 'sessions' } },
  ],
}
