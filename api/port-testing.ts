import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Returns a free TCP port of this machine, for tests of programs that need the number of their port before they start. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}
