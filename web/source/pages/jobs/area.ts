import { iconTasksAll } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'jobs',
  title: { en: 'Jobs', de: 'Aufträge' },
  description: { en: 'Running and finished jobs of gateways', de: 'Laufende und abgeschlossene Aufträge der Gateways' },
  icon: iconTasksAll,
  path: '/jobs',
  group: 'operation',
  permissions: ['glb_jobs_read'],
  routes: [
    { path: '', load: async () => (await import('./jobs-page.tsx')).JobsPage },
    { path: '$id', load: async () => (await import('./job-page.tsx')).JobPage },
  ],
  commands: [
    { title: { en: 'Running jobs', de: 'Laufende Aufträge' }, search: { phase: 'running' } },
    { title: { en: 'Failed jobs', de: 'Fehlgeschlagene Aufträge' }, search: { phase: 'failed' } },
    { title: { en: 'Start job', de: 'Auftrag starten' }, search: { add: 'yes' }, permission: 'glb_workflow_manage' },
  ],
}
