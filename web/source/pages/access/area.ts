import { iconUserManagement } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'access',
  title: { en: 'Access', de: 'Zugriff' },
  description: {
    en: 'Users, service accounts, roles, access groups, role assignments, identity providers and the sign-in policy',
    de: 'Benutzer, Dienstkonten, Rollen, Zugriffsgruppen, Rollenzuweisungen, Identitätsanbieter und Anmelderichtlinie',
  },
  icon: iconUserManagement,
  path: '/access',
  group: 'administration',
  permissions: ['glb_access_manage'],
  routes: [
    { path: '', load: async () => (await import('./access-page.tsx')).AccessPage },
    { path: 'people/$id', load: async () => (await import('./users/user-page.tsx')).UserPage },
    {
      path: 'providers/$id',
      load: async () => (await import('./providers/provider-page.tsx')).ProviderPage,
    },
    {
      path: 'programs/$id',
      load: async () => (await import('./service-accounts/service-account-page.tsx')).ServiceAccountPage,
    },
  ],
  commands: [
    { title: { en: 'Users', de: 'Benutzer' }, search: { view: 'people' } },
    { title: { en: 'Service accounts', de: 'Dienstkonten' }, search: { view: 'programs' } },
    { title: { en: 'Roles', de: 'Rollen' }, search: { view: 'roles' } },
    { title: { en: 'Access groups', de: 'Zugriffsgruppen' }, search: { view: 'groups' } },
    { title: { en: 'Role assignments', de: 'Rollenzuweisungen' }, search: { view: 'grants' } },
    { title: { en: 'Identity providers', de: 'Identitätsanbieter' }, search: { view: 'providers' } },
    { title: { en: 'Sign-in policy', de: 'Anmelderichtlinie' }, search: { view: 'policy' } },
    { title: { en: 'Check access', de: 'Zugriff prüfen' }, search: { view: 'why' } },
    { title: { en: 'Add user', de: 'Benutzer hinzufügen' }, search: { view: 'people', add: 'yes' } },
    { title: { en: 'Add service account', de: 'Dienstkonto hinzufügen' }, search: { view: 'programs', add: 'yes' } },
    { title: { en: 'Add role', de: 'Rolle hinzufügen' }, search: { view: 'roles', add: 'yes' } },
    { title: { en: 'Add access group', de: 'Zugriffsgruppe hinzufügen' }, search: { view: 'groups', add: 'yes' } },
    {
      title: { en: 'Add identity provider', de: 'Identitätsanbieter hinzufügen' },
      search: { view: 'providers', add: 'yes' },
    },
    { title: { en: 'Assign role', de: 'Rolle zuweisen' }, search: { view: 'grants', add: 'yes' } },
  ],
}
