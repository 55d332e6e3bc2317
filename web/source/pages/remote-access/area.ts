import { iconRemoteAccess } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'remote-access',
  title: { en: 'Remote access', de: 'Fernzugriff' },
  description: {
    en: 'Terminals and web pages of assets, requests for approval and policies',
    de: 'Terminals und Webseiten von Assets, Freigaben und Richtlinien',
  },
  icon: iconRemoteAccess,
  path: '/remote',
  group: 'operation',
  permissions: ['remote_access_connect', 'remote_access_approve', 'glb_access_manage', 'glb_gateway_manage'],
  routes: [
    { path: '', load: async () => (await import('./remote-access-page.tsx')).RemoteAccessPage },
    { path: 'sessions/$id', load: async () => (await import('./sessions/session-page.tsx')).SessionPage },
    {
      path: 'sessions/$id/terminal',
      load: async () => (await import('./terminal/terminal-page.tsx')).TerminalPage,
      permission: 'remote_access_connect',
    },
  ],
  commands: [
    {
      title: { en: 'Requests for approval', de: 'Freigabeanfragen' },
      search: { view: 'approvals' },
      permission: 'remote_access_approve',
    },
    {
      title: { en: 'Remote access policies', de: 'Richtlinien für Fernzugriff' },
      search: { view: 'policies' },
      permission: 'glb_access_manage',
    },
  ],
}
