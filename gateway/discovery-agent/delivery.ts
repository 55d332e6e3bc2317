import type { CredentialUse, DeviceError } from '@millwright/api/gatekeeper.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Log } from '../log.ts'
import type { Document } from '../mapping/document.ts'
import type { Outgoing } from '../outgoing.ts'

/** What waits in the spool: findings of a job, and after them its end. */
export type Parcel =
  | {
      kind: 'found'
      jobId: string
      lease: string
      sequence: number
      assets: Document[]
      errors: DeviceError[]
      uses?: CredentialUse[]
    }
  | { kind: 'end'; jobId: string; lease: string; state: 'FINISHED' | 'FAILED' | 'CANCELED'; message?: string }

/** Refusals that may be over later: no token for now, too many at once, something down. */
const passing = new Set([401, 403, 408, 429])

/** A cloud that answers and fails at the same parcel so many times, over half an hour, will not take it tomorrow. */
const failuresTaken = 60

type Delivering = { outgoing: Outgoing; log: Log; attempt: number }

/** Hands a parcel to the cloud. Throws when it is worth trying again; what the cloud will never take is let go. */
export async function deliver(parcel: Parcel, { outgoing, log, attempt }: Delivering): Promise<void> {
  try {
    await send(parcel, outgoing)
  } catch (error) {
    if (!(error instanceof Problem) || passing.has(error.status)) throw error
    if (error.status >= 500 && (error.code !== 'internal' || attempt < failuresTaken)) throw error
    const { kind, jobId } = parcel
    const lost = kind === 'found' ? { assets: parcel.assets.length } : { state: parcel.state }
    log.warn(
      { job: jobId, kind, ...lost, code: error.code, reason: error.message },
      'the cloud does not want this any more',
    )
  }
}

async function send(parcel: Parcel, { gatekeeper }: Outgoing): Promise<void> {
  if (parcel.kind === 'found') {
    const { kind: _, jobId, uses = [], ...data } = parcel
    const body = { data: { ...data, ...(uses.length === 0 ? {} : { uses }) } }
    await gatekeeper.uploadFound({ params: { id: jobId }, body })
    return
  }
  const { kind: _, lease, ...data } = parcel
  await gatekeeper.endJob({ params: { id: lease }, body: { data } })
}
