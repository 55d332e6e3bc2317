import { client, overHttp } from '@millwright/api/client.ts'
import { Problem } from '@millwright/api/problem.ts'
import { remoteAccess, remoteAccessLimits, type StreamKind } from '@millwright/api/remote-access.ts'
import { type StreamHeader, StreamRefusal, type StreamTarget } from '@millwright/api/tunnel/stream-header.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import { describeAssets, mayConnect } from './assets.ts'
import { ForwardedStream, openPeerSocket, processUnreachable } from './forwarded-stream.ts'
import { missingSession } from './session-access.ts'
import { endedTopic, sessionsTopic } from './session-report.ts'
import type { SessionRow } from './session-store.ts'
import * as store from './session-store.ts'
import { trafficMs } from './session-time.ts'
import type { Tunnels } from './tunnels.ts'

/** The kind of a requested stream, with its parameters. */
export type StreamRequest =
  | { kind: 'tcp' }
  | { kind: 'terminal'; columns: number; rows: number }
  | { kind: 'file-list' | 'file-download' | 'file-upload'; path: string }

/** A stream of a session: bytes in both directions and JSON messages, in this process or through another one. */
export type SessionStream = TunnelStream | ForwardedStream

/** The streams of one session in this process. */
type OpenSession = {
  tenantId: string
  id: string
  streams: Set<TunnelStream>
  /** Whether the session has ended while a stream was being opened. */
  isEnded: boolean
  /** The bytes of ended streams, and the number of ended streams, that are not stored yet. */
  sentBytes: number
  receivedBytes: number
  endedStreams: number
  activeAt: number
  /** The bytes of each stream that are stored. */
  counted: Map<TunnelStream, { sentBytes: number; receivedBytes: number }>
  storing: Promise<void>
}

/** The interval at which the process reads which sessions have ended in other processes. */
const pollMs = 1_000

/** The time in which a gateway must answer whether its rules allow a target. */
const checkMs = 5_000

/**
 * `SessionStreams` opens the streams of sessions. The process that holds the tunnel of the gateway opens the stream, counts
 * it and its bytes. Other processes forward their streams to that process. When a session ends, its streams end at once: a
 * commit of this process ends them immediately, and a poll finds the ends in other processes.
 */
export class SessionStreams {
  readonly #context: Context
  readonly #tunnels: Tunnels
  readonly #sessions = new Map<string, OpenSession>()
  #poll: NodeJS.Timeout | undefined
  #traffic: NodeJS.Timeout | undefined
  #isPolling = false

