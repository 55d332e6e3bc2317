import type { Rights } from '../../../platform/access/rights.ts'
import type { EventRow } from '../../../platform/events/store.ts'
import type { Finished, UnsentRow } from './runner-store.ts'

/** The row of an event in the log. It exists after the first attempt failed, or while an earlier event waits. */
export type StoredDelivery = { id: string; messageId: string; attemptCount: number; firstFailedAt: number | null }

/** An event as the owner of the subscription may read it, and when and with which rights this was checked. */
export type CheckedEvent = { row: EventRow; characters: number; rights: Rights; checkedAtMs: number }

/** An event that is not delivered yet. */
export type Item = {
  readonly position: number
  readonly eventId: string
  readonly type: string
  readonly subject: string
  /** Undefined if the content is not in memory. It is then read before the event is sent. */
  event: CheckedEvent | undefined
  stored: StoredDelivery | undefined
  /** True if the position of the subscription may pass this event: it is delivered, skipped or stored. */
  isFinished: boolean
}

/** The events of one subject, in order. Only the first ones are sent. */
export type Line = {
  readonly subject: string
  readonly items: Item[]
  /** `busy`: its first events are being sent or read. `blocked`: its first event is due at `dueAt`. */
  state: 'ready' | 'busy' | 'blocked'
  dueAt: number
}

/**
 * `DeliveryQueue` holds the events of one subscription that are not delivered yet, in one line per subject. It computes the
 * position up to which all events are finished.
 *
 * Events that were read and not stored are in memory with their content. The reader limits their number. Stored events are
 * in memory without their content.
 */
export class DeliveryQueue {
  readonly #lines = new Map<string, Line>()
  /** Lines whose first events were read just now. They are sent before other lines. */
  readonly #prepared: Line[] = []
  #ready = new Fifo<Line>()
  /** The events that were read and are not finished, in the order of their positions. */
  #window = new Fifo<Item>()
  #read: number
  #inMemory = 0
  #characters = 0
  #stored = 0
  #blocked = 0
  /** The earliest time at which a blocked line is due. Undefined if it must be computed. */
  #nextDueAt: number | undefined = Number.POSITIVE_INFINITY

  /** The events after the position that earlier runners have finished. */
  readonly #finishedBefore: { to: number; except: ReadonlySet<number> }

  constructor({ position, finishedTo, unfinished }: { position: number } & Finished) {
    this.#read = position
    this.#finishedBefore = { to: finishedTo, except: new Set(unfinished) }
  }

  /** The position of the last event that was read. */
  get read(): number {
    return this.#read
  }

  /** All events up to this position are finished. */
  get position(): number {
    for (let first = this.#window.peek(); first !== undefined; first = this.#window.peek()) {
      if (!first.isFinished) return first.position - 1
      this.#window.shift()
    }
    return this.#read
  }

  /** Returns whether an earlier runner has finished the event at a position. It must not be added again. */
  wasFinished(position: number): boolean {
    const { to, except } = this.#finishedBefore
    return position <= to && !except.has(position)
  }

