import { LruMap } from 'toad-cache'
import { readIfExists, writeDurably } from '../durable-file.ts'
import type { Log } from '../log.ts'
import { normalAddress } from './target-rules.ts'

type Options = { file: string; log: Log; now?: () => number }

const dayMs = 24 * 60 * 60_000

const limits = {
  /** The maximum number of addresses. Above it, the addresses that were not found for the longest time are removed. */
  addresses: 65_536,
  /** After this time without a finding, an address is removed. The platform has the same limit. */
  days: 400,
  /** The delay before addresses are written. A scan finds many devices in a short time. */
  writeAfterMs: 2_000,
} as const

/** The time of the last finding by address. Times are rounded down to days, so that frequent scans write little. */
type StoredAddresses = Record<string, number>

/**
 * `FoundAddresses` is the durable list of the addresses at which this gateway found devices. Without a list in
 * remote-access.json, these are the only targets of remote sessions.
 */
export class FoundAddresses {
  readonly #options: Required<Options>
  readonly #days = new LruMap<number>(limits.addresses)
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  private constructor({ now = Date.now, ...options }: Options) {
    this.#options = { now, ...options }
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
    this.#timer ??= setTimeout(() => void this.#write(), limits.writeAfterMs).unref()
  }

  /** Returns whether a device was found at a normalised address within the last 400 days. */
  has(address: string): boolean {
    // Reading an item of the map moves it to the end of the order of removal. Only a finding is allowed to do this.
    const day = this.#days.items.get(address)?.value
    return day !== undefined && this.#isRecent(day)
  }

  async close(): Promise<void> {
    if (this.#timer === undefined) return this.#writing
    clearTimeout(this.#timer)
    await this.#write()
  }

  #today(): number {
    return Math.floor(this.#options.now() / dayMs)
  }

  #isRecent(day: number): boolean {
    return this.#today() - day <= limits.days
  }

  #write(): Promise<void> {
    this.#timer = undefined
    const { file, log } = this.#options
    const recent = [...this.#days.items].flatMap(([address, { value }]) =>
      this.#isRecent(value) ? [[address, value] as const] : [],
    )
    const stored: StoredAddresses = Object.fromEntries(recent.toSorted(([, one], [, other]) => one - other))
    this.#writing = this.#writing
      .then(() => writeDurably(file, JSON.stringify(stored)))
      .catch((error: unknown) => log.error({ error }, 'the addresses of found devices could not be written'))
    return this.#writing
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
