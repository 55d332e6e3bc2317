import { iconHierarchy } from '@siemens/ix-icons/icons'
import type { Area } from '../../app/navigation/area.ts'

export const area: Area = {
  id: 'hierarchy',
  title: { en: 'Hierarchy', de: 'Hierarchie' },
  description: {
    en: 'Assets by site, building, line and cell',
    de: 'Assets nach Standort, Gebäude, Linie und Zelle',
  },
  icon: iconHierarchy,
  path: '/hierarchy',
  group: 'plant',
  permissions: ['glb_hierarchy_read'],
  routes: [
    { path: '', load: async () => (await import('./hierarchy-page.tsx')).HierarchyPage },
    { path: '$id/rules', load: async () => (await import('./rules/rules-page.tsx')).RulesPage },
  ],
  commands: [
    { title: { en: 'Unassigned assets', de: 'Nicht zugeordnete Assets' }, search: { node: 'unassigned' } },
    {
      title: { en: 'Create hierarchy', de: 'Hierarchie anlegen' },
      search: { add: 'yes' },
      permission: 'glb_hierarchy_write',
    },
  ],
}
