import type { LookupAddress } from 'node:dns'
import { lookup as lookupName } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls'
import { Problem } from '@millwright/api/problem.ts'
import { LruMap } from 'toad-cache'
import type { Agent, buildConnector, Pool } from 'undici'
import {
  canonicalAddress,
  isIn,
  loopback,
  type OutboundEntry,
  outboundEntry,
  specialAddresses,
} from './outbound-entry.ts'
import { undici } from './undici.ts'

/** The limits of one request to another system, unless the caller sets others. */
const limits = { bodyBytes: 1024 * 1024, requestMs: 10_000, connectionsPerHost: 32 }

/** The maximum number of private authorities whose parsed certificates stay in memory. */
const parsedAuthorities = 100

export type OutboundInit = Omit<RequestInit, 'redirect' | 'body'> & {
  body?: string | URLSearchParams | Uint8Array<ArrayBuffer> | null
  /** Accepted for compatibility with clients that set it. Redirects are never followed. */
  redirect?: RequestInit['redirect']
  /** The maximum size of the body of the response, after decompression. */
  maxBytes?: number
  /** How long the request may take, with its response. */
  timeoutMs?: number
  /** True if the body is a stream of any size. The time limit then ends with the headers of the response. */
  isStream?: boolean
}

export type PoolOptions = {
  /** PEM certificates that replace the public authorities. */
  certificateAuthority: string | null
  /** The maximum number of connections. */
  connections: number
}

type Options = {
  /** The values of MILLWRIGHT_OUTBOUND_ALLOW. */
  allow: readonly string[]
  /** Resolves the addresses of a name. Tests replace it. */
  lookup?: (hostname: string) => Promise<readonly LookupAddress[]>
}

/** `secureScheme` is the scheme with TLS: https, unless the target is an MQTT broker. */
type Target = { hostname: string; port: number; isEncrypted: boolean; secureScheme?: 'mqtts' }

export type BrokerOptions = {
  /** PEM certificates that replace the public authorities. */
  certificateAuthority: string | null
  signal: AbortSignal
}

/**
 * `Outbound` makes the connections of the platform to other systems: identity providers, object stores, receivers of
 * webhooks and MQTT brokers. The list MILLWRIGHT_OUTBOUND_ALLOW of the installation names the permitted hosts and networks.
 * The addresses of a host are checked when a connection opens, and the connection uses the checked addresses. Redirects are
 * not followed. Proxies of the environment are not used.
 */
export class Outbound {
  /** The values of MILLWRIGHT_OUTBOUND_ALLOW. */
  readonly allowed: readonly string[]
  readonly #entries: readonly OutboundEntry[]
  readonly #lookup: (hostname: string) => Promise<readonly LookupAddress[]>
  /** The lookups that are in progress, by name. */
  readonly #lookups = new Map<string, Promise<readonly LookupAddress[]>>()
  /** The connections of `fetch`, after its first request. */
  #agent: Agent | undefined
  /** The parsed certificates of private authorities. Parsing them for each connection would block the process. */
  readonly #authorities = new LruMap<SecureContext>(parsedAuthorities)

