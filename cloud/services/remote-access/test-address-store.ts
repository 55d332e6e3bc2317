import type { TestHub } from '../../platform/testing/hub.ts'

/** Stores that a gateway found an asset at an address, without a discovery. */
export async function addAddress(
  hub: TestHub,
  { assetId, gatewayId, address }: { assetId: string; gatewayId: string; address: string },
): Promise<void> {
  await hub.asOwner((owner) =>
    owner.query(`insert into device_addresses values ($1, $2, $3, 'link', $4, now(), now())`, [
      hub.tenant.tenantId,
      assetId,
      gatewayId,
      address,
    ]),
  )
}
