import type { PacketCounts, Receipt } from '@millwright/api/receipt.ts'
import type { ScanBudget, TrafficLimits } from '@millwright/api/scan-budget.ts'
import { type Row, Table } from '../output/table.ts'
import { displayText, formatCount, sanitize } from '../output/text.ts'

/** Returns the lines of a receipt for people: the scan, the budget in force, refused permits, and the totals by class. */
export function summaryLines(receipt: Receipt): string[] {
  const { from, to, state, budget, budgets = [], devices, totals, refused } = receipt
  return [
    sanitize(scanLine(receipt)),
    `${displayText(from)} to ${displayText(to)}, ${state}`,
    ...(budgets.length === 0
      ? budgetLines(budget)
      : budgets.flatMap((one) => [`From ${displayText(one.from)}:`, ...budgetLines(one.budget).map(indented)])),
    ...Object.entries(refused).map(
      ([reason, number]) => `Refused (${sanitize(reason)}): ${formatCount(number, 'permit')}`,
    ),
    `Addresses: ${addressCount(devices)}. Datagrams, connections and requests: ${totalOf(totals)}`,
    ...(totalOf(totals) === 0
      ? []
      : new Table({ class: 'name', number: 'number' }).lines(classRows(totals)).map(indented)),
  ]
}

/** Returns the number of addresses that something was sent to. */
export function addressCount(devices: Receipt['devices']): number {
  return devices.reduce((sum, entry) => sum + ('network' in entry ? entry.addresses : 1), 0)
}

function indented(line: string): string {
  return `  ${line}`
}

function scanLine(receipt: Receipt): string {
  if ('unsigned' in receipt) return `Scan ${receipt.jobId} without a gateway, with ${receipt.links.join(', ')}`
  const { jobId, runId, gatewayId, assetLinkId } = receipt
  return `Scan ${jobId}, run ${runId}, gateway ${gatewayId}, link ${assetLinkId}`
}

function budgetLines(budget: ScanBudget): string[] {
  const { perDevice, perGateway, protocols, hours, multicast, excludedAddresses } = budget
  return [
    `Budget per device: ${limitsText(perDevice)}`,
    `Budget of the gateway: ${limitsText(perGateway)}`,
    ...(protocols === undefined ? [] : [`Allowed protocols: ${sanitize(protocols.join(', '))}`]),
    ...(hours === undefined ? [] : [`Allowed hours: ${hours.map(({ from, to }) => `${from} to ${to}`).join(', ')}`]),
    ...(multicast === undefined ? [] : [`Multicast and broadcast packets: ${multicast ? 'allowed' : 'not allowed'}`]),
    ...(excludedAddresses.length === 0 ? [] : [`Excluded addresses: ${sanitize(excludedAddresses.join(', '))}`]),
  ]
}

/** Returns the limits of a budget as text. */
export function limitsText({
  datagramsPerSecond,
  connectionsPerSecond,
  requestsPerSecond,
  connections,
}: TrafficLimits): string {
  return [
    `${datagramsPerSecond} datagrams/s`,
    `${connectionsPerSecond} new connections/s`,
    `${requestsPerSecond} requests/s`,
    `${connections} open connections`,
  ].join(', ')
}

function classRows(totals: PacketCounts): Row[] {
  return Object.entries(totals).map(([name, number]) => ({ name, number }))
}

export function totalOf(packets: PacketCounts): number {
  return Object.values(packets).reduce((sum, number) => sum + number, 0)
}
