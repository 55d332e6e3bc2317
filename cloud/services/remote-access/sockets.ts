import { credentials } from '@millwright/api/credentials.ts'
import { Problem } from '@millwright/api/problem.ts'
import { gatewayTunnelProtocol, remoteAccess, type StreamKind } from '@millwright/api/remote-access.ts'
import { type StreamMessage, StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { recordOutside } from '../../platform/audit/audit.ts'
import type { Socket } from '../../platform/http/socket.ts'
import type { Context, SocketHandlers } from '../../platform/service.ts'
import { openPeerSocket, openSocket } from './forwarded-stream.ts'
import { decideHostKey } from './host-keys.ts'
import { type Recorders, TerminalRecorder } from './recorder.ts'
import { missingSession } from './session-access.ts'
import { platformCaller } from './session-report.ts'
import { findSession, type SessionRow } from './session-store.ts'
import { problemOfRefusal, type SessionStreams, type StreamRequest } from './session-streams.ts'
import { bridge, closeCodes, forwardSocket, holdMessages } from './stream-bridge.ts'
import { type TerminalLock, TerminalLocks } from './terminal-locks.ts'
import type { Tunnels } from './tunnels.ts'

type Parts = { streams: SessionStreams; tunnels: Tunnels; recorders: Recorders }

type StreamQuery = { kind?: StreamKind; columns?: number; rows?: number; path?: string }

const defaultSize = { columns: 80, rows: 24 } as const

/** The handlers of the two WebSockets: the streams of clients, and the tunnels of gateways. */
export function socketHandlers(context: Context, parts: Parts): SocketHandlers<typeof remoteAccess> {
  const { database } = context
  const { streams, tunnels } = parts
  const terminals = new TerminalLocks()
  return {
    async openStream({ params: { id }, query }, caller) {
      const request = requestOf(query)
      const row = await database.read(caller, (handle) => findSession(handle, id))
      if (row === undefined) throw missingSession(id)
      await streams.require(row, { caller, kind: request.kind, isProxy: caller.byPeer === true })
      const url = await streams.processOf(row, caller)
      return (socket) => {
        const release = holdMessages(socket)
        const serving =
          url === undefined
            ? serve(context, { ...parts, terminals, socket, release, row, request, caller })
            : forward(context, { socket, release, row, request, caller, url })
        serving.catch((error: unknown) => refuse(context, socket, { error, row }))
      }
    },

    async openTunnel(_request, caller) {
      if (caller.principal.kind !== 'gateway') throw new Problem('forbidden', 'Only a gateway can open this tunnel')
      const owner = { tenantId: caller.tenantId, gatewayId: caller.principal.id }
      // After a short loss of the network, a gateway can reach another process than the one that holds its tunnel.
      const elsewhere =
        tunnels.find(owner) === undefined && caller.byPeer !== true ? await tunnels.findElsewhere(owner) : undefined
      const path = `${remoteAccess.prefix}${remoteAccess.operations.openTunnel.path}`
      const peer =
        elsewhere === undefined
          ? undefined
          : await openSocket(context, caller, {
              url: elsewhere.processUrl,
              path,
              protocol: gatewayTunnelProtocol,
            }).catch((error: unknown) => {
              context.log.info({ error, gateway: owner.gatewayId }, 'The former process of a tunnel is not reachable')
              return undefined
            })
      return (socket) => {
        if (peer === undefined) tunnels.accept(owner, socket.channel())
        else forwardSocket(socket, peer)
      }
    },
  }
}

function requestOf({ kind = 'tcp', columns, rows, path }: StreamQuery): StreamRequest {
  if (kind === 'tcp') return { kind }
  if (kind === 'terminal') return { kind, columns: columns ?? defaultSize.columns, rows: rows ?? defaultSize.rows }
  if (path !== undefined) return { kind, path }
  throw new Problem('invalid_query', `A stream of the kind ${kind} needs the parameter path`)
}

type Serving = Parts & {
  terminals: TerminalLocks
  socket: Socket
  /** Passes on the messages that arrived before the stream was open. */
  release: () => void
  row: SessionRow
  request: StreamRequest
  caller: Caller
}

/** Serves a stream through a tunnel of this process. */
async function serve(context: Context, serving: Serving): Promise<void> {
  const { socket, release, row, request, caller, streams, recorders, terminals } = serving
  const isTerminal = request.kind === 'terminal'
  const disconnected = new AbortController()
  const held = request.kind === 'tcp' ? undefined : recorders.of(caller, row)
  let lock: TerminalLock | undefined
  socket.once('close', () => {
    disconnected.abort()
    lock?.close()
  })
  try {
    if (held !== undefined && isTerminal) lock = await terminals.acquire(row.id)
    const stream = await streams.openHere(row, request, caller, { signal: disconnected.signal })
    stream.once('close', () => lock?.close())
    if (stream.closed) lock?.close()
    if (request.kind === 'file-upload' || request.kind === 'file-download')
      await recordOutside(context.database, caller, caller, {
        action: 'remote-access.openStream',
        target: `remote-session/${row.id}`,
        detail: { kind: request.kind, path: request.path, assetId: row.assetId },
      })
    const recorder = held && terminalRecorder(held.recorder, { row: await currentRow(context, caller, row), request })
    const bridged = bridge(socket, stream, {
      kind: request.kind,
      recorder: isTerminal ? recorder : undefined,
      refusesSsh: request.kind === 'tcp' && row.recording !== 'none',
      isStopping: () => context.stopping.aborted,
      onGatewayMessage: (message, answer) => gatewayMessage(context, { message, answer, row, caller }),
    })
    release()
    await bridged
    if (stream.errored instanceof StreamRefusal && stream.errored.code === 'authentication_failed')
      await recordUse(context, { row, caller, worked: false })
    await recorder?.end()
  } finally {
    lock?.release()
    await held?.release()
  }
}

async function currentRow({ database }: Context, { tenantId }: Caller, row: SessionRow): Promise<SessionRow> {
  return (await database.read({ tenantId }, (handle) => findSession(handle, row.id))) ?? row
}

function terminalRecorder(
  recorder: ConstructorParameters<typeof TerminalRecorder>[0],
  { row, request }: { row: SessionRow; request: StreamRequest },
): TerminalRecorder {
  const size = request.kind === 'terminal' ? request : defaultSize
  const recording = new TerminalRecorder(recorder, row, size)
  if (request.kind === 'terminal') recording.resize(request)
  else if (request.kind !== 'tcp') recording.marker(`${request.kind} ${request.path}`)
  return recording
}

type GatewayMessage = {
  message: StreamMessage
  answer: (message: StreamMessage) => void
  row: SessionRow
  caller: Caller
}

/** Handles a message of the gateway. The process decides about host keys itself. The client gets all other messages. */
async function gatewayMessage(
  context: Context,
  { message, answer, row, caller }: GatewayMessage,
): Promise<StreamMessage | undefined> {
  if (message.type === 'host-key') {
    const { algorithm, fingerprint } = message
    if (!isKeyText(algorithm) || !isKeyText(fingerprint))
      throw new StreamRefusal({ code: 'device_unreachable', detail: 'The gateway sent a host key that is not valid' })
    const { isAccepted, isNew, detail } = await decideHostKey(context, caller, { row, key: { algorithm, fingerprint } })
    answer({ type: 'host-key-decision', isAccepted, isNew })
    if (isAccepted) return { type: 'host-key', algorithm, fingerprint, isNew }
    throw new StreamRefusal({ code: 'host_key_changed', detail: detail ?? 'The host key of the device changed' })
  }
  if (message.type === 'signed-in') await recordUse(context, { row, caller, worked: true })
  return message
}

/** Returns true for the name of an algorithm or a fingerprint: printable ASCII characters without spaces. */
function isKeyText(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value)
}

