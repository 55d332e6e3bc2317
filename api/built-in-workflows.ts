/** The names of the workflows that every tenant has. These workflows cannot be deleted. */
export const builtInWorkflowNames = [
  'artefact-retrieval',
  'artefact-update',
  'device-info',
  'discovery',
  'file-export',
  'file-import',
  'link-inventory',
  'monitoring',
  'remote-access',
  'update-campaign',
] as const

/** The workflows of the jobs that the platform runs itself. No gateway leases them. */
export const platformWorkflowNames = ['file-export', 'file-import', 'remote-access', 'update-campaign'] as const

/** The client of the jobs that the platform runs itself. */
export const platformClient = 'platform'

export type BuiltInWorkflowName = (typeof builtInWorkflowNames)[number]

export function isBuiltInWorkflow(name: string): name is BuiltInWorkflowName {
  return builtInWorkflowNames.some((each) => each === name)
}
