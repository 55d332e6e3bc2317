import type { Receipt, SignedReceipt } from '@millwright/api/receipt.ts'
import type { BudgetPeriod } from './gateway-permits.ts'
import type { AddressTraffic, ScanTraffic } from './scan-traffic.ts'

type Scan = {
  state: Receipt['state']
  budgets: readonly BudgetPeriod[]
  traffic: ScanTraffic
  endedAt: Date
}

type TrafficFields = Pick<
  SignedReceipt,
  'from' | 'to' | 'state' | 'budget' | 'budgets' | 'devices' | 'totals' | 'refused'
>

/** Returns the fields of a receipt that describe the traffic of a scan. */
export function trafficFields({ state, budgets, traffic, endedAt }: Scan): TrafficFields {
  const [first] = budgets
  if (first === undefined) throw new TypeError('A scan has a budget')
  return {
    from: traffic.startedAt.toISOString(),
    to: endedAt.toISOString(),
    state,
    budget: first.budget,
    ...(budgets.length === 1
      ? {}
      : { budgets: budgets.map(({ from, budget }) => ({ from: from.toISOString(), budget })) }),
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