  constructor(context: Context, tunnels: Tunnels) {
    this.#context = context
    this.#tunnels = tunnels
    context.database.onCommit(({ topics }) => {
      for (const topic of topics) if (topic.startsWith(endedTopic)) this.#end(topic.slice(endedTopic.length))
    })
    context.stopping.addEventListener('abort', () => {
      clearInterval(this.#poll)
      clearInterval(this.#traffic)
    })
  }

  /**
   * Checks that a caller can open a stream of a session now. `isProxy` is true for streams of the web proxy, which records
   * the requests itself.
   */
  async require(
    row: SessionRow,
    { caller, kind, isProxy = false }: { caller: Caller; kind: StreamKind; isProxy?: boolean },
  ): Promise<void> {
    if (row.principalId !== caller.principal.id) throw missingSession(row.id)
    const asset = (await describeAssets(this.#context, caller, [row.assetId])).get(row.assetId)
    if (asset === undefined || asset.isDeleted || !mayConnect(caller, asset)) throw missingSession(row.id)
    requireOpen(row)
    if (kind !== 'tcp' && row.service !== 'ssh')
      throw new Problem('conflict', `A session for ${row.service} has no terminal and no files. Open a session for ssh`)
    if (kind !== 'tcp' || isProxy || row.recording === 'none' || row.service === 'tcp') return
    if (row.service !== 'ssh' && row.recording !== 'all') return
    throw new Problem(
      'forbidden',
      `Sessions of this access group are recorded, so a ${row.service} session has no plain TCP connection. Use the ${row.service === 'ssh' ? 'terminal' : 'web page'} of the session`,
    )
  }

  /** Opens a stream of a session. The caller has checked it with `require`. */
  async openStream(
    row: SessionRow,
    request: StreamRequest,
    who: Caller,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<SessionStream> {
    const owner = { tenantId: who.tenantId, gatewayId: row.gatewayId }
    if (this.#tunnels.find(owner) !== undefined) return this.openHere(row, request, who, { signal })
    const elsewhere = await this.#tunnels.findElsewhere(owner)
    if (elsewhere === undefined || who.byPeer === true) throw gatewayOffline(row.gatewayId)
    const socket = await openPeerSocket(this.#context, who, { url: elsewhere.processUrl, id: row.id, request })
    return new ForwardedStream(socket)
  }

  /** Returns the address of the process that holds the tunnel of a session, if it is another process. */
  async processOf(row: SessionRow, who: Caller): Promise<string | undefined> {
    const owner = { tenantId: who.tenantId, gatewayId: row.gatewayId }
    if (this.#tunnels.find(owner) !== undefined) return undefined
    const elsewhere = await this.#tunnels.findElsewhere(owner)
    if (elsewhere === undefined || who.byPeer === true) throw gatewayOffline(row.gatewayId)
    return elsewhere.processUrl
  }

  /** Opens a stream through a tunnel of this process. */
  async openHere(
    row: SessionRow,
    request: StreamRequest,
    { tenantId }: Pick<Caller, 'tenantId'>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<TunnelStream> {
    const tunnel = this.#tunnels.find({ tenantId, gatewayId: row.gatewayId })
    if (tunnel === undefined || tunnel.state === 'closed') throw gatewayOffline(row.gatewayId)
    const { database } = this.#context
    const now = new Date().toISOString()
    const limit = remoteAccessLimits.streamsPerSession
    const counted = await database.transaction({ tenantId }, (tx) => store.addStream(tx, row.id, limit, now))
    if (counted === undefined) {
      const current = await database.read({ tenantId }, (handle) => store.findSession(handle, row.id))
      requireOpen(current ?? row)
      throw new Problem('too_many_requests', `The session has ${limit} open streams, which is the limit. Close one`, {
        retryAfter: 1,
      })
    }
    const session = this.#sessionOf(tenantId, row.id)
    try {
      const stream = await tunnel.open(headerOf(counted, request), signal === undefined ? {} : { signal })
      session.streams.add(stream)
      session.counted.set(stream, { sentBytes: 0, receivedBytes: 0 })
      stream.once('close', () => this.#remove(session, stream))
      if (session.isEnded) stream.destroy(sessionEnded())
      return stream
    } catch (error) {
      session.endedStreams += 1
      await this.#store(session)
      throw error
    }
  }

  /** Asks the gateway whether its own rules allow the target of a session. */
  async check(caller: Caller, gatewayId: string, target: StreamTarget): Promise<void> {
    const owner = { tenantId: caller.tenantId, gatewayId }
    const tunnel = this.#tunnels.find(owner)
    if (tunnel !== undefined) {
      const signal = AbortSignal.timeout(checkMs)
      const stream = await tunnel.open({ ...target, kind: 'check' }, { signal }).catch((error: unknown) => {
        throw signal.aborted ? gatewayOffline(gatewayId) : problemOfRefusal(error, gatewayId)
      })
      stream.destroy()
      return
    }
    const elsewhere = caller.byPeer === true ? undefined : await this.#tunnels.findElsewhere(owner)
    if (elsewhere === undefined) throw gatewayOffline(gatewayId)
    const authorization = await this.#context.peerAuthorization(caller)
    const send = overHttp({ baseUrl: elsewhere.processUrl, fetch: this.#context.peerConnections.fetch })
    const peer = client(remoteAccess, (contract, name, input) =>
      send(contract, name, { ...input, headers: { ...input.headers, authorization } }),
    )
    await peer.checkTarget({ params: { gatewayId }, body: { data: target } }).catch((error: unknown) => {
      throw error instanceof Problem ? error : processUnreachable(error)
    })
  }

  #sessionOf(tenantId: string, id: string): OpenSession {
    const session = this.#sessions.get(id) ?? {
      tenantId,
      id,
      streams: new Set(),
      isEnded: false,
      sentBytes: 0,
      receivedBytes: 0,
      endedStreams: 0,
      activeAt: Date.now(),
      counted: new Map(),
      storing: Promise.resolve(),
    }
    this.#sessions.set(id, session)
    if (!this.#context.stopping.aborted) {
      this.#poll ??= setInterval(() => void this.#findEnded(), pollMs).unref()
      this.#traffic ??= setInterval(() => void this.#storeTraffic(), trafficMs).unref()
    }
    return session
  }

  #remove(session: OpenSession, stream: TunnelStream): void {
    this.#count(session, stream)
    session.streams.delete(stream)
    session.counted.delete(stream)
    session.endedStreams += 1
    void this.#store(session)
  }

  /** Adds the bytes of a stream since the last count. */
  #count(session: OpenSession, stream: TunnelStream): void {
    const counted = session.counted.get(stream)
    if (counted === undefined) return
    const sent = stream.sentBytes - counted.sentBytes
    const received = stream.receivedBytes - counted.receivedBytes
    if (sent > 0 || received > 0) session.activeAt = Date.now()
    session.sentBytes += sent
    session.receivedBytes += received
    session.counted.set(stream, { sentBytes: stream.sentBytes, receivedBytes: stream.receivedBytes })
  }

  /** Stores the bytes and the ended streams of a session. If this fails, the next call stores them. */
  #store(session: OpenSession): Promise<void> {
    session.storing = session.storing.then(async () => {
      const { sentBytes, receivedBytes, endedStreams, activeAt, tenantId, id } = session
      if (sentBytes > 0 || receivedBytes > 0 || endedStreams > 0) {
        session.sentBytes = 0
        session.receivedBytes = 0
        session.endedStreams = 0
        const traffic = { sentBytes, receivedBytes, endedStreams, activeAt: new Date(activeAt).toISOString() }
        try {
          await this.#context.database.transaction({ tenantId }, async (tx) => {
            await store.addTraffic(tx, id, traffic)
            // The task of sessions can close an ended session when its last stream is stored.
            if (endedStreams > 0 && session.streams.size === 0) tx.signal(sessionsTopic)
          })
        } catch (error) {
          session.sentBytes += sentBytes
          session.receivedBytes += receivedBytes
          session.endedStreams += endedStreams
          this.#context.log.warn({ error, session: id }, 'The bytes of a remote session could not be stored')
          return
        }
      }
      const isEmpty = session.streams.size === 0 && session.endedStreams === 0
      if (isEmpty && this.#sessions.get(id) === session) this.#sessions.delete(id)
    })
    return session.storing
  }

  async #storeTraffic(): Promise<void> {
    for (const session of [...this.#sessions.values()]) {
      for (const stream of session.streams) this.#count(session, stream)
      await this.#store(session)
    }
  }

  /** Ends the streams of sessions that other processes ended. */
  async #findEnded(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    try {
      const byTenant = Map.groupBy(this.#sessions.values(), ({ tenantId }) => tenantId)
      for (const [tenantId, sessions] of byTenant) {
        const ids = sessions.filter(({ streams }) => streams.size > 0).map(({ id }) => id)
        if (ids.length === 0) continue
        const ended = await this.#context.database.read({ tenantId }, (handle) => store.endedAmong(handle, ids))
        for (const id of ended) this.#end(id)
      }
    } catch (error) {
      this.#context.log.warn({ error }, 'The ended remote sessions could not be read')
    } finally {
      this.#isPolling = false
    }
  }

  #end(id: string): void {
    const session = this.#sessions.get(id)
    if (session === undefined) return
    session.isEnded = true
    for (const stream of [...session.streams]) stream.destroy(sessionEnded())
  }
}

function sessionEnded(): StreamRefusal {
  return new StreamRefusal({ code: 'session_ended', detail: 'The session has ended' })
}

function requireOpen({ state, endingDetail }: SessionRow): void {
  if (state === 'open') return
  const reason = endingDetail === null ? '' : `: ${endingDetail}`
  throw new Problem('conflict', `The session has the state ${state}${reason}. Only an open session has streams`)
}

export function gatewayOffline(gatewayId: string): Problem {
  return new Problem(
    'gateway_offline',
    `Gateway ${gatewayId} is not connected for remote access. Retry when it is connected`,
  )
}

/** Returns the header with which the gateway opens a stream. */
function headerOf(row: SessionRow, request: StreamRequest): StreamHeader {
  const target = { sessionId: row.id, assetId: row.assetId, address: row.address ?? '', port: row.port }
  if (request.kind !== 'terminal') return { ...target, ...request }
  return { ...target, ...request, hasCredential: row.credentialInstanceId !== null }
}

const refusalProblems = ['target_not_allowed', 'device_unreachable', 'host_key_changed'] as const

/** Returns the problem for a refusal of the gateway. */
export function problemOfRefusal(error: unknown, gatewayId: string): unknown {
  if (!(error instanceof StreamRefusal)) return error
  const code = refusalProblems.find((name) => name === error.code)
  if (code !== undefined) return new Problem(code, error.detail)
  if (error.code === 'busy') return new Problem('overloaded', error.detail, { retryAfter: 5 })
  return gatewayOffline(gatewayId)
}
