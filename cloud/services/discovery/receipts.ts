import { hash } from 'node:crypto'
import type { discovery } from '@millwright/api/discovery.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import { receiptLimits, receiptText, type SignedReceipt } from '@millwright/api/receipt.ts'
import { verifyReceipt } from '@millwright/api/receipt-signature.ts'
import { LruMap } from 'toad-cache'
import type { Caller } from '../../platform/access/caller.ts'
import { answer, type Context, type Handlers, JsonText } from '../../platform/service.ts'
import { isActive } from './discovery.ts'
import { isBudgeted } from './link.ts'
import { findLink } from './link-store.ts'
import { findReceipt, insertReceipt, listReceipts } from './receipt-store.ts'
import { isOwn } from './runs.ts'
import { type DiscoveryRow, findDiscovery, findRun, type RunRow, wasLeased } from './store.ts'
import { isReadable } from './visibility.ts'

/** Handlers for the receipts of runs: the gatekeeper stores them, users read them. */
export function receiptHandlers(context: Context): Pick<Handlers<typeof discovery>, 'getReceipt' | 'recordReceipt'> {
  const { database } = context

  /**
   * Requires that the stored receipt of a lease has the same content. A gateway can repeat a request, and after a crash it
   * signs a receipt again.
   */
  const requireSame = async (caller: Caller, { lease, receipt }: { lease: string; receipt: SignedReceipt }) => {
    const stored = await database.read(caller, (handle) => findReceipt(handle, receipt.runId, lease))
    if (stored !== undefined && receiptText(JSON.parse(stored.receipt)) === receiptText(receipt)) return
    throw new Problem('conflict', `The lease ${lease} already has another receipt. A stored receipt never changes.`)
  }

  return {
    /**
     * A receipt is returned completely to callers who can read the discovery, because its signature covers all devices.
     * It contains addresses, but no assets.
     */
    async getReceipt({ params: { jobId }, query: { run: runId, lease } }, caller) {
      const { row, run } = await database.read(caller, async (handle) => {
        const discovered = await findDiscovery(handle, jobId)
        const id = runId ?? discovered?.latestRunId ?? undefined
        return { row: discovered, run: id === undefined ? undefined : await findRun(handle, id) }
      })
      if (row === undefined || run?.discoveryId !== jobId || !(await isReadable(context, caller, row)))
        throw new Problem('not_found', `Discovery ${jobId} has no run${runId === undefined ? '' : ` ${runId}`}`)
      const { stored, receipts } = await database.read(caller, async (handle) => ({
        stored: await findReceipt(handle, run.id, lease),
        receipts: await listReceipts(handle, run.id),
      }))
      if (stored === undefined) {
        if (receipts.length > 0) throw new Problem('not_found', `Run ${run.id} has no receipt for the lease ${lease}`)
        const link = await database.read(caller, (handle) => findLink(handle, row.gatewayId, row.assetLinkId))
        throw reasonWithout(row, run, link === undefined || isBudgeted(link.report.interfaces))
      }
      const { receipt, keyThumbprint, ...rest } = stored
      const meta = { verified: isVerified(receipt, keyThumbprint), keyThumbprint, ...rest, receipts }
      return new JsonText('{"data":', receipt, `,"meta":${JSON.stringify(meta)}}`)
    },

    async recordReceipt({ params: { id }, body: { data } }, caller) {
      const { gatewayId, jobId, lease, receipt } = data
      if (!(await isOwn(context, caller, { runId: id, gatewayId })))
        throw new Problem('not_found', `The gateway has no discovery run ${id}`)
      const { run, isLeased } = await database.read(caller, async (handle) => ({
        run: await findRun(handle, id),
        isLeased: await wasLeased(handle, id, { jobId, lease }),
      }))
      if (run === undefined || !isLeased)
        throw new Problem('lease_lost', `The lease ${lease} was never issued for job ${jobId}. Lease the job first.`)
      requireRecent(run)
      const { data: gateway } = await context.peers(onboarding, caller).resolveGateway({ params: { id: gatewayId } })
      requireValid(receipt, { gatewayId, run, keyThumbprint: gateway.keyThumbprint })
      const { keyThumbprint = '' } = gateway
      const isStored = await database.transaction(caller, (tx) => insertReceipt(tx, { lease, receipt, keyThumbprint }))
      if (!isStored) await requireSame(caller, { lease, receipt })
      return answer(204)
    },
  }
}

