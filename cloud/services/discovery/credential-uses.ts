import { credentials } from '@millwright/api/credentials.ts'
import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import type { CredentialUse } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import type { WriteResult } from './inventory-writes.ts'

/** The credentials that a gateway used for devices, and the job in which it used them. */
export type CredentialUses = { jobId: string; uses: CredentialUse[] }

type UseReport = { gatewayId: string; tried: CredentialUses; written: readonly WriteResult[] }

/**
 * Reports to the credentials service which credentials worked or failed for which asset. In the next run, the gateway
 * first gets the credentials that worked.
 */
export async function reportUses(
  context: Context,
  actor: Caller,
  { gatewayId, tried, written }: UseReport,
): Promise<void> {
  const client = context.peers(credentials, actor)
  const uses = tried.uses.map(({ asset, ...use }) => ({ ...use, ...assetAt(written, asset) }))
  for (let from = 0; from < uses.length; from += credentialLimits.usesPerReport) {
    const some = uses.slice(from, from + credentialLimits.usesPerReport)
    try {
      await client.recordUse({ body: { data: { gatewayId, jobId: tried.jobId, uses: some } } })
    } catch (error) {
      // The report can fail because the credentials have been deleted. This error is ignored, so that the found devices
      // stay recorded.
      if (!(error instanceof Problem) || error.status >= 500) throw error
    }
  }
}

function assetAt(written: readonly WriteResult[], index: number | undefined): { assetId?: string } {
  const one = index === undefined ? undefined : written[index]
  return one !== undefined && 'assetId' in one ? { assetId: one.assetId } : {}
}
