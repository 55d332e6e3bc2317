import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The ports for tests. Operating systems use higher ports for outgoing connections and for servers that listen at any free
 * port, so another program does not get the same port before the program of the test listens.
 */
const range = { first: 20_000, end: 32_000 } as const

/** The ports that this process has returned. */
const used = new Set<number>()

/** Returns a free TCP port of this machine, for tests of programs that need the number of their port before they start. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = randomInt(range.first, range.end)
    if (used.has(port) || !(await isFree(port, host))) continue
    used.add(port)
    return port
  }
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}