  /** The events after `position` that are finished. */
  get finished(): Finished {
    const { to, except } = this.#finishedBefore
    let finishedTo = to
    const open: number[] = []
    for (const { position, isFinished } of this.#window.values()) {
      if (isFinished) finishedTo = Math.max(finishedTo, position)
      else open.push(position)
    }
    for (const position of except) if (position > this.#read) open.push(position)
    return { finishedTo, unfinished: open.filter((position) => position <= finishedTo) }
  }

  /** The number of events in memory that are not stored. */
  get inMemory(): number {
    return this.#inMemory
  }

  /** The characters of the content of the events in memory that are not stored. */
  get characters(): number {
    return this.#characters
  }

  /** The number of stored events. */
  get stored(): number {
    return this.#stored
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  get hasReady(): boolean {
    return this.#prepared.length > 0 || this.#ready.size > 0
  }

  get nextDueAt(): number {
    if (this.#nextDueAt === undefined) {
      let next = Number.POSITIVE_INFINITY
      for (const line of this.#lines.values()) if (line.state === 'blocked') next = Math.min(next, line.dueAt)
      this.#nextDueAt = next
    }
    return this.#nextDueAt
  }

  lines(): Iterable<Line> {
    return this.#lines.values()
  }

  /** Adds the stored events at the start of a runner. `rows` is in the order of the positions. */
  addStored(rows: readonly UnsentRow[]): void {
    for (const { id, messageId, attemptCount, firstFailedAt, nextAt, ...event } of rows) {
      const stored = { id, messageId, attemptCount, firstFailedAt: timeOf(firstFailedAt) }
      this.#stored++
      const item: Item = { ...event, event: undefined, stored, isFinished: true }
      const line = this.#lines.get(event.subject)
      if (line !== undefined) line.items.push(item)
      else {
        const added: Line = { subject: event.subject, items: [item], state: 'busy', dueAt: 0 }
        this.#lines.set(event.subject, added)
        this.block(added, timeOf(nextAt) ?? 0)
      }
    }
  }

  /** Sets the position of the last event that was read. */
  moveTo(position: number): void {
    this.#read = position
  }

  /**
   * Adds an event that was read. Returns the item if it must be stored, because an earlier event of its subject is stored.
   * The caller stores it and calls `store`.
   */
  add(event: CheckedEvent): Item | undefined {
    const { id, position, type, subject } = event.row
    const item: Item = { position, eventId: id, type, subject, event, stored: undefined, isFinished: false }
    this.#window.push(item)
    this.#inMemory++
    this.#characters += event.characters
    const line = this.#lines.get(subject)
    if (line === undefined) {
      const added: Line = { subject, items: [item], state: 'ready', dueAt: 0 }
      this.#lines.set(subject, added)
      this.#ready.push(added)
      return undefined
    }
    line.items.push(item)
    return line.items[0]?.stored === undefined ? undefined : item
  }

  /** Replaces the content of an event that was read and checked again. */
  setEvent(item: Item, event: CheckedEvent): void {
    if (!item.isFinished) this.#characters += event.characters - (item.event?.characters ?? 0)
    item.event = event
  }

  /** Notes that an event is in the log now. Its content leaves the memory. */
  store(item: Item, stored: StoredDelivery): void {
    item.stored = stored
    this.#stored++
    this.#finish(item)
    item.event = undefined
  }

  /** Removes the first events of a line, because they are delivered, skipped or dead letters. */
  remove(line: Line, count: number): void {
    for (const item of line.items.splice(0, count)) this.drop(item)
  }

  /** Notes that an event which was taken out of its line is finished. */
  drop(item: Item): void {
    if (item.stored !== undefined) this.#stored--
    this.#finish(item)
    item.event = undefined
  }

  /** Takes the next line whose first event can be sent. The caller returns it with `release` or `block`. */
  take(): Line | undefined {
    const line = this.#prepared.shift() ?? this.#ready.shift()
    if (line !== undefined) line.state = 'busy'
    return line
  }

  /** Returns whether there is a line whose first event was never tried. */
  get hasUntried(): boolean {
    for (const line of this.#lines.values()) if (attemptsOf(line) === 0) return true
    return false
  }

  /**
   * Takes a line to find out whether the receiver works, also if it is not due: the line with the fewest attempts, and
   * the oldest of these. So an event that the receiver always refuses does not delay the others.
   */
  takeForProbe(): Line | undefined {
    let best: Line | undefined
    for (const line of this.#lines.values())
      if (line.state !== 'busy' && (best === undefined || isTriedBefore(line, best))) best = line
    if (best !== undefined) this.takeLine(best)
    return best
  }

  /** Takes a line that is not busy. */
  takeLine(line: Line): void {
    if (line.state === 'blocked') this.#unblock(line)
    else {
      const index = this.#prepared.indexOf(line)
      if (index >= 0) this.#prepared.splice(index, 1)
      else this.#ready.remove(line)
    }
    line.state = 'busy'
  }

  /** Returns a line to the queue. Its first event can be sent at once. */
  release(line: Line, { isPrepared = false } = {}): void {
    if (line.items.length === 0) {
      this.#lines.delete(line.subject)
      return
    }
    line.state = 'ready'
    if (isPrepared) this.#prepared.push(line)
    else this.#ready.push(line)
  }

  /** Returns a line to the queue. Its first event is due at this time. */
  block(line: Line, dueAt: number): void {
    line.state = 'blocked'
    line.dueAt = dueAt
    this.#blocked++
    if (this.#nextDueAt !== undefined) this.#nextDueAt = Math.min(this.#nextDueAt, dueAt)
  }

  /** Makes the lines ready that are due at this time. */
  makeReady(now: number): void {
    if (this.#blocked === 0 || this.nextDueAt > now) return
    for (const line of this.#lines.values()) {
      if (line.state !== 'blocked' || line.dueAt > now) continue
      this.#unblock(line)
      line.state = 'ready'
      this.#ready.push(line)
    }
  }

  #unblock(line: Line): void {
    this.#blocked--
    if (line.dueAt === this.#nextDueAt) this.#nextDueAt = undefined
    if (this.#blocked === 0) this.#nextDueAt = Number.POSITIVE_INFINITY
  }

  #finish(item: Item): void {
    if (item.isFinished) return
    item.isFinished = true
    this.#inMemory--
    this.#characters -= item.event?.characters ?? 0
  }
}

function attemptsOf(line: Line): number {
  return line.items[0]?.stored?.attemptCount ?? 0
}

function isTriedBefore(line: Line, other: Line): boolean {
  const difference = attemptsOf(line) - attemptsOf(other)
  return difference === 0 ? positionOf(line) < positionOf(other) : difference < 0
}

function positionOf(line: Line): number {
  return line.items[0]?.position ?? Number.POSITIVE_INFINITY
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text)
}

/** `Fifo` is a queue. Taking the first value does not move the others. */
class Fifo<Value> {
  #values: Value[] = []
  #start = 0

  get size(): number {
    return this.#values.length - this.#start
  }

  peek(): Value | undefined {
    return this.#values[this.#start]
  }

  values(): Iterable<Value> {
    return this.#values.values().drop(this.#start)
  }

  push(value: Value): void {
    this.#values.push(value)
  }

  shift(): Value | undefined {
    if (this.size === 0) return undefined
    const value = this.#values[this.#start++]
    if (this.#start > 1_000 && this.#start * 2 > this.#values.length) {
      this.#values = this.#values.slice(this.#start)
      this.#start = 0
    }
    return value
  }

  remove(value: Value): void {
    this.#values = this.#values.slice(this.#start).filter((one) => one !== value)
    this.#start = 0
  }
}
