import type { IncomingRequest } from '../platform/http/incoming-request.ts'
import type { Secrets } from '../platform/secrets/secrets.ts'

const addressHeader = 'x-millwright-client'
const proofHeader = 'x-millwright-client-proof'
const purpose = 'forwarded client'

/**
 * `ClientVoucher` passes the address of the client to another process when a process of the platform forwards a
 * request. The other process records the address in the audit trail. Only a process with the platform key can create
 * the proof of the address, so no client can forge an address.
 */
export type ClientVoucher = {
  vouch(request: { id: string; address: string }): Record<string, string>
  addressOf(incoming: IncomingRequest): string
  /**
   * Returns true if another process of the platform forwarded the request. That process has already verified the
   * request.
   */
  isForwarded(incoming: IncomingRequest): boolean
}

export function clientVoucher(secrets: Secrets): ClientVoucher {
  const vouchedAddress = ({ id, headers }: IncomingRequest): string | undefined => {
    const claimed = headers[addressHeader]
    const proof = headers[proofHeader]
    if (typeof claimed !== 'string' || typeof proof !== 'string') return undefined
    return secrets.isMac(purpose, `${id} ${claimed}`, Buffer.from(proof, 'base64url')) ? claimed : undefined
  }
  return {
    vouch: ({ id, address }) => ({
      [addressHeader]: address,
      [proofHeader]: secrets.mac(purpose, `${id} ${address}`).toString('base64url'),
    }),
    addressOf: (incoming) => vouchedAddress(incoming) ?? incoming.address,
    isForwarded: (incoming) => vouchedAddress(incoming) !== undefined,
  }
}
