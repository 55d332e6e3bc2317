import { randomInt } from 'node:crypto'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import snmp from 'net-snmp'
import { Channel, type ChannelOptions, type Operation } from './channel.ts'
import { authProtocols, type Login, privProtocols, type UserLogin } from './login.ts'
import { parseMessageHeader, reportPdu } from './message-header.ts'
import { isOid } from './oid.ts'
import { SnmpError } from './snmp-error.ts'

/** `Varbind` is one value of a device. `value` is undefined at the end of the device's data. */
export type Varbind = { oid: string; value: VarbindValue }
export type VarbindValue = Buffer | string | number | undefined

export type SessionOptions = ChannelOptions & { timeoutMs: number; signal: AbortSignal }

/** A request is sent at most this often, unless the caller repeats it. */
const usualAttempts = 2

/** The maximum number of datagrams for one request: engine discovery, request, and request after a time report. */
const datagramsPerAttempt = 3

/** The longest time of the library's own timer, which counts pauses of this process. The session ends requests itself. */
const libraryTimeoutMs = 2 ** 31 - 1

type Answer = (snmp.Varbind[] | snmp.Varbind)[] | undefined
type Respond = (error: unknown, varbinds?: Answer) => void

/**
 * `Session` reads values of one device with one login. It reads one request at a time, repeats a request once if there
 * is no answer, and never writes.
 */
export class Session implements Disposable {
  readonly version: Login['version']
  readonly #channel: Channel
  readonly #session: snmp.Session
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.#fail(this.#signal.reason)
  #operation: Operation = 'Get'
  #datagrams = 0
  #failure: unknown
  /** True when a datagram was not an SNMP message, until the next valid answer. */
  #isMalformed = false
  /** True when an agent of version 3 has answered, also to the engine discovery. */
  #hasAnswered = false
  /** True when a request has been answered with values. */
  #hasData = false
  readonly #timeoutMs: number
  #pending: ((error: unknown) => void) | undefined
  /** The time limit for an answer to the last datagram. */
  #timer: Disposable | undefined

