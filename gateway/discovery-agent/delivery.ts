import { printed } from '@millwright/api/client.ts'
import { Problem } from '@millwright/api/problem.ts'
import { isTransientCode } from '@millwright/api/transient.ts'
import type { Log } from '../log.ts'
import type { Outgoing } from '../outgoing.ts'
import type { Batch } from './findings.ts'

type Ending = { jobId: string; state: 'FINISHED' | 'FAILED' | 'CANCELED'; message?: string }

/** Which request of the gatekeeper a parcel is, and what it is about. */
type Label = { kind: 'found' | 'end'; id: string; jobId: string }

/**
 * What waits in the spool: findings of a job, and after them its end. A line says what it is; below it is the body of the
 * request, which nobody reads before the cloud does.
 */
export type Parcel = string

type Found = { jobId: string; lease: string; sequence: number; batch: Batch }

export function foundParcel({ jobId, lease, sequence, batch }: Found): Parcel {
  const { assets, errors, uses } = batch
  const found = `"assets":[${assets.join(',')}],"errors":[${errors.join(',')}]`
  const tried = uses.length === 0 ? '' : `,"uses":[${uses.join(',')}]`
  const body = `{"data":{"lease":"${lease}","sequence":${sequence},${found}${tried}}}`
  return parcelOf({ kind: 'found', id: jobId, jobId }, body)
}

export function endParcel(lease: string, ending: Ending): Parcel {
  return parcelOf({ kind: 'end', id: lease, jobId: ending.jobId }, JSON.stringify({ data: ending }))
}

function parcelOf(label: Label, body: string): Parcel {
  return `${JSON.stringify(label)}\n${body}`
}

/** The gateway may get a token or a right later, and the limit of requests is over soon. */
const temporary = new Set([401, 403, 408, 429])

/** A cloud that answers and fails at the same parcel so many times, over half an hour, will not take it tomorrow. */
const failuresTaken = 60

type Delivering = { outgoing: Outgoing; log: Log; attempt: number }

/** Hands a parcel to the cloud. Throws when it is worth trying again; what the cloud will never take is let go. */
export async function deliver(parcel: Parcel, { outgoing, log, attempt }: Delivering): Promise<void> {
  const label = labelOf(parcel)
  if (label === undefined) {
    log.warn({ bytes: parcel.length }, 'what waits on the disk is nothing that the cloud could be told')
    return
  }
  try {
    await send(label, parcel.slice(parcel.indexOf('\n') + 1), outgoing)
  } catch (error) {
    if (!(error instanceof Problem) || temporary.has(error.status)) throw error
    if (isTransientCode(error.code) || (error.status >= 500 && attempt < failuresTaken)) throw error
    const { kind, jobId } = label
    log.warn(
      { job: jobId, kind, bytes: parcel.length, code: error.code, reason: error.message },
      'the cloud does not want this any more',
    )
  }
}

function labelOf(parcel: Parcel): Label | undefined {
  try {
    const label: Partial<Label> = JSON.parse(parcel.slice(0, Math.max(0, parcel.indexOf('\n'))))
    const isWhole = (label.kind === 'found' || label.kind === 'end') && typeof label.id === 'string'
    return isWhole ? (label as Label) : undefined
  } catch {
    return undefined
  }
}

async function send({ kind, id }: Label, body: string, { gatekeeper }: Outgoing): Promise<void> {
  if (kind === 'found') await gatekeeper.uploadFound({ params: { id }, body: printed(body) })
  else await gatekeeper.endJob({ params: { id }, body: printed(body) })
}
