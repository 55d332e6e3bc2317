import { iconUpdateApplication } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'updates',
  title: { en: 'Updates', de: 'Updates' },
  description: {
    en: 'Firmware and other artefacts, update campaigns and versions in use',
    de: 'Firmware und andere Artefakte, Update-Kampagnen und Versionen im Einsatz',
  },
  icon: iconUpdateApplication,
  path: '/updates',
  group: 'operation',
  permissions: ['glb_jobs_read', 'glb_update_manage'],
  routes: [
    { path: '', load: async () => (await import('./updates-page.tsx')).UpdatesPage },
    { path: 'artefacts/$id', load: async () => (await import('./artefacts/artefact-page.tsx')).ArtefactPage },
    {
      path: 'campaigns/new',
      load: async () => (await import('./wizard/wizard-page.tsx')).WizardPage,
      permission: 'glb_update_manage',
    },
    { path: 'campaigns/$id', load: async () => (await import('./campaigns/campaign-page.tsx')).CampaignPage },
    {
      path: 'campaigns/$id/edit',
      load: async () => (await import('./wizard/wizard-page.tsx')).WizardPage,
      permission: 'glb_update_manage',
    },
  ],
  commands: [
    { title: { en: 'Artefact library', de: 'Artefaktbibliothek' }, search: { view: 'artefacts' } },
    {
      title: { en: 'Upload artefact', de: 'Artefakt hochladen' },
      search: { view: 'artefacts', add: 'yes' },
      permission: 'glb_update_manage',
    },
    {
      title: { en: 'Firmware versions in use', de: 'Firmware-Versionen im Einsatz' },
      search: { view: 'drift' },
      permission: 'inventory_read_asset_data',
    },
    {
      title: { en: 'Trust anchors for artefacts', de: 'Vertrauensanker für Artefakte' },
      search: { view: 'trust' },
      permission: 'glb_access_manage',
    },
  ],
}
