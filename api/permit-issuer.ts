import { isEthernetGroup, isGroupAddress, localBroadcasts, multicastAddresses } from './group-address.ts'
import {
  addressOfNumber,
  type IpRange,
  isInRanges,
  localAddresses,
  mergeRanges,
  numberOfAddress,
  parseIpRange,
  unicastAddresses,
} from './ip-range.ts'
import {
  allowsGroups,
  type PermitRequest,
  type RefusalReason,
  type ScanBudget,
  type TrafficLimits,
} from './scan-budget.ts'

/** `PermitRefusal` is thrown when traffic is not allowed. */
export class PermitRefusal extends Error {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string) {
    super(message)
    this.name = 'PermitRefusal'
    this.reason = reason
  }
}

type TakeOptions = {
  signal: AbortSignal
  /** Called at the moment in which the permit is given. */
  onGranted?: (request: PermitRequest, at: Date) => void
}

type IssuerOptions = {
  /** The DNS servers of the machine. They get permits for DNS, even if they have local addresses. */
  nameServers?: readonly string[]
  /** Returns the broadcast addresses of the networks of the machine. */
  broadcasts?: () => ReadonlySet<string>
}

/**
 * Permits arrive at the link with varying delay, so two datagrams can be closer to each other than their permits. This
 * factor makes the intervals between permits longer. The rate on the network then stays within the budget in every second,
 * also if a link is delayed by up to a tenth of a second.
 */
const spacing = 1.1

/** The key of the state that all groups share. A device can belong to several groups. */
const groupsKey = 'groups'

/** The number of devices whose state is stored before idle devices are removed. */
const purgeAbove = 1_024

/**
 * `PermitIssuer` gives permits within a budget. Permits of one device are given one after the other with equal
 * intervals, so traffic to a device has no bursts. All groups together have the limits of one device. Packets that devices
 * forward to other networks count for the device and for the groups. All permits together keep the limits of the gateway.
 */
export class PermitIssuer {
  #budget: ScanBudget
  #excluded: readonly IpRange[]
  readonly #nameServers: readonly string[]
  readonly #broadcasts: () => ReadonlySet<string>
  readonly #connections: ConnectionSlots
  readonly #pace: GatewayPace
  readonly #devices = new Map<string, Device>()
  #purgeAbove = purgeAbove

  /** Throws a `TypeError` if an excluded address is not valid, because its device would not be protected. */
  constructor(budget: ScanBudget, { nameServers = [], broadcasts = localBroadcasts }: IssuerOptions = {}) {
    this.#budget = budget
    this.#nameServers = nameServers
    this.#broadcasts = broadcasts
    this.#excluded = excludedRanges(budget)
    this.#connections = new ConnectionSlots(budget.perGateway)
    this.#pace = new GatewayPace(budget.perGateway)
  }

  get budget(): ScanBudget {
    return this.#budget
  }

  /** The number of devices whose state is stored. */
  get devices(): number {
    return this.#devices.size
  }

