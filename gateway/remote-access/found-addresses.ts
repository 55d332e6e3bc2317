import { LruMap } from 'toad-cache'
import { DelayedFile, readIfExists } from '../durable-file.ts'
import type { Log } from '../log.ts'
import { normalAddress } from './target-rules.ts'

type Options = { file: string; log: Log; now?: () => number }

const dayMs = 24 * 60 * 60_000

const limits = {
  /** The maximum number of addresses. Above it, the addresses that were not found for the longest time are removed. */
  addresses: 65_536,
  /** After this time without a finding, an address is removed. The platform has the same limit. */
  days: 400,
} as const

/** The time of the last finding by address. Times are rounded down to days, so that frequent scans write little. */
type StoredAddresses = Record<string, number>

/**
 * `FoundAddresses` is the durable list of the addresses at which this gateway found devices. Without a list in
 * remote-access.json, these are the only targets of remote sessions.
 */
export class FoundAddresses {
  readonly #now: () => number
  readonly #file: DelayedFile
  readonly #days = new LruMap<number>(limits.addresses)

  private constructor({ now = Date.now, ...options }: Options) {
    this.#now = now
    this.#file = new DelayedFile({
      ...options,
      content: () => this.#content(),
      failure: 'the addresses of found devices could not be written',
    })
  }

  static async open(options: Options): Promise<FoundAddresses> {
    const found = new FoundAddresses(options)
    for (const [address, day] of storedIn(await readIfExists(options.file)))
      if (found.#isRecent(day)) found.#days.set(address, day)
    return found
  }

  /** Adds the address at which a device was found. Text that is not an IP address is ignored. */
  add(text: string): void {
    const address = normalAddress(text.replace(/%.*$/, ''))
    const today = this.#today()
    if (address === undefined || this.#days.get(address) === today) return
    this.#days.set(address, today)
    this.#file.change()
  }

  /** Returns whether a device was found at a normalised address within the last 400 days. */
  has(address: string): boolean {
    // Reading an item of the map moves it to the end of the order of removal. Only a finding is allowed to do this.
    const day = this.#days.items.get(address)?.value
    return day !== undefined && this.#isRecent(day)
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  #today(): number {
    return Math.floor(this.#now() / dayMs)
  }

  #isRecent(day: number): boolean {
    return this.#today() - day <= limits.days
  }

  #content(): string {
    const recent = [...this.#days.items].flatMap(([address, { value }]) =>
      this.#isRecent(value) ? [[address, value] as const] : [],
    )
    const stored: StoredAddresses = Object.fromEntries(recent.toSorted(([, one], [, other]) => one - other))
    return JSON.stringify(stored)
  }
}

function storedIn(text: string | undefined): [string, number][] {
  try {
    const stored: unknown = JSON.parse(text ?? '{}')
    if (typeof stored !== 'object' || stored === null) return []
    return Object.entries(stored)
      .flatMap(([address, day]): [string, number][] =>
        normalAddress(address) === address && Number.isInteger(day) ? [[address, day]] : [],
      )
      .slice(-limits.addresses)
  } catch {
    return []
  }
}
