import { type Static, Type } from 'typebox'
import { closed } from './envelope.ts'

const rate = (description: string) => Type.Integer({ minimum: 1, maximum: 100_000, description })

/** The limits of the traffic to one device, or of all traffic of a gateway. */
export const TrafficLimits = closed({
  datagramsPerSecond: rate('UDP datagrams and ICMP echo requests per second'),
  connectionsPerSecond: rate('New TCP connections per second'),
  requestsPerSecond: rate('Application requests per second'),
  connections: rate('TCP connections that are open at the same time'),
})
export type TrafficLimits = Static<typeof TrafficLimits>

const clockTime = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description: 'A time such as 22:00' })

/** The limits that all links of a gateway share. A link asks the gateway for a permit before it sends anything. */
export const ScanBudget = closed({
  perDevice: TrafficLimits,
  perGateway: TrafficLimits,
  protocols: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: 64,
      description: 'The allowed protocols, such as snmp. Without this field, all protocols are allowed',
    }),
  ),
  hours: Type.Optional(
    Type.Array(closed({ from: clockTime, to: clockTime }), {
      minItems: 1,
      maxItems: 24,
      description:
        'The allowed hours in the local time of the gateway. An end before the start is on the next day. Without this field, every hour is allowed',
    }),
  ),
  localAddresses: Type.Optional(
    Type.Boolean({
      description:
        'Whether scans may reach the machine of the gateway (127.0.0.0/8) and link-local addresses (169.254.0.0/16). Without this field, they may not',
    }),
  ),
  multicast: Type.Optional(
    Type.Boolean({
      description:
        'Whether links may send multicast and broadcast packets, which every device of the segment receives. Without this field, they may if excludedAddresses is empty',
    }),
  ),
  excludedAddresses: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    maxItems: 1_000,
    description: 'Addresses and ranges to which nothing is sent, such as 10.0.0.7 or 10.0.8.0/24',
  }),
})
export type ScanBudget = Static<typeof ScanBudget>

export const defaultBudget: ScanBudget = {
  perDevice: { datagramsPerSecond: 20, connectionsPerSecond: 20, requestsPerSecond: 20, connections: 2 },
  perGateway: { datagramsPerSecond: 500, connectionsPerSecond: 500, requestsPerSecond: 500, connections: 256 },
  excludedAddresses: [],
}

/** Returns whether links may send to groups, whose packets every device of the segment receives, also excluded ones. */
export function allowsGroups({ multicast, excludedAddresses }: ScanBudget): boolean {
  return multicast ?? excludedAddresses.length === 0
}

/** The kinds of permits. A request over UDP is one datagram and one application request. */
export const permitKinds = ['datagram', 'request', 'datagram_request', 'connection'] as const
export type PermitKind = (typeof permitKinds)[number]

/** `PermitRequest` describes traffic before it is sent. */
export type PermitRequest = {
  /**
   * The IPv4 address of the device, or the address of a group: a multicast address, the broadcast address of a network of
   * the gateway, or the MAC address of an Ethernet multicast group in lower case, such as `01:0e:cf:00:00:00`.
   */
  address: string
  /** The protocol, such as `snmp`. */
  protocol: string
  /** The function of the protocol, as the table `sends` of the link's manifest names it, such as `GetBulk`. */
  operation: string
  kind: PermitKind
  /**
   * Whether the device forwards the packet to all devices of other networks, also to excluded ones. Such a packet needs the
   * same permission as a broadcast.
   */
  forwarded?: boolean
}

/** The reasons why a gateway refuses a permit. */
export const refusalReasons = ['excluded', 'protocol', 'hours', 'canceled'] as const
export type RefusalReason = (typeof refusalReasons)[number]
