import type { Receipt, SignedReceipt } from '@millwright/api/receipt.ts'
import type { ScanBudget } from '@millwright/api/scan-budget.ts'
import type { AddressTraffic, ScanTraffic } from './scan-traffic.ts'

type Scan = { state: Receipt['state']; budget: ScanBudget; traffic: ScanTraffic; endedAt: Date }

/** Returns the fields of a receipt that describe the traffic of a scan. */
export function trafficFields({
  state,
  budget,
  traffic,
  endedAt,
}: Scan): Pick<SignedReceipt, 'from' | 'to' | 'state' | 'budget' | 'devices' | 'totals' | 'refused'> {
  return {
    from: traffic.startedAt.toISOString(),
    to: endedAt.toISOString(),
    state,
    budget,
    devices: [
      ...[...traffic.addresses].map(([address, one]) => ({ address, ...entryOf(one) })),
      ...traffic.networks().map(({ network, addresses, traffic: one }) => ({ network, addresses, ...entryOf(one) })),
    ],
    totals: traffic.totals,
    refused: traffic.refused as Record<string, number>,
  }
}

function entryOf({ packets, first, last }: AddressTraffic) {
  return { packets, first: first.toISOString(), last: last.toISOString() }
}
