import type { credentials } from '@millwright/api/credentials.ts'
import {
  type ChosenCredentialRequest,
  type CredentialTarget,
  credentialLimits,
} from '@millwright/api/credentials-shapes.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { openInstance, requireEnrolled } from './deliveries.ts'
import { findInstance, holdInstances, type InstanceRow, listInstances } from './instance-store.ts'
import { blockKeysContaining, parseAddress, rangeContains, showAddress, storedRanges } from './ip-range.ts'
import { recordDelivery } from './use-store.ts'

/**
 * Handlers that list the credentials for a remote session, and deliver the one that its user chose. The user does not see
 * the values, and needs no permission for credentials: the rules of `isAllowed` decide.
 */
export function chosenDeliveryHandlers(
  context: Context,
): Pick<Handlers<typeof credentials>, 'listChoices' | 'checkChosen' | 'deliverChosen'> {
  const { database, safe } = context
  return {
    async listChoices({ body: { data } }, caller) {
      const parsed = parseAddress(data.address)
      const blocks = parsed === undefined ? [] : blockKeysContaining(parsed)
      const page = { limit: credentialLimits.offered, offset: 0 }
      const { copies, originals } = await database.read(caller, async (handle) => ({
        copies: (await listInstances(handle, { assetId: data.assetId }, page)).rows,
        originals: (await listInstances(handle, { assigned: false, purpose: 'discovery', blocks }, page)).rows,
      }))
      const allowedCopies = copies.filter((row) => isAllowed(row, data))
      // A copy has the name of its original. The copy is for this asset.
      const copied = new Set(allowedCopies.map(({ copiedFrom }) => copiedFrom))
      const others = originals.filter((row) => !copied.has(row.id) && isAllowed(row, data))
      const offered = [...allowedCopies, ...others].slice(0, credentialLimits.offered)
      return { data: offered.map(({ id, name }) => ({ id, name })) }
    },

    async checkChosen({ body: { data } }, caller) {
      const row = await database.read(caller, (handle) => findInstance(handle, data.instanceId))
      return { data: { isAllowed: row !== undefined && isAllowed(row, data) } }
    },

    async deliverChosen({ body: { data } }, caller) {
      await requireEnrolled(context, caller, { ...data, addresses: [data.address] })
      const delivered = await database.transaction(caller, async (tx) => {
        const [row] = await holdInstances(tx, [data.instanceId])
        const chosen = row !== undefined && isAllowed(row, data) ? row : undefined
        await reportDelivery(tx, caller, { request: data, isDelivered: chosen !== undefined })
        return chosen === undefined ? null : openInstance(safe, tx, chosen)
      })
      return answer(200, { data: delivered }, { 'cache-control': 'no-store' })
    },
  }
}

/**
 * Returns whether an instance may be delivered for the device of an asset. A copy that is assigned to the asset is delivered
 * only for the address at which the asset was found first, because another device can report the identifiers of the asset.
 * An instance that is not assigned is delivered if its ranges contain the address, unless it is for monitoring only.
 */
function isAllowed(
  row: Pick<InstanceRow, 'assetId' | 'purpose' | 'ipRanges'>,
  { assetId, address, isOwnAddress }: CredentialTarget,
): boolean {
  if (row.assetId !== null) return row.assetId === assetId && isOwnAddress
  const parsed = parseAddress(address)
  if (parsed === undefined || row.purpose === 'monitoring') return false
  return storedRanges(row.ipRanges).some((range) => rangeContains(range, parsed))
}

/** Writes the audit entry of a delivery or of its refusal, and the event and the record of a delivery. */
async function reportDelivery(
  tx: Transaction,
  caller: Caller,
  { request, isDelivered }: { request: ChosenCredentialRequest; isDelivered: boolean },
): Promise<void> {
  const { gatewayId, jobId, assetId, instanceId } = request
  const parsed = parseAddress(request.address)
  const address = parsed === undefined ? request.address : showAddress(parsed)
  const ids = isDelivered ? { instanceIds: [instanceId], withheld: [] } : { instanceIds: [], withheld: [instanceId] }
  await record(tx, caller, {
    action: 'credentials.deliver',
    target: `gateway/${gatewayId}`,
    outcome: isDelivered ? 'done' : 'denied',
    detail: { gatewayId, jobId, address, assetId, ...ids },
  })
  if (!isDelivered) return
  await recordDelivery(tx, { gatewayId, jobId, instances: [{ instanceId, address }] })
  await emit(tx, {
    type: 'credentials.instance.delivered',
    subject: `credential-instance/${instanceId}`,
    data: { gatewayId, jobId, address },
  })
}