  constructor(login: Login, { timeoutMs, signal, ...options }: SessionOptions) {
    this.version = login.version
    this.#timeoutMs = timeoutMs
    this.#signal = signal
    this.#channel = new Channel(options)
    this.#channel.onFailure = (error) => this.#fail(error)
    this.#channel.operationOf = () => this.#nextOperation()
    this.#channel.onSent = () => this.#startTimer()
    this.#session = openSession(login, { channel: this.#channel, ...options })
    if (login.version === '3') this.#channel.accepts = (message) => this.#isSecure(message)
    this.#session.on('error', () => {
      this.#isMalformed = true
    })
    signal.addEventListener('abort', this.#onAbort, { once: true })
    if (signal.aborted) this.#onAbort()
  }

  /** Reads the values with these OIDs. A value that the device does not have is undefined. */
  get(oids: readonly string[]): Promise<Varbind[]> {
    return this.#request('Get', (respond) => this.#session.get([...oids], respond)).then(first)
  }

  /** Reads the value after each of these OIDs. */
  getNext(oids: readonly string[], { attempts = usualAttempts } = {}): Promise<Varbind[]> {
    const send = (respond: Respond) => this.#session.getNext([...oids], respond)
    return this.#request('GetNext', send, attempts).then(first)
  }

  /** Reads up to `repetitions` values after each of these OIDs. */
  getBulk(oids: readonly string[], repetitions: number): Promise<Varbind[][]> {
    return this.#request('GetBulk', (respond) => this.#session.getBulk([...oids], 0, repetitions, respond))
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#stopTimer()
    this.#channel.close()
  }

  async #request(
    operation: Operation,
    send: (respond: Respond) => void,
    attempts = usualAttempts,
  ): Promise<Varbind[][]> {
    this.#operation = operation
    for (let attempt = 1; ; attempt += 1) {
      try {
        const varbinds = varbindsOf(await this.#attempt(send))
        this.#hasData = true
        this.#isMalformed = false
        return varbinds
      } catch (error) {
        if (!(error instanceof SnmpError && error.isTimeout && attempt < attempts)) throw error
      }
    }
  }

  #attempt(send: (respond: Respond) => void): Promise<Answer> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#pending = reject
    this.#datagrams = 0
    send((error, varbinds) => (error ? reject(this.#errorOf(error)) : resolve(varbinds)))
    return promise.finally(() => {
      this.#pending = undefined
      this.#stopTimer()
    })
  }

  /** Starts the time limit for the answer to a datagram. The time in which a datagram waits for its permit does not count. */
  #startTimer(): void {
    this.#stopTimer()
    this.#timer = startTimer(this.#timeoutMs, () => {
      const error = this.#silence()
      this.#pending?.(error)
      // The library forgets the request, so that it ignores a late answer.
      this.#session.cancelRequests(error)
    })
  }

  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]()
  }

  /** Ends the session. The socket is closed, and the running request and all later requests fail with this error. */
  #fail(error: unknown): void {
    this.#failure ??= error
    this.#channel.close()
    this.#pending?.(this.#failure)
  }

  /** Version 3 starts with an engine discovery. The library sends it, and repeats requests after time reports. */
  #nextOperation(): Operation {
    this.#stopTimer()
    this.#datagrams += 1
    if (this.#datagrams > datagramsPerAttempt) throw new SnmpError('faulty', 'rejects the time of every request')
    return this.version === '3' && !this.#hasAnswered ? 'EngineDiscovery' : this.#operation
  }

  /** Answers to authenticated requests must be authenticated and encrypted. Only reports may be plain text. */
  #isSecure(message: Buffer): boolean {
    const header = parseMessageHeader(message)
    if (header === undefined) this.#isMalformed = true
    if (header === undefined) return false
    this.#hasAnswered = true
    return (header.isAuthenticated && header.isEncrypted) || header.pduType === reportPdu
  }

  #errorOf(error: unknown): unknown {
    // Closing the channel cancels the running request, so the reason for closing it is the error.
    if (this.#failure !== undefined) return this.#failure
    if (error instanceof SnmpError || error instanceof PermitRefusedError) return error
    if (error instanceof snmp.RequestFailedError) {
      return new SnmpError('status', `answers with the error ${error.message}`, { status: Number(error.status) })
    }
    if (error instanceof snmp.ResponseInvalidError) return invalidAnswer(error)
    return new SnmpError('faulty', 'sends answers that are not valid SNMP messages')
  }

  #silence(): SnmpError {
    if (this.#isMalformed)
      return new SnmpError('faulty', 'sends answers that are not valid SNMP messages', { isTimeout: true })
    if (this.#hasAnswered && !this.#hasData) {
      return new SnmpError('rejected', 'does not answer to the user, so a password or a protocol is probably wrong', {
        isTimeout: true,
      })
    }
    return new SnmpError('silent', 'does not answer', { isTimeout: true })
  }
}

function invalidAnswer({ code, message }: snmp.ResponseInvalidError): SnmpError {
  const codes = snmp.ResponseInvalidCode
  const isRejected = code === codes.EAuthFailure || code === codes.ECouldNotDecrypt
  return isRejected
    ? new SnmpError('rejected', rejectionText(message))
    : new SnmpError('faulty', 'sends answers that do not fit the requests')
}

/** The library reports the counters of RFC 3414 as English texts. Digests and keys are not repeated. */
function rejectionText(message: string): string {
  if (/^Unknown User Name/.test(message)) return 'does not know the user'
  if (/^Wrong Digest|^Authentication digest/.test(message)) {
    return 'rejects the authentication password or the authentication protocol'
  }
  if (/^Decryption Error|^Failed to decrypt/.test(message)) {
    return 'rejects the privacy password or the privacy protocol'
  }
  if (/^Unsupported Security Level/.test(message)) return 'does not allow authentication and privacy for the user'
  return 'rejects the credentials'
}

