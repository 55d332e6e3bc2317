import type { JobSubject } from '@millwright/api/jobs.ts'
import type { JobRow } from './job.ts'

/** The kind of object that a field of a definition refers to. The first field that a definition has is its subject. */
const references = {
  discoveryId: 'discovery',
  monitoringId: 'monitoring',
  importId: 'import',
  exportId: 'export',
  assetId: 'asset',
  campaignId: 'update-campaign',
} as const

/**
 * Returns what a job is about: the asset, or the scan, monitoring, campaign or file. It is absent for a job whose definition
 * is redacted, and for jobs of custom workflows without a reference.
 */
export function subjectOf({ workflow, clientId, definition }: JobRow): JobSubject | undefined {
  const name = [definition.name, definition.fileName, definition.link].find((value) => typeof value === 'string')
  if (workflow === 'link-inventory')
    return name === undefined ? undefined : { reference: `gateway/${clientId}`, name: shortened(name) }
  for (const [field, kind] of Object.entries(references)) {
    const id = definition[field]
    // A definition of a custom workflow can contain any text.
    if (typeof id === 'string' && /^[\w.-]{1,64}$/.test(id))
      return {
        reference: `${kind}/${id}`,
        ...(name === undefined || kind === 'asset' ? {} : { name: shortened(name) }),
      }
  }
  return undefined
}

const maxName = 256

function shortened(name: unknown): string {
  return String(name).slice(0, maxName)
}
