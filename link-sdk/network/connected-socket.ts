import type { Socket } from 'node:dgram'

type ConnectedSocketOptions = {
  address: string
  port: number
  /** The address of the network interface to send from. */
  localAddress?: string | undefined
}

/**
 * Connects a UDP socket to a device. The operating system then discards datagrams of other senders, and reports a closed
 * port as an error of the socket. Rejects with the error of the operating system.
 */
export function connectSocket(socket: Socket, { address, port, localAddress }: ConnectedSocketOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const open = () => socket.connect(port, address, (error?: Error) => (error ? reject(error) : resolve()))
  socket.once('error', reject)
  if (localAddress === undefined) open()
  else socket.bind({ address: localAddress, port: 0 }, open)
  return promise
}
