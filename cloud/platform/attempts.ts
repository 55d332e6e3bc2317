import { hash } from 'node:crypto'
import { LruMap } from 'toad-cache'
import type { CountChange, SharedCounts, SharedLimit } from './shared-counts.ts'

/**
 * Limits that slow down password guessing. Failures are counted by subject and address, and by address alone. The
 * counts are in the memory of each process, because the limit must also work while the database is overloaded. The
 * processes send each other their counts, so that the limits apply to all processes together.
 */

export type Rule = {
  /** The number of failures that cause no wait, because users sometimes mistype. */
  free: number
  /** The wait after the first failure above `free`. Each further failure doubles it. */
  firstWaitSeconds: number
  longestWaitSeconds: number
  /** Failures are forgotten if no new failure occurs for this time. */
  forgetSeconds: number
}

/** The rule for one sign-in name or client id from one address. */
const perSubject: Rule = { free: 5, firstWaitSeconds: 1, longestWaitSeconds: 900, forgetSeconds: 3_600 }
/** The rule for one address with any subject. Its limit is higher, because a whole office may share an address. */
const perAddress: Rule = { free: 50, firstWaitSeconds: 1, longestWaitSeconds: 60, forgetSeconds: 600 }

const mostRemembered = 20_000

type Entry = { failures: number; lastAt: number }

export type Attempt = {
  /** The sign-in name or client id of the attempt. */
  subject: string
  address: string | undefined
}

export type Failure = { ofSubject: number; ofAddress: number }

type AttemptsOptions = {
  /** Sends the counts to other processes. `name` is the name of the limit, which is the same in all processes. */
  shared?: { name: string; counts: SharedCounts }
  now?: () => number
}

export class Attempts {
  readonly #entries = new LruMap<Entry>(mostRemembered)
  readonly #now: () => number
  readonly #shared: SharedLimit | undefined

  constructor({ shared, now = () => Date.now() }: AttemptsOptions = {}) {
    this.#now = now
    this.#shared = shared?.counts.join(shared.name, { onChange: (key, change) => this.#onChange(key, change) })
  }

  get remembered(): number {
    return this.#entries.size
  }

  /** Returns the seconds until the next attempt is allowed, or 0 if it is allowed now. */
  waitFor(attempt: Attempt): number {
    const { subject, address } = keysOf(attempt)
    return Math.max(this.#waitOf(subject, perSubject), this.#waitOf(address, perAddress))
  }

  /** Counts a failure. Returns the number of failures of the subject and of the address. */
  failed(attempt: Attempt): Failure {
    const { subject, address } = keysOf(attempt)
    this.#shared?.add(subject, 1)
    this.#shared?.add(address, 1)
    return { ofSubject: this.#count(subject, perSubject), ofAddress: this.#count(address, perAddress) }
  }

  /**
   * Forgets the failures of the subject. If `counted` is true, the caller counted this attempt as a failure in
   * advance. This one failure of the address is then removed too.
   */
  succeeded(attempt: Attempt, { counted }: { counted: boolean }): void {
    const { subject, address } = keysOf(attempt)
    this.#entries.delete(subject)
    this.#shared?.reset(subject)
    if (counted) this.#decrement(address)
  }

  /** Removes the failure that was counted for an attempt, because the attempt did not happen. */
  uncount(attempt: Attempt): void {
    for (const key of Object.values(keysOf(attempt))) this.#decrement(key)
  }

  /** Applies the counts of another process. */
  #onChange(key: string, { count, isReset }: CountChange): void {
    const former = isReset ? undefined : this.#recent(key, key.startsWith(subjectPrefix) ? perSubject : perAddress)
    const failures = (former?.failures ?? 0) + count
    if (failures <= 0) this.#entries.delete(key)
    else this.#entries.set(key, { failures, lastAt: count > 0 ? this.#now() : (former?.lastAt ?? this.#now()) })
  }

  #decrement(key: string): void {
    this.#shared?.add(key, -1)
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    entry.failures--
    if (entry.failures <= 0) this.#entries.delete(key)
  }

  #waitOf(key: string, rule: Rule): number {
    const entry = this.#recent(key, rule)
    if (entry === undefined) return 0
    return waitAfter(rule, entry, this.#now())
  }

  #count(key: string, rule: Rule): number {
    const failures = (this.#recent(key, rule)?.failures ?? 0) + 1
    this.#entries.set(key, { failures, lastAt: this.#now() })
    return failures
  }

  #recent(key: string, rule: Rule): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || this.#now() - entry.lastAt <= rule.forgetSeconds * 1000) return entry
    this.#entries.delete(key)
    return undefined
  }
}

/**
 * Returns the remaining seconds to wait after a number of failures. There is no wait up to `free` failures. Each
 * further failure doubles the wait.
 */
export function waitAfter(rule: Rule, { failures, lastAt }: Entry, nowMs: number): number {
  if (failures <= rule.free) return 0
  const wait = Math.min(rule.firstWaitSeconds * 2 ** (failures - rule.free - 1), rule.longestWaitSeconds)
  return Math.max(0, Math.ceil((lastAt - nowMs) / 1000 + wait))
}

const longestSubject = 200

const subjectPrefix = 'subject '

/**
 * Returns the keys under which an attempt is counted. They are hashes, because users sometimes type their password into the
 * name field, and the keys are sent to other processes.
 */
function keysOf({ subject, address }: Attempt): { subject: string; address: string } {
  const place = networkOf(address ?? '')
  const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 22)
  return {
    subject: `${subjectPrefix}${digest(`${place} ${subject.slice(0, longestSubject)}`)}`,
    address: `address ${digest(place)}`,
  }
}

/**
 * Returns the /64 network of an IPv6 address, and returns an IPv4 address unchanged. An IPv6 user has at least 2^64
 * addresses, so failures are counted by network.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1] !== undefined) return mapped[1]
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after]
  return groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}
