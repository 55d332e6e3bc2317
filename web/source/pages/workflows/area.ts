import { iconLogicDiagram } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'workflows',
  title: { en: 'Workflows', de: 'Abläufe' },
  description: { en: 'States and transitions of jobs', de: 'Zustände und Übergänge von Aufträgen' },
  icon: iconLogicDiagram,
  path: '/workflows',
  group: 'administration',
  permissions: ['glb_jobs_read', 'glb_workflow_manage'],
  routes: [{ path: '', load: async () => (await import('./workflows-page.tsx')).WorkflowsPage }],
  commands: [
    {
      title: { en: 'Add workflow', de: 'Ablauf hinzufügen' },
      search: { add: 'yes' },
      permission: 'glb_workflow_manage',
    },
  ],
}
