import { printed } from '@millwright/api/client.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { SignedReceipt } from '@millwright/api/receipt.ts'
import { isTransientCode } from '@millwright/api/transient.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import type { Log } from '../log.ts'
import { continueTrace, traceHeaders } from '../trace-context.ts'
import type { Batch } from './findings.ts'

type JobEnd = { jobId: string; state: 'FINISHED' | 'FAILED' | 'CANCELED'; message?: string }

/** `EntryHeader` is the header of a spool entry: the kind of the gatekeeper request, and the job. */
type EntryHeader = {
  kind: (typeof entryKinds)[number]
  id: string
  jobId: string
  /** The trace of the job, so that the delivery continues it. */
  traceparent?: string
}

const entryKinds = ['found', 'receipt', 'end'] as const

/**
 * `SpoolEntry` contains findings of a job, the receipt of its scan, or the end of the job. The first line is the header. The rest is the body of
 * the request, which the gateway does not parse again.
 */
export type SpoolEntry = string

type FindingsBatch = { jobId: string; lease: string; sequence: number; batch: Batch }

export function findingsEntry({ jobId, lease, sequence, batch }: FindingsBatch): SpoolEntry {
  const { assets, errors, uses, deviceAddresses } = batch
  const content = `"assets":[${assets.join(',')}],"errors":[${errors.join(',')}]`
  const tried = uses.length === 0 ? '' : `,"uses":[${uses.join(',')}]`
  const addresses = deviceAddresses.length === 0 ? '' : `,"deviceAddresses":[${deviceAddresses.join(',')}]`
  const body = `{"data":{"lease":"${lease}","sequence":${sequence},${content}${tried}${addresses}}}`
  return entryOf({ kind: 'found', id: jobId, jobId }, body)
}

export function endEntry(lease: string, ending: JobEnd): SpoolEntry {
  return entryOf({ kind: 'end', id: lease, jobId: ending.jobId }, JSON.stringify({ data: ending }))
}

export function receiptEntry(lease: string, jobId: string, receipt: SignedReceipt): SpoolEntry {
  return entryOf({ kind: 'receipt', id: jobId, jobId }, JSON.stringify({ data: { lease, receipt } }))
}

function entryOf(header: EntryHeader, body: string): SpoolEntry {
  return `${JSON.stringify({ ...header, ...traceHeaders() })}\n${body}`
}

/** The HTTP statuses after which a retry can succeed: missing token or permission, timeout, rate limit. */
const temporary = new Set([401, 403, 408, 429])

/** The number of server errors after which an entry is dropped. The retries take about half an hour. */
const maxFailures = 60

type DeliveryOptions = { cloud: CloudConnection; log: Log; attempt: number }

/** Sends an entry to the cloud. Throws when a retry can succeed. An entry that the cloud rejects permanently is dropped. */
export async function deliver(entry: SpoolEntry, { cloud, log, attempt }: DeliveryOptions): Promise<void> {
  const header = headerOf(entry)
  if (header === undefined) {
    log.warn({ bytes: entry.length }, 'dropped an unreadable spool entry')
    return
  }
  try {
    await continueTrace(header.traceparent, () => send(header, entry.slice(entry.indexOf('\n') + 1), cloud))
  } catch (error) {
    if (!(error instanceof Problem) || temporary.has(error.status)) throw error
    if (isTransientCode(error.code) || (error.status >= 500 && attempt < maxFailures)) throw error
    const { kind, jobId } = header
    log.warn(
      { job: jobId, kind, bytes: entry.length, code: error.code, reason: error.message },
      'dropped a spool entry that the platform rejected',
    )
  }
}

function headerOf(entry: SpoolEntry): EntryHeader | undefined {
  try {
    const header: Partial<EntryHeader> = JSON.parse(entry.slice(0, Math.max(0, entry.indexOf('\n'))))
    const isWhole = entryKinds.some((kind) => kind === header.kind) && typeof header.id === 'string'
    return isWhole ? (header as EntryHeader) : undefined
  } catch {
    return undefined
  }
}

async function send({ kind, id }: EntryHeader, body: string, { gatekeeper }: CloudConnection): Promise<void> {
  if (kind === 'found') await gatekeeper.uploadFound({ params: { id }, body: printed(body) })
  else if (kind === 'receipt') await gatekeeper.uploadReceipt({ params: { id }, body: printed(body) })
  else await gatekeeper.endJob({ params: { id }, body: printed(body) })
}