type Opening = Pick<SessionOptions, 'address' | 'port'> & { channel: Channel }

function openSession(login: Login, { channel, address, port }: Opening): snmp.Session {
  const options = { port, timeout: libraryTimeoutMs, retries: 0, dgramModule: { createSocket: () => channel } }
  if (login.version === '3') {
    return snmp.createV3Session(address, userOf(login), { ...options, context: login.contextName })
  }
  const version = login.version === '1' ? snmp.Version1 : snmp.Version2c
  return snmp.createSession(address, login.community, { ...options, version })
}

function userOf({ user, authProtocol, authPassword, privProtocol, privPassword }: UserLogin): snmp.User {
  return {
    name: user,
    level: snmp.SecurityLevel.authPriv,
    authProtocol: authProtocols[authProtocol],
    authKey: authPassword,
    privProtocol: privProtocols[privProtocol],
    privKey: privPassword,
  }
}

function first(rows: Varbind[][]): Varbind[] {
  return rows.map(([varbind]) => varbind as Varbind)
}

/** Returns the values of an answer, one list for each requested OID. */
function varbindsOf(answer: Answer): Varbind[][] {
  return (answer ?? []).map((one) => (Array.isArray(one) ? one.map(varbindOf) : [varbindOf(one)]))
}

function varbindOf({ oid, type, value }: snmp.Varbind): Varbind {
  if (!isOid(oid)) throw new SnmpError('faulty', 'sends answers with an invalid OID')
  const { NoSuchObject, NoSuchInstance, EndOfMibView } = snmp.ObjectType
  const isMissing = type === NoSuchObject || type === NoSuchInstance || type === EndOfMibView
  const isValue = Buffer.isBuffer(value) || typeof value === 'string' || typeof value === 'number'
  // A value of another type is kept as an empty text, because a walk continues after it.
  if (isMissing) return { oid, value: undefined }
  return { oid, value: isValue ? value : '' }
}

/**
 * Sends one engine discovery of version 3, which needs no user. Returns the engine id, or undefined if there is no agent
 * of version 3.
 */
export async function discoverEngine({ timeoutMs, signal, ...options }: SessionOptions): Promise<Buffer | undefined> {
  using channel = new Channel(options)
  channel.operationOf = () => 'EngineDiscovery'
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>()
  const id = randomInt(0x0100_0000, 0x7fff_ffff)
  channel.onFailure = () => resolve(undefined)
  channel.on('message', (message: Buffer) => {
    const header = parseMessageHeader(message)
    if (header?.messageId === id && header.pduType === reportPdu) resolve(header.engineId)
  })
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  let timer: Disposable | undefined
  channel.onSent = () => {
    timer = startTimer(timeoutMs, () => resolve(undefined))
  }
  try {
    channel.transmit(engineDiscovery(id)).catch((error: unknown) => {
      if (error instanceof SnmpError) resolve(undefined)
      else reject(error)
    })
    return await promise
  } finally {
    timer?.[Symbol.dispose]()
    signal.removeEventListener('abort', onAbort)
  }
}

/** Returns the message of RFC 3414 section 4: an empty Get, without a user and without an engine id. */
function engineDiscovery(id: number): Buffer {
  const number = id.toString(16).padStart(8, '0')
  const globals = `30110204${number}020300ffe3040104020103`
  const security = '0410300e0400020100020100040004000400'
  const scopedPdu = `301404000400a00e0204${number}0201000201003000`
  return Buffer.from(`303e020103${globals}${security}${scopedPdu}`, 'hex')
}

/** Removes the keys that the SNMP library derived from passwords, so that its memory does not grow with each scan. */
export function forgetKeys(): void {
  const { Authentication } = snmp as unknown as { Authentication: { authToKeyCache: Record<string, unknown> } }
  Authentication.authToKeyCache = {}
}
