import { once } from 'node:events'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { type Address, openClient, timeouts } from '../database/connection.ts'
import type { ReferenceHandle } from '../database/database.ts'
import type { Log } from '../log.ts'

type Client = Awaited<ReturnType<typeof openClient>>

/** A change of access in a tenant. `version` is undefined if the tenant itself changed. */
export type AccessChange = { tenantId: string; version: number | undefined }

type Options = {
  address: Address
  log: Log
  onAccessChange: (announcement: AccessChange) => void
  /** Called when the connection receives notifications. */
  onConnected: () => void
  /** Handlers for further notification channels of this database, by the name of the channel. */
  otherChannels?: Readonly<Record<string, (payload: string) => void>>
}

const reconnect = { firstMs: 250, longestMs: 15_000 } as const
const queryTimeoutMs = 2_000
/** The server cancels a poll after this time. The connection then stays usable, unlike after `queryTimeoutMs`. */
const statementTimeoutMs = 1_500

/**
 * `NotificationListener` receives PostgreSQL notifications about changes of access by other processes. It uses its own
 * connection. A lost notification causes no error, because the change takes effect at the next poll.
 */
export class NotificationListener {
  readonly #options: Options
  readonly #stopping = new AbortController()
  #client: Client | undefined
  /** Settles when the last query has ended. The connection runs one query at a time. */
  #lastQuery: Promise<unknown> = Promise.resolve()
  #listening: Promise<void> | undefined

  constructor(options: Options) {
    this.#options = options
  }

  start(): void {
    this.#listening ??= this.#keepListening()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#client?.end().catch(() => {})
    await this.#listening
  }

  /** A handle on the connection of the listener. Polls use it, so that they never wait for a connection of the pool. */
  get handle(): ReferenceHandle | undefined {
    const client = this.#client
    if (client === undefined) return undefined
    return {
      rows: async (statement, ...values) => (await this.#inTurn(() => client.query({ ...statement, values }))).rows,
      row: async (statement, ...values) => (await this.#inTurn(() => client.query({ ...statement, values }))).rows[0],
      run: async (statement, ...values) =>
        (await this.#inTurn(() => client.query({ ...statement, values }))).rowCount ?? 0,
    }
  }

  /** Sends a notification to all processes that listen. Sends nothing while the connection is lost. */
  async notify(channel: string, payload: string): Promise<void> {
    const client = this.#client
    if (client === undefined) return
    await this.#inTurn(() => client.query({ text: 'select pg_notify($1, $2)', values: [channel, payload] }))
  }

  #inTurn<Result>(query: () => Promise<Result>): Promise<Result> {
    const result = this.#lastQuery.then(query)
    this.#lastQuery = result.catch(() => {})
    return result
  }

  /** Closes a connection that does not respond. The listener then opens another one. */
  drop(): void {
    this.#client?.end().catch(() => {})
    this.#client = undefined
  }

  async #keepListening(): Promise<void> {
    const { signal } = this.#stopping
    const backOff = new BackOff(reconnect)
    while (!signal.aborted) {
      try {
        await this.#listen(() => backOff.reset())
      } catch (error) {
        this.#options.log.warn(
          { error },
          'The listener for changes of access is disconnected; changes take effect at the next poll',
        )
      }
      await pause(backOff.nextMs(), signal, { ref: false })
    }
  }

  async #listen(connected: () => void): Promise<void> {
    const client = await openClient(this.#options.address, {
      query_timeout: queryTimeoutMs,
      connectionTimeoutMillis: timeouts.connectMs,
    })
    // The listening connection must not keep the process alive.
    ;(client as Client & { unref(): void }).unref()
    try {
      const ended = once(client, 'end')
      const { onAccessChange, onConnected, otherChannels = {}, log } = this.#options
      client.on('notification', ({ channel, payload = '' }) => {
        try {
          if (channel === 'access') onAccessChange(accessChangeOf(payload))
          else otherChannels[channel]?.(payload)
        } catch (error) {
          // Every user of the database can send notifications. An error in this event would end the process.
          log.warn({ error, channel }, 'A notification could not be read')
        }
      })
      await client.query(`set statement_timeout = ${statementTimeoutMs}`)
      for (const channel of ['access', ...Object.keys(otherChannels)]) await client.query(`listen ${channel}`)
      if (this.#stopping.signal.aborted) return
      onConnected()
      this.#client = client
      this.#lastQuery = Promise.resolve()
      connected()
      await ended
    } finally {
      this.#client = undefined
      await client.end().catch(() => {})
    }
  }
}

function accessChangeOf(payload: string): AccessChange {
  const [tenantId = '', version] = payload.split(' ')
  return { tenantId, version: version === undefined ? undefined : Number(version) }
}
