import { credentials } from '@millwright/api/credentials.ts'
import { credentialLimits } from '@millwright/api/credentials-shapes.ts'
import type { CredentialUse } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import type { Written } from './inventory-writes.ts'

/** Which credentials a gateway tried at which devices, in which job. */
export type Tried = { jobId: string; uses: CredentialUse[] }

type Telling = { gatewayId: string; tried: Tried; written: readonly Written[] }

/** Tells which credentials opened which asset: they are what is sent there the next time. */
export async function tellUses(context: Context, actor: Caller, { gatewayId, tried, written }: Telling): Promise<void> {
  const client = context.peers(credentials, actor)
  const uses = tried.uses.map(({ asset, ...use }) => ({ ...use, ...assetAt(written, asset) }))
  for (let from = 0; from < uses.length; from += credentialLimits.usesPerReport) {
    const some = uses.slice(from, from + credentialLimits.usesPerReport)
    try {
      await client.recordUse({ body: { data: { gatewayId, jobId: tried.jobId, uses: some } } })
    } catch (error) {
      // What was found counts, also when the credentials are gone by now.
      if (!(error instanceof Problem) || error.status >= 500) throw error
    }
  }
}

function assetAt(written: readonly Written[], place: number | undefined): { assetId?: string } {
  const one = place === undefined ? undefined : written[place]
  return one !== undefined && 'assetId' in one ? { assetId: one.assetId } : {}
}
