/** The workflows that every tenant has, in the order of their names. Nobody deletes them. */
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
