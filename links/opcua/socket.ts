import { createConnection, type Socket } from 'node:net'

type ConnectOptions = { address: string; port: number; timeoutMs: number; signal: AbortSignal }

/**
 * Connects to a port. Returns undefined if nothing answers in time, or if the connection is refused. Throws the reason of
 * the signal when it is aborted.
 */
export async function connectTo({ address, port, timeoutMs, signal }: ConnectOptions): Promise<Socket | undefined> {
  signal.throwIfAborted()
  const socket = createConnection({ host: address, port, noDelay: true })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), timeoutMs)
  const stop = () => resolve(false)
  socket.once('connect', () => resolve(true))
  // The listener stays, because the connection can fail before the transport uses the socket.
  socket.on('error', stop)
  signal.addEventListener('abort', stop, { once: true })
  const isConnected = await promise
  clearTimeout(timer)
  signal.removeEventListener('abort', stop)
  if (isConnected && !signal.aborted) return socket
  socket.destroy()
  signal.throwIfAborted()
  return undefined
}
