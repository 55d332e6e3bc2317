/**
 * The templates of hierarchies. In a hierarchy with a template, the type of each node must be a level of the template.
 * This level must be below the level of the parent node.
 */
export const hierarchyTemplates = {
  'isa-95': {
    title: 'ISA-95 equipment hierarchy',
    levels: ['enterprise', 'site', 'area', 'work center', 'work unit', 'equipment module', 'control module'],
  },
  plant: { title: 'Site, building, line and cell', levels: ['site', 'building', 'line', 'cell'] },
} as const
export type TemplateName = keyof typeof hierarchyTemplates
export const templateNames = Object.keys(hierarchyTemplates) as TemplateName[]
