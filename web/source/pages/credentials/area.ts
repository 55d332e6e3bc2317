import { iconKey } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'credentials',
  title: { en: 'Credentials', de: 'Zugangsdaten' },
  description: {
    en: 'Device credentials for scans and monitoring (write-only)',
    de: 'Zugangsdaten von Geräten für Suchläufe und Überwachung',
  },
  icon: iconKey,
  path: '/credentials',
  group: 'connection',
  permissions: ['glb_credential_read'],
  routes: [
    { path: '', load: async () => (await import('./credentials-page.tsx')).CredentialsPage },
    { path: '$id', load: async () => (await import('./instances/credential-page.tsx')).CredentialPage },
  ],
  commands: [
    { title: { en: 'Credential types', de: 'Zugangsdaten-Typen' }, search: { view: 'schemas' } },
    { title: { en: 'Monitoring sets', de: 'Monitoring-Sets' }, search: { view: 'templates' } },
    {
      title: { en: 'Add credentials', de: 'Zugangsdaten hinzufügen' },
      search: { add: 'yes' },
      permission: 'glb_credential_write',
    },
    {
      title: { en: 'Add monitoring set', de: 'Monitoring-Set hinzufügen' },
      search: { view: 'templates', add: 'yes' },
      permission: 'glb_credential_write',
    },
  ],
}
