import { type IpRange, isInRanges, mergeRanges, numberOfAddress, parseIpRange } from './ip-range.ts'
import type { PermitRequest, RefusalReason, ScanBudget, TrafficLimits } from './scan-budget.ts'

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

/**
 * Permits arrive at the link with varying delay, so two datagrams can be closer to each other than their permits. This
 * factor makes the intervals between permits longer, so that the rate on the network stays within the budget.
 */
const spacing = 1.02

/** The number of devices whose state is stored before idle devices are removed. */
const purgeAbove = 1_024

/**
 * `PermitIssuer` gives permits within a budget. Permits of one device are given one after the other with equal
 * intervals, so traffic to a device has no bursts. All permits together keep the limits of the gateway.
 */
export class PermitIssuer {
  readonly budget: ScanBudget
  readonly #excluded: readonly IpRange[]
  readonly #gateway: Station
  readonly #devices = new Map<string, Station>()
  #purgeAbove = purgeAbove

  constructor(budget: ScanBudget) {
    this.budget = budget
    this.#excluded = mergeRanges(budget.excludedAddresses.flatMap((text) => parseIpRange(text) ?? []))
    this.#gateway = new Station(budget.perGateway)
  }

  /** Waits until the traffic is within the budget. Throws a `PermitRefusal` if it is not allowed, or on cancellation. */
  async take(request: PermitRequest, { signal, onGranted }: TakeOptions): Promise<Disposable> {
    this.#requireAllowed(request)
    const device = this.#deviceAt(request.address)
    const leave = await device.enterLine(request.kind, signal)
    const slots = new DisposableStack()
    try {
      if (request.kind === 'connection') {
        slots.use(await device.openConnection(signal))
        slots.use(await this.#gateway.openConnection(signal))
      }
      await until(device.dueMs(request.kind), signal)
      await until(this.#gateway.reserve(request.kind), signal)
      this.#requireAllowed(request)
      device.reserve(request.kind)
      onGranted?.(request, new Date())
      return slots.move()
    } finally {
      slots.dispose()
      leave()
    }
  }

  #requireAllowed({ address, protocol }: PermitRequest): void {
    const { protocols, hours } = this.budget
    const number = numberOfAddress(address)
    if (number !== undefined && isInRanges(this.#excluded, number))
      throw new PermitRefusal('excluded', `${address} is excluded by the budget of the gateway.`)
    if (protocols !== undefined && !protocols.includes(protocol))
      throw new PermitRefusal('protocol', `The budget of the gateway does not allow the protocol ${protocol}.`)
    if (hours !== undefined && !hours.some((span) => isWithin(span, new Date()))) {
      const allowed = hours.map(({ from, to }) => `${from} to ${to}`).join(', ')
      throw new PermitRefusal('hours', `The budget of the gateway allows traffic only from ${allowed}.`)
    }
  }

  #deviceAt(address: string): Station {
    const known = this.#devices.get(address)
    if (known !== undefined) return known
    if (this.#devices.size >= this.#purgeAbove) {
      const nowMs = performance.now()
      for (const [key, device] of this.#devices) if (device.isIdle(nowMs)) this.#devices.delete(key)
      this.#purgeAbove = Math.max(purgeAbove, 2 * this.#devices.size)
    }
    const device = new Station(this.budget.perDevice)
    this.#devices.set(address, device)
    return device
  }
}

type Rate = keyof Omit<TrafficLimits, 'connections'>

const ratesOf: Readonly<Record<PermitRequest['kind'], readonly Rate[]>> = {
  datagram: ['datagramsPerSecond'],
  request: ['requestsPerSecond'],
  datagram_request: ['datagramsPerSecond', 'requestsPerSecond'],
  connection: ['connectionsPerSecond'],
}

/** `Station` counts the traffic to one device, or of the whole gateway. */
class Station {
  readonly #limits: TrafficLimits
  readonly #nextMs: Record<Rate, number> = { datagramsPerSecond: 0, connectionsPerSecond: 0, requestsPerSecond: 0 }
  #open = 0
  readonly #waitingForConnection: (() => void)[] = []
  /** Two lines: connections that wait for the end of another connection must not stop the requests of that connection. */
  readonly #lines = { connection: Promise.resolve(), other: Promise.resolve() }
  #inLine = 0

  constructor(limits: TrafficLimits) {
    this.#limits = limits
  }

  isIdle(nowMs: number): boolean {
    return this.#inLine === 0 && this.#open === 0 && Object.values(this.#nextMs).every((ms) => ms < nowMs)
  }

  /** Waits for the permits that were requested before. Returns the function that ends the turn. */
  async enterLine(kind: PermitRequest['kind'], signal: AbortSignal): Promise<() => void> {
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

  /** Waits until a connection may be opened. It counts as open until it is disposed. */
  async openConnection(signal: AbortSignal): Promise<Disposable> {
    if (this.#open < this.#limits.connections && this.#waitingForConnection.length === 0) this.#open += 1
    else {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waitingForConnection.push(resolve)
      try {
        await unlessAborted(promise, signal)
      } catch (error) {
        const place = this.#waitingForConnection.indexOf(resolve)
        if (place >= 0) this.#waitingForConnection.splice(place, 1)
        else this.#close()
        throw error
      }
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
    const next = this.#waitingForConnection.shift()
    if (next === undefined) this.#open -= 1
    else next()
  }

  /** Returns the time at which the next permit of this kind is due. */
  dueMs(kind: PermitRequest['kind']): number {
    return Math.max(performance.now(), ...ratesOf[kind].map((rate) => this.#nextMs[rate]))
  }

  /** Reserves the next permit of this kind, and returns the time at which it is due. */
  reserve(kind: PermitRequest['kind']): number {
    const dueMs = this.dueMs(kind)
    for (const rate of ratesOf[kind]) this.#nextMs[rate] = dueMs + (1_000 / this.#limits[rate]) * spacing
    return dueMs
  }
}

function isWithin({ from, to }: { from: string; to: string }, now: Date): boolean {
  const time = `${String(now.getHours()).padStart(2, '0')}:${String(now.getMinutes()).padStart(2, '0')}`
  return from <= to ? time >= from && time < to : time >= from || time < to
}

async function until(dueMs: number, signal: AbortSignal): Promise<void> {
  for (let waitMs = dueMs - performance.now(); waitMs > 0; waitMs = dueMs - performance.now()) {
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
  return new PermitRefusal('canceled', 'The scan was canceled.')
}
