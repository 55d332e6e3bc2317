import { type Static, Type } from 'typebox'
import { canonicalJson } from './canonical-json.ts'
import { closed, Timestamp, Uuid } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'
import { ScanBudget } from './scan-budget.ts'

/**
 * The receipt of a scan lists what was sent to each device. It counts permits: a link that obeys the budget takes one
 * permit for each datagram, connection and application request.
 */

export const receiptLimits = {
  /** The maximum number of entries. A scan of many addresses counts some of them by network. */
  entries: 10_000,
  /** The maximum number of classes of traffic in a receipt. */
  classes: 64,
  /** The maximum number of budgets of one scan. */
  budgets: 16,
  /** The number of days after the end of a run in which its gateway can send a receipt. */
  daysAfterRun: 7,
  /** The maximum size of a receipt as JSON text in bytes. */
  bytes: 4 * 1024 * 1024,
} as const

const count = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

const packets = Type.Record(Type.String(), count, {
  maxProperties: receiptLimits.classes,
  description: 'Numbers by class. A class is a protocol and an operation, such as `snmp GetBulk`',
})
export type PacketCounts = Static<typeof packets>

const traffic = { packets, first: Timestamp, last: Timestamp }

/** The traffic to one device, or to a group of devices. */
export const ReceiptDevice = closed({
  address: Type.String({
    minLength: 2,
    maxLength: 64,
    description:
      'The IP address of a device, or the address of a group: a multicast address, a broadcast address, or the MAC address of an Ethernet multicast group',
  }),
  ...traffic,
})
export type ReceiptDevice = Static<typeof ReceiptDevice>

/** The traffic to the devices of one network, in the receipt of a large scan. */
export const ReceiptNetwork = closed({
  network: Type.String({ minLength: 4, maxLength: 64, description: 'A network such as 10.0.3.0/24' }),
  addresses: Type.Unsafe<number>({ ...count, description: 'The number of addresses that something was sent to' }),
  ...traffic,
})
export type ReceiptNetwork = Static<typeof ReceiptNetwork>

/** The scan of an `interrupted` receipt was cut: the gateway stopped, crashed, or lost the lease of the job. */
export const receiptStates = ['finished', 'failed', 'canceled', 'interrupted'] as const

const scanFields = {
  jobId: Type.Unsafe<string>({ ...Uuid, description: 'The discovery. A scan without a gateway has its own id' }),
  from: Timestamp,
  to: Timestamp,
  state: oneOf(receiptStates),
  budget: Type.Unsafe<ScanBudget>({ ...ScanBudget, description: 'The budget at the start of the scan' }),
  budgets: Type.Optional(
    Type.Array(closed({ from: Timestamp, budget: ScanBudget }), {
      minItems: 2,
      maxItems: receiptLimits.budgets,
      description: `The budgets in force with the time of each change, if the budget changed during the scan. After more than ${receiptLimits.budgets} budgets, the receipt contains the first ones and the last one`,
    }),
  ),
  devices: Type.Array(Type.Union([ReceiptDevice, ReceiptNetwork]), { maxItems: receiptLimits.entries }),
  totals: packets,
  refused: Type.Record(Type.String(), count, {
    maxProperties: receiptLimits.classes,
    description: 'The number of refused permits by reason: excluded, protocol, hours or canceled',
  }),
}

/** The receipt of a run on a gateway, signed with the gateway's key. */
export const SignedReceipt = closed({
  ...scanFields,
  runId: Type.Unsafe<string>({ ...Uuid, description: 'The run of the discovery' }),
  gatewayId: Uuid,
  assetLinkId: Type.String({ minLength: 1, maxLength: 256 }),
  signature: Type.String({
    maxLength: 1_024,
    description:
      'Detached JWS (RFC 7515, ES256) over the canonical JSON (RFC 8785) of the other fields. Its header contains the public key',
  }),
})
export type SignedReceipt = Static<typeof SignedReceipt>

/** The receipt of a scan without a gateway. */
export const UnsignedReceipt = closed({
  ...scanFields,
  links: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { description: 'The links that scanned' }),
  unsigned: Type.Literal(true),
})
export type UnsignedReceipt = Static<typeof UnsignedReceipt>

export const Receipt = Type.Union([SignedReceipt, UnsignedReceipt])
export type Receipt = Static<typeof Receipt>

/** Returns the class of traffic under which a receipt counts an operation, such as `snmp GetBulk`. */
export function packetClassOf({ protocol, operation }: { protocol: string; operation: string }): string {
  return `${protocol} ${operation}`
}

/** Returns the text that is signed: canonical JSON of all fields except the signature. */
export function receiptText(receipt: object): string {
  return canonicalJson({ ...receipt, signature: undefined })
}
