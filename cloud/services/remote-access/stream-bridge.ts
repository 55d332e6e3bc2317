import { type StreamMessage, StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import type { WebSocket } from 'ws'
import type { Socket } from '../../platform/http/socket.ts'
import { limits } from '../../platform/limits.ts'
import type { TerminalRecorder } from './recorder.ts'

/** The close codes of the WebSocket of a stream. */
export const closeCodes = { ended: 1000, failed: 4000, sessionEnded: 4001, restarts: 1012 } as const

/** After the device has ended its direction, the client has this time to end its own direction. */
const halfOpenMs = 2_000

export type BridgeOptions = {
  kind: string
  /** Records the output of a terminal. */
  recorder?: TerminalRecorder | undefined
  /** Whether the stream ends if the device answers with ssh, because a plain TCP connection would bypass the recording. */
  refusesSsh: boolean
  /**
   * Handles a message of the gateway. Returns the message for the client, or undefined if the client gets none. A message to
   * the gateway is sent with `answer`.
   */
  onGatewayMessage(message: StreamMessage, answer: (message: StreamMessage) => void): Promise<StreamMessage | undefined>
  /** Returns whether the process stops. */
  isStopping(): boolean
}

/** The maximum number of characters of a message of a client. */
const messageLength = 16_384
/** The maximum number of messages of a gateway that wait to be handled. A gateway that sends more loses the stream. */
const waitingMessages = 256
/** A server of ssh sends its version at the start of a line, which other lines can precede (RFC 4253 §4.2). */
const sshVersion = /(?:^|\n)SSH-/

/** The number of first bytes of a device in which its ssh version is searched. */
const sshSearchBytes = 4_096

/** The maximum number of answers in a message. */
const mostAnswers = 32

/** The messages that a client can send. Each function returns the message with its valid members only. */
const clientMessages: Readonly<Record<string, (message: StreamMessage) => StreamMessage | undefined>> = {
  answers({ answers }) {
    const isValid = Array.isArray(answers) && answers.every((one) => typeof one === 'string')
    return isValid && answers.length <= mostAnswers ? { type: 'answers', answers } : undefined
  },
  size: ({ columns, rows }) => (isSize(columns) && isSize(rows) ? { type: 'size', columns, rows } : undefined),
  end: () => ({ type: 'end' }),
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 1_000
}

/**
 * Connects the WebSocket of a client with a stream of the tunnel. Binary messages are bytes, text messages are JSON messages.
 * A slow side pauses the other one. The promise resolves when both are closed.
 */
export function bridge(socket: Socket, stream: TunnelStream, options: BridgeOptions): Promise<void> {
  const { recorder } = options
  const sendMessage = (message: StreamMessage) => socket.send(JSON.stringify(message))
  /** The messages of the gateway are handled in order. */
  let handled: Promise<void> = Promise.resolve()
  const fail = ({ code, detail }: { code: string; detail: string }) => {
    if (options.isStopping()) {
      socket.close(closeCodes.restarts, 'The server restarts')
      return
    }
    sendMessage({ type: 'error', code, detail })
    socket.close(code === 'session_ended' ? closeCodes.sessionEnded : closeCodes.failed, detail)
  }

  /**
   * The input of an upload that waits for the sign-in at the device. Before the sign-in, the gateway needs the decision
   * about the host key, which would wait behind the bytes of the upload and could not follow their end.
   */
  let waiting: (Buffer | 'end')[] | undefined = options.kind === 'file-upload' ? [] : undefined
  const input = (item: Buffer | 'end') => {
    if (waiting !== undefined) {
      waiting.push(item)
      socket.pause()
    } else if (item === 'end') stream.end()
    else if (!stream.write(item)) socket.pause()
  }
  const releaseInput = () => {
    const items = waiting ?? []
    waiting = undefined
    socket.resume()
    for (const item of items) input(item)
  }

  const resized = (size: { columns: number; rows: number }) => {
    if (recorder?.resize(size) !== false) return
    socket.pause()
    void recorder.flush().then(() => socket.resume())
  }

  socket.on('message', (message) => {
    if (typeof message !== 'string') {
      input(message)
      return
    }
    const parsed = parsedMessage(message)
    if (parsed === undefined) {
      fail({ code: 'invalid_message', detail: 'The text message is not a valid message of a stream' })
      stream.destroy()
      return
    }
    if (parsed.type === 'end') input('end')
    else {
      if (parsed.type === 'size') resized({ columns: Number(parsed.columns), rows: Number(parsed.rows) })
      if (!stream.sendMessage(parsed)) socket.pause()
    }
  })
  stream.on('drain', () => socket.resume())
  socket.on('drain', () => stream.resume())
  let firstBytes = options.refusesSsh ? '' : undefined
  stream.on('data', (chunk: Buffer) => {
    if (firstBytes !== undefined) {
      firstBytes += chunk.toString('latin1', 0, sshSearchBytes - firstBytes.length)
      if (sshVersion.test(firstBytes)) {
        stream.destroy(sshNotRecorded())
        return
      }
      if (firstBytes.length >= sshSearchBytes) firstBytes = undefined
    }
    const isRecorded = recorder?.output(chunk) ?? true
    if (!socket.send(chunk)) stream.pause()
    if (isRecorded) return
    stream.pause()
    void recorder?.flush().then(() => stream.resume())
  })
  let waitingCount = 0
  stream.on('message', (message: StreamMessage) => {
    waitingCount += 1
    if (waitingCount > waitingMessages) {
      stream.destroy(new StreamRefusal({ code: 'busy', detail: 'The gateway sent too many messages at once' }))
      return
    }
    handled = handled.then(async () => {
      if (waitingCount > waitingMessages) return
      const forClient = await options.onGatewayMessage(message, (answer) => stream.sendMessage(answer))
      if (forClient !== undefined) sendMessage(forClient)
      if (message.type === 'signed-in' && waiting !== undefined) releaseInput()
      waitingCount -= 1
    })
    handled.catch((error: unknown) => stream.destroy(error as Error))
  })
  stream.on('end', () => {
    void handled
      .catch(() => {})
      .then(() => {
        if (options.kind !== 'tcp' || stream.writableEnded) {
          stream.end()
          socket.close(closeCodes.ended)
          return
        }
        sendMessage({ type: 'end' })
        setTimeout(() => {
          stream.end()
          socket.close(closeCodes.ended)
        }, halfOpenMs).unref()
      })
  })
  const refusalOf = (error: Error) =>
    error instanceof StreamRefusal ? error : { code: 'internal', detail: 'The stream failed' }
  stream.on('error', (error) => {
    // A changed host key ends the session, which ends the stream first. The client gets the explanation.
    void handled.then(
      () => fail(refusalOf(error)),
      (refusal: Error) => fail(refusalOf(refusal)),
    )
  })
  socket.on('close', () => stream.destroy())
  if (stream.closed) {
    // The gateway accepted the stream and ended it at once. Its events are over.
    if (stream.errored !== null) fail(refusalOf(stream.errored))
    else socket.close(closeCodes.ended)
    return Promise.resolve()
  }
  return new Promise((resolve) => {
    stream.on('close', () => {
      void handled
        .catch(() => {})
        .then(() => {
          socket.close(closeCodes.ended)
          resolve()
        })
    })
  })
}

function sshNotRecorded(): StreamRefusal {
  return new StreamRefusal({
    code: 'forbidden',
    detail: 'Terminals of this access group are recorded, and the device answers with ssh. Open a session for ssh',
  })
}

function parsedMessage(text: string): StreamMessage | undefined {
  try {
    const message = text.length > messageLength ? { type: '' } : (JSON.parse(text) as StreamMessage)
    return Object.hasOwn(clientMessages, message.type) ? clientMessages[message.type]?.(message) : undefined
  } catch {
    return undefined
  }
}

/** The close codes that the sender of a close frame can use (RFC 6455 §7.4). */
function validCode(code: number): number {
  return code === 1000 || code === 1003 || (code >= 1007 && code <= 1014) || code >= 3_000 ? code : 1011
}

/**
 * Holds the messages that a client sends before its stream is open. A paused WebSocket can still deliver messages that it has
 * received. The returned function passes them to the listeners that were added in the meantime, in order.
 */
export function holdMessages(socket: Socket): () => void {
  const held: (Buffer | string)[] = []
  const hold = (message: Buffer | string) => held.push(message)
  socket.on('message', hold)
  socket.pause()
  return () => {
    socket.off('message', hold)
    socket.resume()
    for (const message of held) socket.emit('message', message)
  }
}

/** Connects the WebSocket of a client with the WebSocket of another process, message by message. */
export function forwardSocket(socket: Socket, peer: WebSocket): void {
  peer.on('message', (data, isBinary) => {
    if (!socket.send(isBinary ? (data as Buffer) : String(data))) peer.pause()
  })
  socket.on('drain', () => peer.resume())
  socket.on('message', (message) => {
    peer.send(message, () => {
      if (peer.bufferedAmount < limits.streamBytes) socket.resume()
    })
    if (peer.bufferedAmount >= limits.streamBytes) socket.pause()
  })
  peer.on('close', (code, reason) => socket.close(validCode(code), String(reason)))
  peer.on('error', () => socket.close(closeCodes.failed, 'The connection to another process was lost'))
  socket.on('close', (code, reason) => {
    if (peer.readyState === peer.OPEN) peer.close(validCode(code), reason)
    setTimeout(() => peer.terminate(), limits.socketCloseMs).unref()
  })
  peer.resume()
}