  constructor({ allow, lookup = (hostname) => lookupName(hostname, { all: true }) }: Options) {
    this.allowed = allow
    this.#entries = allow.map((text) => {
      const entry = outboundEntry(text)
      if (entry === undefined) throw new TypeError(`Invalid value of MILLWRIGHT_OUTBOUND_ALLOW: ${text}`)
      return entry
    })
    this.#lookup = lookup
  }

  /**
   * Throws a problem if the list does not permit the URL. A name that only a network of the list can permit passes: its
   * addresses are checked when the connection opens.
   */
  require(url: string | URL): void {
    this.#require(targetOf(url))
  }

  /**
   * Throws a problem if the list does not permit the URL now. A name that is not in the list is resolved, because only its
   * addresses can be permitted.
   */
  async check(url: string | URL): Promise<void> {
    await this.#check(targetOf(url))
  }

  /** Throws a problem if the list does not permit the MQTT broker at the URL now. The rules are those of `check`. */
  async checkBroker(url: string | URL): Promise<void> {
    await this.#check(brokerOf(url))
  }

  async #check(target: Target): Promise<void> {
    this.#require(target)
    if (isIP(target.hostname) !== 0 || this.#isNamed(target)) return
    const addresses = await this.#resolve(target.hostname).catch(() => [])
    this.#requireAddresses(
      target,
      addresses.map(({ address }) => address),
    )
  }

  #require(target: Target): void {
    if (isIP(target.hostname) !== 0) {
      this.#requireAddresses(target, [target.hostname])
      return
    }
    const isPossible = this.#isNamed(target) || this.#entries.some((entry) => isNetworkFor(entry, target.port))
    if (!isPossible) throw notAllowed(target)
    const isHttpPossible = this.#isNamedExactly(target) || (!this.#isNamed(target) && isPossible)
    if (!target.isEncrypted && !isHttpPossible) throw httpNotAllowed(target)
  }

  /** Sends a request to a permitted URL. */
  readonly fetch = async (
    url: string | URL,
    { maxBytes = limits.bodyBytes, timeoutMs = limits.requestMs, isStream = false, ...init }: OutboundInit = {},
  ): Promise<Response> => {
    this.require(url)
    const timeout = new AbortController()
    const late = new Error(`${new URL(url).host} did not respond within ${timeoutMs} ms`)
    const timer = setTimeout(() => timeout.abort(late), timeoutMs)
    const signal = init.signal == null ? timeout.signal : AbortSignal.any([init.signal, timeout.signal])
    try {
      const { fetch } = undici()
      const request = { ...init, signal, redirect: 'manual', dispatcher: this.#openAgent() } as Parameters<
        typeof fetch
      >[1]
      const response = await fetch(url, request)
      const { status, statusText } = response
      const headers = [...response.headers]
      const source = response.body as ReadableStream<Uint8Array<ArrayBuffer>> | null
      if (isStream) return new Response(source, { status, statusText, headers })
      const body = source === null ? null : await boundedBody(source, maxBytes)
      return new Response(body, { status, statusText, headers })
    } catch (error) {
      const cause = error instanceof TypeError ? error.cause : undefined
      throw cause instanceof Error ? cause : error
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * Returns a pool of connections to the origin of a URL. The list is checked for every connection. The pool has no time
   * limits for responses: the caller sets them and closes the pool.
   */
  pool(url: string | URL, { certificateAuthority, connections }: PoolOptions): Pool {
    const tls = this.#trust(certificateAuthority)
    return new (undici().Pool)(new URL(url).origin, {
      connect: (options, callback) => void this.#connect(options, callback, tls),
      connections,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    })
  }

  /**
   * Opens a connection to a permitted MQTT broker: TCP for mqtt, TLS for mqtts. The caller ends the connection. The
   * socket has a listener for errors, so that an error before the caller adds its own does not end the process.
   */
  async connectBroker(url: string | URL, { certificateAuthority, signal }: BrokerOptions): Promise<Socket> {
    const target = brokerOf(url)
    this.#require(target)
    const { hostname: host, port, isEncrypted } = target
    const addresses = await untilAborted(this.#resolve(host), signal)
    this.#requireAddresses(
      target,
      addresses.map(({ address }) => address),
    )
    const options = { host, port, lookup: fixedLookup(addresses), noDelay: true }
    const tls = { ...(isIP(host) === 0 ? { servername: host } : {}), ...this.#trust(certificateAuthority) }
    const socket = isEncrypted ? connectTls({ ...options, ...tls }) : connect(options)
    socket.on('error', () => {})
    try {
      await once(socket, isEncrypted ? 'secureConnect' : 'connect', { signal })
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  /** Closes the connections of `fetch`. */
  async close(): Promise<void> {
    await this.#agent?.destroy()
  }

  #openAgent(): Agent {
    this.#agent ??= new (undici().Agent)({
      connect: (options, callback) => void this.#connect(options, callback),
      connections: limits.connectionsPerHost,
      allowH2: false,
    })
    return this.#agent
  }

  /** Returns the TLS options with which only a private authority is trusted. Null: the public authorities. */
  #trust(certificateAuthority: string | null): { secureContext?: SecureContext } {
    if (certificateAuthority === null) return {}
    const before = this.#authorities.get(certificateAuthority)
    const secureContext = before ?? createSecureContext({ ca: certificateAuthority })
    if (before === undefined) this.#authorities.set(certificateAuthority, secureContext)
    return { secureContext }
  }

  async #connect(
    options: buildConnector.Options,
    callback: buildConnector.Callback,
    tls: { secureContext?: SecureContext } = {},
  ): Promise<void> {
    const isEncrypted = options.protocol === 'https:'
    const hostname = canonicalHost(options.hostname)
    const target = { hostname, port: Number(options.port || (isEncrypted ? 443 : 80)), isEncrypted }
    try {
      const addresses = await this.#resolve(hostname)
      this.#requireAddresses(
        target,
        addresses.map(({ address }) => address),
      )
      const connect = undici().buildConnector({
        ...tls,
        allowH2: false,
        timeout: limits.requestMs,
        lookup: fixedLookup(addresses),
      })
      connect(options, callback)
    } catch (error) {
      callback(error as Error, null)
    }
  }

  /**
   * Returns the addresses of a host. Connections that open at the same time share one lookup. The process runs only a few
   * lookups at a time, so a name server that does not respond would delay the connections to other hosts.
   */
  async #resolve(hostname: string): Promise<readonly LookupAddress[]> {
    const family = isIP(hostname)
    if (family !== 0) return [{ address: hostname, family }]
    const running = this.#lookups.get(hostname)
    if (running !== undefined) return running
    const lookup = this.#lookup(hostname).finally(() => this.#lookups.delete(hostname))
    this.#lookups.set(hostname, lookup)
    return lookup
  }

  /** Throws a problem unless the list permits all addresses. */
  #requireAddresses(target: Target, addresses: readonly string[]): void {
    const isNamed = this.#isNamed(target)
    const isNamedExactly = this.#isNamedExactly(target)
    if (addresses.length === 0) throw notAllowed(target)
    for (const address of addresses.map(canonicalAddress)) {
      const isLoopback = isIn(loopback, address)
      const containing = this.#entries.filter(
        (entry) => entry.kind === 'network' && portMatches(entry, target.port) && isIn(entry.network, address),
      )
      const isLocalhost = target.hostname === 'localhost' && isNamedExactly && isLoopback
      const isPermittedName = isNamed && !isIn(specialAddresses, address)
      if (containing.length === 0 && !isLocalhost && !isPermittedName)
        throw isNamed ? addressNotAllowed(target) : notAllowed(target)
      const isExact = isNamedExactly || containing.some((entry) => entry.kind === 'network' && entry.isAddress)
      if (!target.isEncrypted && !isExact && !isLoopback) throw httpNotAllowed(target)
    }
  }

  #isNamed({ hostname, port }: Target): boolean {
    return this.#entries.some(
      (entry) =>
        portMatches(entry, port) &&
        ((entry.kind === 'host' && entry.host === hostname) ||
          (entry.kind === 'domain' && hostname.endsWith(entry.suffix) && hostname.length > entry.suffix.length)),
    )
  }

  #isNamedExactly({ hostname, port }: Target): boolean {
    return this.#entries.some((entry) => portMatches(entry, port) && entry.kind === 'host' && entry.host === hostname)
  }
}

