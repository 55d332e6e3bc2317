import { iconLogicDiagram } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'workflows',
  title: { en: 'Workflows', de: 'Abläufe' },
  description: { en: 'The state machines that jobs go through', de: 'Die Zustandsautomaten, die Aufträge durchlaufen' },
  icon: iconLogicDiagram,
  path: '/workflows',
  group: 'administration',
  permissions: ['glb_jobs_read', 'glb_workflow_manage'],
  routes: [{ path: '', load: async () => (await import('./workflows-page.tsx')).WorkflowsPage }],
  commands: [
    {
      title: { en: 'Add a workflow', de: 'Ablauf hinzufügen' },
      search: { add: 'yes' },
      permission: 'glb_workflow_manage',
    },
  ],
}
