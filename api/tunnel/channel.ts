/** A connection that carries binary messages in order, such as a WebSocket. */
export type MessageChannel = {
  /** Sends a message after all earlier messages. It never throws, even after the channel is closed. */
  send(message: Uint8Array): void
  /** The number of bytes that are not yet passed to the network. */
  readonly bufferedBytes: number
  close(reason: string): void
  onMessage(listener: (message: Uint8Array) => void): void
  onClose(listener: () => void): void
  /** Calls the listener when the buffered bytes are passed to the network. */
  onDrain?(listener: () => void): void
}
