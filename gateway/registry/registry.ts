import { gatekeeperLimits, type LinkReport } from '@millwright/api/gatekeeper.ts'
import type { ServiceInfoFilter } from '@millwright/api/proto/generated/registry_pb.js'
import { readIfExists, writeDurably } from '../durable-file.ts'
import type { Log } from '../log.ts'
import type { GatewayTls, TlsPeer } from '../tls/gateway-tls.ts'
import { matches, type Registration, registrationLimits, sameRegistration } from './registration.ts'

type Entry = { registration: Registration; registeredAtMs: number }

export type RegistryChange =
  | { kind: 'registered'; registration: Registration; isChanged: boolean }
  | { kind: 'gone'; registration: Registration; why: 'unregistered' | 'expired' }

type Options = { file: string; log: Log; tls?: GatewayTls | undefined; now?: () => number }

const lifeMs = registrationLimits.lifeSeconds * 1000

/**
 * The delays before the file is written: `change` after a changed registration, and `refresh` after an unchanged one.
 * All registrations within the delay are written together.
 */
const writeAfterMs = { change: 100, refresh: 60_000 } as const

/**
 * `Registry` stores the registered links, also across restarts of the gateway. A registration that is not refreshed
 * expires.
 */
export class Registry {
  readonly #options: Options & { now: () => number }
  readonly #entries = new Map<string, Entry>()
  readonly #listeners: ((change: RegistryChange) => void)[] = []
  /** The tokens of the ids that are reserved for the processes of the gateway. */
  readonly #tokens = new Map<string, string>()
  #timer: { dueMs: number; handle: NodeJS.Timeout } | undefined
  #writing: Promise<void> = Promise.resolve()

  private constructor(options: Options) {
    this.#options = { now: Date.now, ...options }
  }