/** Records whether the chosen credential of a session opened the device. */
async function recordUse(
  context: Context,
  { row, caller, worked }: { row: SessionRow; caller: Caller; worked: boolean },
): Promise<void> {
  const { credentialInstanceId: instanceId, gatewayId, jobId, assetId, address } = row
  if (instanceId === null || address === null) return
  const system = await platformCaller(context, caller.tenantId)
  await context
    .peers(credentials, system)
    .recordUse({ body: { data: { gatewayId, jobId, uses: [{ assetId, address, instanceId, worked }] } } })
    .catch((error: unknown) =>
      context.log.warn({ error, session: row.id }, 'The use of the credential of a session could not be recorded'),
    )
}

type Forwarding = Pick<Serving, 'socket' | 'release' | 'row' | 'request' | 'caller'> & { url: string }

/** Serves a stream through the process that holds the tunnel of the gateway. */
async function forward(context: Context, { socket, release, row, request, caller, url }: Forwarding): Promise<void> {
  const peer = await openPeerSocket(context, caller, { url, id: row.id, request })
  forwardSocket(socket, peer)
  release()
}

/** Sends the client the reason why its stream could not be opened. */
function refuse(context: Context, socket: Socket, { error, row }: { error: unknown; row: SessionRow }): void {
  const problem = error instanceof StreamRefusal ? error : problemOfRefusal(error, row.gatewayId)
  const known = problem instanceof Problem || problem instanceof StreamRefusal
  if (!known) context.log.error({ error, session: row.id }, 'A stream of a remote session failed')
  const { code, message: detail } = known ? problem : { code: 'internal', message: 'The stream could not be opened' }
  socket.send(JSON.stringify({ type: 'error', code, detail }))
  socket.close(closeCodes.failed, detail)
}
