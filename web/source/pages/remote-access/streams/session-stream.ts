import { operations } from 'virtual:operations'
import { type StreamKind, tunnelProtocol } from '@millwright/api/remote-access.ts'
import { useCallback } from 'react'
import { useApi } from '../../../app/session/app-context.tsx'
import { parseStreamMessage, type StreamClose, type StreamMessage } from './stream-message.ts'

export type StreamQuery = { kind: StreamKind; columns?: number; rows?: number; path?: string }

type StreamHandlers = {
  onOpen?(): void
  onBytes?(bytes: Uint8Array<ArrayBuffer>): void
  onMessage?(message: StreamMessage): void
  onClose(close: StreamClose): void
}

/** `OpenStream` opens a stream of one session. It rejects if the session gives no ticket for the stream. */
export type OpenStream = (query: StreamQuery, handlers: StreamHandlers) => Promise<SessionStream>

/** `SessionStream` is one WebSocket of a session. Binary messages are bytes, and text messages are JSON. */
export class SessionStream {
  readonly #socket: WebSocket

  constructor(url: string, handlers: StreamHandlers) {
    let error: StreamClose['error']
    this.#socket = new WebSocket(url, tunnelProtocol)
    this.#socket.binaryType = 'arraybuffer'
    this.#socket.addEventListener('open', () => handlers.onOpen?.())
    this.#socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') return handlers.onBytes?.(new Uint8Array(data))
      const message = parseStreamMessage(data)
      if (message?.type === 'error') error = message
      if (message !== undefined) handlers.onMessage?.(message)
    })
    this.#socket.addEventListener('close', ({ code }) => handlers.onClose({ code, ...(error && { error }) }))
  }

  /** The number of bytes that are not yet sent to the network. */
  get bufferedBytes(): number {
    return this.#socket.bufferedAmount
  }

  sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(bytes)
  }

  sendMessage(message: { type: string } & Record<string, unknown>): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  close(): void {
    this.#socket.close()
  }
}

/** Returns a function that opens streams of a session. Each stream gets its own ticket. */
export function useOpenStream(sessionId: string): OpenStream {
  const api = useApi()
  return useCallback(
    async (query, handlers) => {
      const { data } = await api['remote-access'].createTicket({ params: { id: sessionId } })
      return new SessionStream(streamUrl(sessionId, { ...query, ticket: data.ticket }), handlers)
    },
    [api, sessionId],
  )
}

function streamUrl(sessionId: string, query: StreamQuery & { ticket: string }): string {
  const [, path = ''] = operations['remote-access']?.openStream ?? []
  const url = new URL(path.replace('{id}', sessionId), location.origin)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
  return url.href
}
