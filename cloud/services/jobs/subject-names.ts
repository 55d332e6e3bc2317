import { changeLimits } from '@millwright/api/inventory/changes.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { AnyJob } from '@millwright/api/jobs.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith } from '../../platform/access/rights.ts'
import type { Context } from '../../platform/service.ts'

/** Adds the names of assets to jobs about an asset, and the names of links to scans. The caller sees only readable names. */
export async function withNames<Job extends AnyJob>(
  context: Pick<Context, 'peers'>,
  caller: Caller,
  jobs: readonly Job[],
): Promise<Job[]> {
  const names = await namesOf(context, caller, [...new Set(jobs.flatMap((job) => namingAsset(job) ?? []))])
  return jobs.map((job) => {
    const name = names.get(namingAsset(job) ?? '')
    return job.subject === undefined || name === undefined ? job : { ...job, subject: { ...job.subject, name } }
  })
}

const assetReference = /^asset\/([0-9a-f-]{36})$/

/** Returns the id of the asset with the name of the subject. A scan has the tag of its link. */
function namingAsset({ subject, tags }: AnyJob): string | undefined {
  if (subject === undefined || subject.name !== undefined) return undefined
  const reference = subject.reference.startsWith('discovery/')
    ? tags.find((tag) => assetReference.test(tag))
    : subject.reference
  return assetReference.exec(reference ?? '')?.[1]
}

async function namesOf({ peers }: Pick<Context, 'peers'>, caller: Caller, ids: readonly string[]) {
  const names = new Map<string, string>()
  const groups = groupsWith(caller, 'inventory_read_asset_data')
  if (groups !== 'all' && [...groups].length === 0) return names
  for (let start = 0; start < ids.length; start += changeLimits.assets) {
    const batch = ids.slice(start, start + changeLimits.assets)
    const { data } = await peers(inventory, caller).readLastChanges({ body: { data: { ids: batch } } })
    for (const { assetId, name } of data) if (name !== null) names.set(assetId, name)
  }
  return names
}
