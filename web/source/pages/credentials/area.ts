import { iconKey } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'credentials',
  title: { en: 'Credentials', de: 'Zugangsdaten' },
  description: {
    en: 'What gateways need to get into devices; secrets go in and never come out',
    de: 'Was Gateways brauchen, um in Geräte zu kommen; Geheimnisse gehen hinein und kommen nie heraus',
  },
  icon: iconKey,
  path: '/credentials',
  group: 'work',
  permissions: ['glb_credential_read'],
  routes: [
    { path: '', load: async () => (await import('./credentials-page.tsx')).CredentialsPage },
    { path: '$id', load: async () => (await import('./instances/credential-page.tsx')).CredentialPage },
  ],
  commands: [
    { title: { en: 'Templates of links', de: 'Vorlagen der Links' }, search: { view: 'schemas' } },
    { title: { en: 'Monitoring templates', de: 'Überwachungsvorlagen' }, search: { view: 'templates' } },
    {
      title: { en: 'Add a credential', de: 'Zugang hinzufügen' },
      search: { add: 'yes' },
      permission: 'glb_credential_write',
    },
    {
      title: { en: 'Add a monitoring template', de: 'Überwachungsvorlage hinzufügen' },
      search: { view: 'templates', add: 'yes' },
      permission: 'glb_credential_write',
    },
  ],
}