function portMatches({ port }: OutboundEntry, used: number): boolean {
  return port === undefined || port === used
}

function isNetworkFor(entry: OutboundEntry, port: number): boolean {
  return entry.kind === 'network' && portMatches(entry, port)
}

/** Returns the target of a URL. The URL parser has converted upper case, IDN and the numeric forms of IPv4. */
function targetOf(url: string | URL): Target {
  const { protocol, hostname, port, username, password } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new Problem('outbound_not_allowed', 'The platform connects only to URLs that start with https:// or http://')
  if (username !== '' || password !== '')
    throw new Problem('outbound_not_allowed', 'The URL contains a user name or password: remove them')
  const isEncrypted = protocol === 'https:'
  const defaultPort = isEncrypted ? 443 : 80
  return { hostname: canonicalHost(hostname), port: port === '' ? defaultPort : Number(port), isEncrypted }
}

/**
 * Returns the target of the URL of an MQTT broker. The URL parser converts upper case, IDN and the numeric forms of IPv4
 * only for schemes that it knows, so the host is read as part of an https URL.
 */
function brokerOf(url: string | URL): Target {
  const { protocol, port, host, href } = URL.canParse(url) ? new URL(url) : new URL('mqtt:')
  const isEncrypted = protocol === 'mqtts:'
  if (!isEncrypted && protocol !== 'mqtt:')
    throw new Problem('outbound_not_allowed', 'The URL of a broker starts with mqtts:// or mqtt://')
  const known = `https:${href.slice(protocol.length)}`
  if (host === '' || !URL.canParse(known)) throw new Problem('outbound_not_allowed', 'The URL names no valid host')
  const { hostname, username, password, pathname, search, hash } = new URL(known)
  if (username !== '' || password !== '')
    throw new Problem('outbound_not_allowed', 'The URL contains a user name or password: use userName and password')
  if (pathname !== '/' || search !== '' || hash !== '')
    throw new Problem(
      'outbound_not_allowed',
      'The URL of a broker contains only the host and the port: remove the rest',
    )
  const defaultPort = isEncrypted ? 8883 : 1883
  return {
    hostname: canonicalHost(hostname),
    port: port === '' ? defaultPort : Number(port),
    isEncrypted,
    secureScheme: 'mqtts',
  }
}

function canonicalHost(hostname: string): string {
  const plain = hostname.replace(/^\[|\]$/g, '')
  return isIP(plain) === 0 ? plain.toLowerCase().replace(/\.$/, '') : canonicalAddress(plain)
}

/** Returns a lookup with a fixed result, so that a name is not resolved a second time. */
function fixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_, options, callback) => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }
}

/** Returns the result of work that cannot be canceled. Rejects when the signal aborts. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  return promise
}

async function boundedBody(source: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`The response is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function shown({ hostname, port }: Target): string {
  return `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`
}

function notAllowed(target: Target): Problem {
  return new Problem(
    'outbound_not_allowed',
    `The installation does not allow connections to ${shown(target)}. Plant IT can add ${shown(target)} to the list in MILLWRIGHT_OUTBOUND_ALLOW`,
  )
}

function addressNotAllowed(target: Target): Problem {
  return new Problem(
    'outbound_not_allowed',
    `${shown(target)} has a loopback, link-local, multicast or reserved address. Plant IT can add the address itself, such as 127.0.0.1, to the list in MILLWRIGHT_OUTBOUND_ALLOW`,
  )
}

function httpNotAllowed(target: Target): Problem {
  const scheme = target.secureScheme ?? 'https'
  return new Problem(
    'outbound_not_allowed',
    `The installation allows only ${scheme} for ${shown(target)}. Use ${scheme}, or plant IT adds the exact host ${shown(target)} to the list in MILLWRIGHT_OUTBOUND_ALLOW`,
  )
}
