import type { MessageChannel } from '@millwright/api/tunnel/channel.ts'
import type { WebSocket } from 'ws'

/** The time in which the platform must answer a close frame. */
const closeMs = 2_000

/** The reason of a close frame has at most 123 bytes (RFC 6455 §5.5.1). */
const reasonBytes = 123

/** Returns an open WebSocket as the channel of a tunnel. */
export function socketChannel(socket: WebSocket): MessageChannel {
  let onDrain = () => {}
  const written = () => {
    if (socket.bufferedAmount === 0) onDrain()
  }
  return {
    send: (message) => {
      if (socket.readyState === socket.OPEN) socket.send(message, written)
    },
    get bufferedBytes() {
      return socket.bufferedAmount
    },
    close: (reason) => {
      const text = Buffer.from(reason).subarray(0, reasonBytes).toString()
      socket.close(1000, text.replace(/\uFFFD+$/, ''))
      setTimeout(() => socket.terminate(), closeMs).unref()
    },
    onMessage: (listener) => {
      socket.on('message', (message, isBinary) => {
        if (isBinary) listener(message as Buffer)
        else socket.close(1003, 'Send binary messages only')
      })
    },
    onClose: (listener) => {
      socket.on('close', () => listener())
    },
    onDrain: (listener) => {
      onDrain = listener
    },
  }
}
