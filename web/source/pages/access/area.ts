import { iconUserManagement } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/area.ts'

export const area: Area = {
  id: 'access',
  title: { en: 'Access', de: 'Zugriff' },
  description: {
    en: 'Users, programs, roles, access groups, and why somebody may do something',
    de: 'Benutzer, Programme, Rollen, Zugriffsgruppen, und warum jemand etwas darf',
  },
  icon: iconUserManagement,
  path: '/access',
  group: 'administration',
  permissions: ['glb_access_manage'],
  routes: [
    { path: '', load: async () => (await import('./access-page.tsx')).AccessPage },
    { path: 'people/$id', load: async () => (await import('./person-page.tsx')).PersonPage },
    { path: 'programs/$id', load: async () => (await import('./program-page.tsx')).ProgramPage },
  ],
}
