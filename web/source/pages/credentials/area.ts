import { iconKey } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/area.ts'

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
    { path: '$id', load: async () => (await import('./instance-page.tsx')).InstancePage },
  ],
}
