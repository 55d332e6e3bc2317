/** The workflows of every tenant, by name. They cannot be deleted. */
export const builtInWorkflowNames = [
  'artefact-update',
  'device-info',
  'discovery',
  'link-inventory',
  'remote-access',
] as const

export type BuiltInWorkflowName = (typeof builtInWorkflowNames)[number]

export function isBuiltInWorkflow(name: string): name is BuiltInWorkflowName {
  return builtInWorkflowNames.some((each) => each === name)
}