  static async open(options: Options): Promise<Registry> {
    const registry = new Registry(options)
    for (const stored of entriesFrom(await readIfExists(options.file))) {
      const entry = withPeer(stored, options.tls)
      if (entry === undefined) continue
      // If the clock of the machine was set back, the registration must not become valid for longer than its lifetime.
      const registeredAtMs = Math.min(entry.registeredAtMs, registry.#options.now())
      registry.#entries.set(entry.registration.appInstanceId, { ...entry, registeredAtMs })
    }
    registry.purge()
    options.tls?.onRevoked((peer) => registry.#removeRevoked(peer))
    return registry
  }

  onChange(listener: (change: RegistryChange) => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Reserves an id for a link that the gateway runs. From now on, only calls with the token can register or unregister it,
   * so no other program on the machine can take its place and receive its credentials.
   */
  reserve(appInstanceId: string, token: string): void {
    this.#tokens.set(appInstanceId, token)
  }

  /** Ends the reservation of an id. */
  release(appInstanceId: string): void {
    this.#tokens.delete(appInstanceId)
  }

  /** Returns whether the gateway runs the link with this id. */
  isReserved(appInstanceId: string): boolean {
    return this.#tokens.has(appInstanceId)
  }

  /** Returns whether a call with this token can register or unregister the id. */
  isAllowed(appInstanceId: string, token: string | undefined): boolean {
    const reserved = this.#tokens.get(appInstanceId)
    return reserved === undefined || reserved === token
  }

  /**
   * Returns why a caller cannot use the id of a link. A caller with a certificate can use only the name in it. A caller
   * without TLS cannot use the name of a certificate, so that it cannot take the place of a link on another machine.
   */
  certificateFault(appInstanceId: string, peer: TlsPeer | undefined): string | undefined {
    if (peer !== undefined && peer.name !== appInstanceId)
      return `The certificate is for the asset link ${peer.name}, so it cannot use the id ${appInstanceId}. Set the id with --instance ${peer.name}.`
    if (peer === undefined && this.#options.tls?.isCertified(appInstanceId) === true)
      return `The asset link ${appInstanceId} has a certificate, so it must use the TLS port of the gateway. Or revoke the certificate: millwright gateway certificate revoke ${appInstanceId}`
    return undefined
  }

  /** Registers a link. Returns false when the limit of links is reached. */
  register(registration: Registration): boolean {
    const before = this.#entries.get(registration.appInstanceId)
    if (before === undefined) this.purge()
    if (before === undefined && this.#entries.size >= gatekeeperLimits.linksPerGateway) return false
    const isChanged = before === undefined || !sameRegistration(before.registration, registration)
    this.#entries.set(registration.appInstanceId, { registration, registeredAtMs: this.#options.now() })
    if (before !== undefined && isChanged) {
      this.#options.log.info({ link: registration.appInstanceId }, 'link changed its registration')
    }
    this.#notify({ kind: 'registered', registration, isChanged })
    this.#writeIn(isChanged ? writeAfterMs.change : writeAfterMs.refresh)
    return true
  }

  /** Removes a link. Returns false when the link is not registered. */
  unregister(appInstanceId: string): boolean {
    const entry = this.#entries.get(appInstanceId)
    if (entry === undefined || this.#isExpired(entry)) return false
    this.#remove(entry, 'unregistered')
    return true
  }

  query(filter?: Pick<ServiceInfoFilter, 'appInstanceIds' | 'appTypes' | 'driverSchemaUris' | 'interfaces'>) {
    this.purge()
    return this.list().filter((registration) => matches(registration, filter))
  }

  list(): Registration[] {
    return [...this.#entries.values()].map(({ registration }) => registration)
  }

  find(appInstanceId: string): Registration | undefined {
    const entry = this.#entries.get(appInstanceId)
    return entry === undefined || this.#isExpired(entry) ? undefined : entry.registration
  }

  /**
   * Returns the time of a link's latest registration and the remaining lifetime of the registration, for the report to
   * the cloud.
   */
  validityOf(appInstanceId: string): LinkReport['registration'] {
    const entry = this.#entries.get(appInstanceId)
    if (entry === undefined) return undefined
    const restMs = entry.registeredAtMs + lifeMs - this.#options.now()
    const expiresInSeconds = Math.min(Math.max(Math.ceil(restMs / 1000), 0), registrationLimits.lifeSeconds)
    return { timestamp: new Date(entry.registeredAtMs).toISOString(), expiresInSeconds }
  }

  /** Removes the links whose registration has expired. */
  purge(): void {
    for (const entry of [...this.#entries.values()]) if (this.#isExpired(entry)) this.#remove(entry, 'expired')
  }

  async close(): Promise<void> {
    if (this.#timer === undefined) return this.#writing
    clearTimeout(this.#timer.handle)
    await this.#write()
  }

  #removeRevoked({ serial }: TlsPeer): void {
    for (const entry of [...this.#entries.values()])
      if (entry.registration.tls?.serial === serial) this.#remove(entry, 'unregistered')
  }

  #isExpired({ registeredAtMs }: Entry): boolean {
    return this.#options.now() > registeredAtMs + lifeMs
  }

  #remove({ registration }: Entry, why: 'unregistered' | 'expired'): void {
    this.#entries.delete(registration.appInstanceId)
    this.#options.log.info({ link: registration.appInstanceId, why }, 'link removed')
    this.#notify({ kind: 'gone', registration, why })
    this.#writeIn(writeAfterMs.change)
  }

  #notify(change: RegistryChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  #writeIn(ms: number): void {
    const dueMs = performance.now() + ms
    if (this.#timer !== undefined && this.#timer.dueMs <= dueMs) return
    if (this.#timer !== undefined) clearTimeout(this.#timer.handle)
    this.#timer = { dueMs, handle: setTimeout(() => void this.#write(), ms).unref() }
  }

  #write(): Promise<void> {
    this.#timer = undefined
    const { file, log } = this.#options
    this.#writing = this.#writing
      .then(() => writeDurably(file, JSON.stringify([...this.#entries.values()])))
      .catch((error: unknown) => log.error({ error }, 'the registry could not be written; it continues in memory'))
    return this.#writing
  }
}

/**
 * Returns the entries in the text of a file. Text that cannot be parsed counts as empty, because links register again
 * within a minute.
 */
function entriesFrom(text: string | undefined): Entry[] {
  try {
    const entries: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(entries) ? entries.filter(isEntry) : []
  } catch {
    return []
  }
}

/** Returns an entry of the file with its certificate. Returns undefined if the certificate is no longer valid. */
function withPeer(entry: Entry, tls: GatewayTls | undefined): Entry | undefined {
  const { tls: stored, ...registration } = entry.registration
  if (stored === undefined) return entry
  const peer = tls?.peer(stored)
  return peer === undefined ? undefined : { ...entry, registration: { ...registration, tls: peer } }
}

function isEntry(value: Partial<Entry> | null): value is Entry {
  const { registration, registeredAtMs } = value ?? {}
  return (
    typeof registeredAtMs === 'number' &&
    typeof registration?.appInstanceId === 'string' &&
    typeof registration.host === 'string' &&
    typeof registration.port === 'number' &&
    typeof registration.vendor === 'string' &&
    [registration.appTypes, registration.interfaces, registration.driverSchemaUris].every(Array.isArray)
  )
}
