import { once } from 'node:events'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { type Address, openClient, timeouts } from '../database/connection.ts'
import type { ReferenceHandle } from '../database/database.ts'
import type { Log } from '../log.ts'

type Client = Awaited<ReturnType<typeof openClient>>

/** The version is missing when it is the tenant itself that changed. */
export type Announcement = { tenantId: string; version: number | undefined }

type Options = {
  address: Address
  log: Log
  hear: (announcement: Announcement) => void
  /** What else is announced in this database, by channel. */
  alsoHear?: Readonly<Record<string, () => void>>
}

const reconnect = { firstMs: 250, longestMs: 15_000 } as const
const queryTimeoutMs = 2_000

/**
 * Hears of changes of access that other processes made, on a connection of its own. Nothing depends on it being heard:
 * it makes a change felt at once instead of at the next poll.
 */
export class Announcements {
  readonly #options: Options
  readonly #stopping = new AbortController()
  #client: Client | undefined
  #listening: Promise<void> | undefined

  constructor(options: Options) {
    this.#options = options
  }

  start(): void {
    this.#listening ??= this.#listenAgainAndAgain()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#client?.end().catch(() => {})
    await this.#listening
  }

  /** The same connection for the poll, which then never waits behind requests. */
  get handle(): ReferenceHandle | undefined {
    const client = this.#client
    if (client === undefined) return undefined
    return {
      rows: async (statement, ...values) => (await client.query({ ...statement, values })).rows,
      row: async (statement, ...values) => (await client.query({ ...statement, values })).rows[0],
      run: async (statement, ...values) => (await client.query({ ...statement, values })).rowCount ?? 0,
    }
  }

  /** Gives a connection up that does not answer; another one is opened. */
  drop(): void {
    this.#client?.end().catch(() => {})
    this.#client = undefined
  }

  async #listenAgainAndAgain(): Promise<void> {
    const { signal } = this.#stopping
    const backOff = new BackOff(reconnect)
    while (!signal.aborted) {
      try {
        await this.#listen(() => backOff.reset())
      } catch (error) {
        this.#options.log.warn({ error }, 'Changes of access are only polled for until the database can be listened to')
      }
      await pause(backOff.nextMs(), signal, { ref: false })
    }
  }

  async #listen(connected: () => void): Promise<void> {
    const client = await openClient(this.#options.address, {
      query_timeout: queryTimeoutMs,
      connectionTimeoutMillis: timeouts.connectMs,
    })
    // Hearing of changes is no reason for a process to stay alive.
    ;(client as Client & { unref(): void }).unref()
    try {
      const ended = once(client, 'end')
      const { hear, alsoHear = {} } = this.#options
      client.on('notification', ({ channel, payload = '' }) => {
        if (channel === 'access') hear(announcementOf(payload))
        else alsoHear[channel]?.()
      })
      await client.query(['access', ...Object.keys(alsoHear)].map((channel) => `listen ${channel}`).join('; '))
      if (this.#stopping.signal.aborted) return
      this.#client = client
      connected()
      await ended
    } finally {
      this.#client = undefined
      await client.end().catch(() => {})
    }
  }
}

function announcementOf(payload: string): Announcement {
  const [tenantId = '', version] = payload.split(' ')
  return { tenantId, version: version === undefined ? undefined : Number(version) }
}
