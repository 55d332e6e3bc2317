import { iconUserManagement } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

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
    { path: 'people/$id', load: async () => (await import('./users/user-page.tsx')).UserPage },
    {
      path: 'programs/$id',
      load: async () => (await import('./service-accounts/service-account-page.tsx')).ServiceAccountPage,
    },
  ],
  commands: [
    { title: { en: 'People', de: 'Personen' }, search: { view: 'people' } },
    { title: { en: 'Programs', de: 'Programme' }, search: { view: 'programs' } },
    { title: { en: 'Roles', de: 'Rollen' }, search: { view: 'roles' } },
    { title: { en: 'Access groups', de: 'Zugriffsgruppen' }, search: { view: 'groups' } },
    { title: { en: 'Grants', de: 'Zuweisungen' }, search: { view: 'grants' } },
    { title: { en: 'Why may they?', de: 'Warum darf jemand?' }, search: { view: 'why' } },
    { title: { en: 'Add a person', de: 'Person hinzufügen' }, search: { view: 'people', add: 'yes' } },
    { title: { en: 'Add a program', de: 'Programm hinzufügen' }, search: { view: 'programs', add: 'yes' } },
    { title: { en: 'Add a role', de: 'Rolle hinzufügen' }, search: { view: 'roles', add: 'yes' } },
    { title: { en: 'Add an access group', de: 'Zugriffsgruppe hinzufügen' }, search: { view: 'groups', add: 'yes' } },
    { title: { en: 'Give a role', de: 'Rolle geben' }, search: { view: 'grants', add: 'yes' } },
  ],
}
