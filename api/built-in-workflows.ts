/** The names of the workflows that every tenant has. These workflows cannot be deleted. */
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