/** The results of verifications, by the digest of the receipt and its key. */
const verifications = new LruMap<boolean>(1_000)

/**
 * Returns whether a stored receipt has a valid signature of the key. The result is cached, because the verification of a
 * large receipt takes long.
 */
function isVerified(receipt: string, keyThumbprint: string): boolean {
  const digest = `${hash('sha256', receipt)} ${keyThumbprint}`
  const known = verifications.get(digest)
  if (known !== undefined) return known
  const check = verifyReceipt(JSON.parse(receipt))
  const verified = check.isValid && check.thumbprint === keyThumbprint
  verifications.set(digest, verified)
  return verified
}

/** Returns the problem that explains why a run has no receipt. */
function reasonWithout({ assetLinkId }: DiscoveryRow, run: RunRow, isLinkBudgeted: boolean): Problem {
  if (isActive(run))
    return new Problem('run_not_finished', `Run ${run.number} has not ended. The gateway sends the receipt at its end.`)
  if (!isLinkBudgeted)
    return new Problem(
      'link_not_budgeted',
      `Asset link ${assetLinkId} does not ask the gateway for permits. The platform does not know what it sends.`,
    )
  return new Problem(
    'receipt_not_sent',
    `The gateway sent no receipt for run ${run.number}. Either the run ended before its scan began, or the gateway has an older version: update it.`,
  )
}

/** Requires that the run has not ended long ago. A gateway that was offline delivers its receipt later. */
function requireRecent({ number, endedAt }: RunRow): void {
  const days = receiptLimits.daysAfterRun
  if (endedAt !== null && Date.now() - Date.parse(endedAt) > days * 24 * 3_600_000)
    throw new Problem('conflict', `Run ${number} ended at ${endedAt}. Its receipts are accepted for ${days} days.`)
}

type ExpectedReceipt = { gatewayId: string; run: RunRow; keyThumbprint: string | undefined }

/** Requires that a receipt belongs to the run and is signed with the key of the gateway. */
function requireValid(receipt: SignedReceipt, { gatewayId, run, keyThumbprint }: ExpectedReceipt): void {
  const refuse = (pointer: string, detail: string) =>
    new Problem('invalid_receipt', detail, {
      errors: [{ pointer: `/data/receipt${pointer}`, code: 'invalid_receipt', detail }],
    })
  const expected = { gatewayId, jobId: run.discoveryId, runId: run.id }
  for (const [name, value] of Object.entries(expected) as [keyof typeof expected, string][])
    if (receipt[name] !== value) throw refuse(`/${name}`, `The field ${name} is ${receipt[name]}, but must be ${value}`)
  const bytes = Buffer.byteLength(JSON.stringify(receipt))
  if (bytes > receiptLimits.bytes)
    throw refuse('', `The receipt has ${bytes} bytes, but at most ${receiptLimits.bytes} bytes are allowed`)
  const check = verifyReceipt(receipt)
  if (!check.isValid)
    throw refuse(
      '/signature',
      check.reason === 'changed'
        ? 'The signature does not match the receipt. The receipt was changed after it was signed.'
        : 'The signature is not a detached JWS (ES256) with the public key in its header',
    )
  if (check.thumbprint !== keyThumbprint)
    throw refuse(
      '/signature',
      `The receipt is signed with the key ${check.thumbprint}, which is not the key of the gateway`,
    )
}