  /** Returns the shortest interval between two packets of a kind that keeps the limits of the gateway. */
  intervalMs(kind: PermitRequest['kind']): number {
    return Math.max(...ratesOf[kind].map((rate) => 1_000 / this.#budget.perGateway[rate]))
  }

  /** Applies another budget to all further permits. Open connections and the permits of the last second still count. */
  changeBudget(budget: ScanBudget): void {
    this.#excluded = excludedRanges(budget)
    this.#budget = budget
    this.#connections.changeLimits(budget.perGateway)
    this.#pace.changeLimits(budget.perGateway)
    for (const device of this.#devices.values()) device.changeLimits(budget.perDevice)
  }

  /** Waits until the traffic is within the budget. Throws a `PermitRefusal` if it is not allowed, or on cancellation. */
  async take(request: PermitRequest, { signal, onGranted }: TakeOptions): Promise<Disposable> {
    this.#requireAllowed(request)
    const { kind } = request
    const device = this.#deviceAt(this.#isGroup(request.address) ? groupsKey : request.address)
    // The devices of other networks receive a forwarded packet like a packet to a group.
    const limited = request.forwarded ? [device, this.#deviceAt(groupsKey)] : [device]
    using lines = new DisposableStack()
    using slots = new DisposableStack()
    for (const one of limited) lines.defer(await one.enterLine(kind, signal))
    if (kind === 'connection') {
      slots.use(await device.connections.open(signal))
      slots.use(await this.#connections.open(signal))
    }
    await until(() => Math.max(...limited.map((one) => one.dueMs(kind))), signal)
    await this.#pace.turn(kind, signal)
    this.#requireAllowed(request)
    for (const one of limited) one.count(kind)
    onGranted?.(request, new Date())
    return slots.move()
  }

  #requireAllowed(request: PermitRequest): void {
    const { protocol } = request
    const { protocols, hours } = this.#budget
    this.#requireDestination(request)
    if (protocols !== undefined && !protocols.includes(protocol))
      throw new PermitRefusal('protocol', `The budget of the gateway does not allow the protocol ${protocol}.`)
    if (hours !== undefined && !hours.some((span) => isWithin(span, new Date()))) {
      const allowed = hours.map(({ from, to }) => `${from} to ${to}`).join(', ')
      throw new PermitRefusal('hours', `The budget of the gateway allows traffic only from ${allowed}.`)
    }
  }

  #requireDestination(request: PermitRequest): void {
    const { address, forwarded = false } = request
    const isGroup = this.#isGroup(address)
    if ((isGroup || forwarded) && !allowsGroups(this.#budget))
      throw new PermitRefusal(
        'excluded',
        `Packets to ${address} reach all devices of ${isGroup ? 'the segment' : 'other networks'}, also excluded ones, so the budget of the gateway does not allow them. To allow multicast and broadcast packets: millwright gateway budget --multicast allow, or millwright scan --multicast allow.`,
      )
    if (isEthernetGroup(address)) return
    const number = numberOfAddress(address)
    if (number === undefined || addressOfNumber(number) !== address)
      throw new PermitRefusal(
        'excluded',
        `"${address}" is not an IPv4 address. The gateway gives no permits for names.`,
      )
    if (!isInRanges([unicastAddresses, multicastAddresses], number))
      throw new PermitRefusal(
        'excluded',
        `${address} is neither the address of a device nor of a group. The gateway gives no permits for it.`,
      )
    if (isInRanges(localAddresses, number) && !this.#allowsLocal(request))
      throw new PermitRefusal(
        'protocol',
        `The budget of the gateway does not allow ${address}, which is an address of the gateway itself or a link-local address. To allow such addresses: millwright gateway budget --local-addresses allow.`,
      )
    if (isInRanges(this.#excluded, number))
      throw new PermitRefusal('excluded', `${address} is excluded by the budget of the gateway.`)
  }

  #isGroup(address: string): boolean {
    return isGroupAddress(address, this.#broadcasts())
  }

  /** The DNS server of a machine is often on the machine itself. */
  #allowsLocal({ address, protocol }: PermitRequest): boolean {
    return this.#budget.localAddresses === true || (protocol === 'dns' && this.#nameServers.includes(address))
  }

  #deviceAt(address: string): Device {
    const known = this.#devices.get(address)
    if (known !== undefined) return known
    if (this.#devices.size >= this.#purgeAbove) {
      const nowMs = performance.now()
      for (const [key, device] of this.#devices) if (device.isIdle(nowMs)) this.#devices.delete(key)
      this.#purgeAbove = Math.max(purgeAbove, 2 * this.#devices.size)
    }
    const device = new Device(this.#budget.perDevice)
    this.#devices.set(address, device)
    return device
  }
}

function excludedRanges({ excludedAddresses }: ScanBudget): IpRange[] {
  return mergeRanges(
    excludedAddresses.map((text) => {
      const range = parseIpRange(text)
      if (range === undefined) throw new TypeError(`"${text}" in excludedAddresses is not an IPv4 address or range.`)
      return range
    }),
  )
}

type Kind = PermitRequest['kind']
type Rate = keyof Omit<TrafficLimits, 'connections'>
const rates = ['datagramsPerSecond', 'connectionsPerSecond', 'requestsPerSecond'] as const satisfies Rate[]

const ratesOf: Readonly<Record<Kind, readonly Rate[]>> = {
  datagram: ['datagramsPerSecond'],
  request: ['requestsPerSecond'],
  datagram_request: ['datagramsPerSecond', 'requestsPerSecond'],
  connection: ['connectionsPerSecond'],
}

/** `ConnectionSlots` limits the connections that are open at the same time. Waiting callers get a slot in their order. */
class ConnectionSlots {
  #limit: number
  #open = 0
  readonly #waiting: (() => void)[] = []

  constructor({ connections }: TrafficLimits) {
    this.#limit = connections
  }

  get isEmpty(): boolean {
    return this.#open === 0 && this.#waiting.length === 0
  }

  changeLimits({ connections }: TrafficLimits): void {
    this.#limit = connections
    this.#admit()
  }

  /** Waits until a connection may be opened. It counts as open until it is disposed. */
  async open(signal: AbortSignal): Promise<Disposable> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    this.#admit()
    try {
      await unlessAborted(promise, signal)
    } catch (error) {
      const place = this.#waiting.indexOf(resolve)
      if (place >= 0) this.#waiting.splice(place, 1)
      else this.#close()
      throw error
    }
    let isOpen = true
    return {
      [Symbol.dispose]: () => {
        if (isOpen) this.#close()
        isOpen = false
      },
    }
  }

  #close(): void {
    this.#open -= 1
    this.#admit()
  }

  #admit(): void {
    while (this.#open < this.#limit) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#open += 1
      next()
    }
  }
}

/** `Device` limits the traffic to one device. */
class Device {
  readonly connections: ConnectionSlots
  #limits: TrafficLimits
  readonly #nextMs: Record<Rate, number> = { datagramsPerSecond: 0, connectionsPerSecond: 0, requestsPerSecond: 0 }
  /** Two lines: connections that wait for the end of another connection must not stop the requests of that connection. */
  readonly #lines = { connection: Promise.resolve(), other: Promise.resolve() }
  #inLine = 0

  constructor(limits: TrafficLimits) {
    this.#limits = limits
    this.connections = new ConnectionSlots(limits)
  }

  isIdle(nowMs: number): boolean {
    return this.#inLine === 0 && this.connections.isEmpty && Object.values(this.#nextMs).every((ms) => ms < nowMs)
  }

  changeLimits(limits: TrafficLimits): void {
    this.#limits = limits
    this.connections.changeLimits(limits)
  }

  /** Waits for the permits that were requested before. Returns the function that ends the turn. */
  async enterLine(kind: Kind, signal: AbortSignal): Promise<() => void> {
    const line = kind === 'connection' ? 'connection' : 'other'
    const before = this.#lines[line]
    const turn = Promise.withResolvers<void>()
    this.#inLine += 1
    this.#lines[line] = before.then(() => turn.promise)
    const leave = () => {
      this.#inLine -= 1
      turn.resolve()
    }
    try {
      await unlessAborted(before, signal)
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Returns the time at which the next permit of this kind is due. */
  dueMs(kind: Kind): number {
    return Math.max(...ratesOf[kind].map((rate) => this.#nextMs[rate]))
  }

  /** Counts a permit that is given now. */
  count(kind: Kind): void {
    for (const rate of ratesOf[kind]) this.#nextMs[rate] = performance.now() + intervalMs(this.#limits, rate)
  }
}

function intervalMs(limits: TrafficLimits, rate: Rate): number {
  return (1_000 / limits[rate]) * spacing
}

/** The time by which permits can be late and are still given at the planned rate afterwards. Timers are not exact. */
const catchUpMs = 20

type Turn = { resolve: () => void; isCanceled: boolean }

/**
 * `GatewayPace` limits the rates of all traffic of a gateway. Permits are given in the order of their requests, one queue
 * per kind. In addition to the intervals between permits, it counts the permits of the last second, so that a delay of the
 * process does not cause a burst. A canceled request uses nothing of the budget.
 */
class GatewayPace {
  #limits: TrafficLimits
  readonly #queues: Readonly<Record<Kind, Turn[]>> = { datagram: [], request: [], datagram_request: [], connection: [] }
  readonly #timers = new Map<Kind, NodeJS.Timeout>()
  readonly #nextMs: Record<Rate, number> = { datagramsPerSecond: 0, connectionsPerSecond: 0, requestsPerSecond: 0 }
  /** The times of the permits of the last second, oldest first. */
  readonly #recentMs: Readonly<Record<Rate, number[]>> = {
    datagramsPerSecond: [],
    connectionsPerSecond: [],
    requestsPerSecond: [],
  }

  constructor(limits: TrafficLimits) {
    this.#limits = limits
  }

  changeLimits(limits: TrafficLimits): void {
    const nowMs = performance.now()
    this.#limits = limits
    for (const rate of rates) this.#nextMs[rate] = Math.min(this.#nextMs[rate], nowMs + intervalMs(limits, rate))
  }

  async turn(kind: Kind, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const turn: Turn = { resolve, isCanceled: false }
    this.#queues[kind].push(turn)
    if (!this.#timers.has(kind)) this.#give(kind)
    try {
      await unlessAborted(promise, signal)
    } catch (error) {
      turn.isCanceled = true
      throw error
    }
  }

  /** Gives all permits of a kind that are due, and continues when the next one is due. */
  #give(kind: Kind): void {
    this.#timers.delete(kind)
    const queue = this.#queues[kind]
    for (;;) {
      while (queue[0]?.isCanceled) queue.shift()
      if (queue.length === 0) return
      const nowMs = performance.now()
      const waitMs = this.#dueMs(kind, nowMs) - nowMs
      if (waitMs > 0) {
        this.#timers.set(
          kind,
          setTimeout(() => this.#give(kind), Math.ceil(waitMs)),
        )
        return
      }
      this.#count(kind, nowMs)
      queue.shift()?.resolve()
    }
  }

  #dueMs(kind: Kind, nowMs: number): number {
    return Math.max(
      ...ratesOf[kind].map((rate) => {
        const recent = this.#recentMs[rate]
        while ((recent[0] ?? nowMs) <= nowMs - 1_000) recent.shift()
        const oldest = recent.at(-this.#limits[rate]) ?? Number.NEGATIVE_INFINITY
        return Math.max(this.#nextMs[rate], oldest + 1_000)
      }),
    )
  }

  #count(kind: Kind, nowMs: number): void {
    for (const rate of ratesOf[kind]) {
      this.#recentMs[rate].push(nowMs)
      this.#nextMs[rate] = Math.max(this.#nextMs[rate], nowMs - catchUpMs) + intervalMs(this.#limits, rate)
    }
  }
}

/** Returns true within the span. A span that ends when it starts is the whole day. */
function isWithin({ from, to }: { from: string; to: string }, now: Date): boolean {
  const time = `${String(now.getHours()).padStart(2, '0')}:${String(now.getMinutes()).padStart(2, '0')}`
  return from < to ? time >= from && time < to : time >= from || time < to
}

/** Waits until a time. The time is computed again after each wait, because the limits can change in between. */
async function until(dueMs: () => number, signal: AbortSignal): Promise<void> {
  for (let waitMs = dueMs() - performance.now(); waitMs > 0; waitMs = dueMs() - performance.now()) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, Math.ceil(waitMs))
    await unlessAborted(promise, signal).finally(() => clearTimeout(timer))
  }
  if (signal.aborted) throw canceled()
}

/** Waits for a promise. Throws a `PermitRefusal` as soon as the signal is aborted. */
function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(canceled())
  return new Promise((resolve, reject) => {
    const abort = () => reject(canceled())
    signal.addEventListener('abort', abort, { once: true })
    promise.then(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, reject)
  })
}

function canceled(): PermitRefusal {
  return new PermitRefusal('canceled', 'The call has ended or was canceled.')
}
