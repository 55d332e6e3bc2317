import { connect, type Socket } from 'node:net'
import { cpuMicros, type Round, roundOf } from './measurement.ts'

export type Load = {
  url: string
  callers: number
  ms: number
  /** Returns the text of the request with this index. A caller stops when it returns undefined. */
  request: (index: number) => string | undefined
  /** The status that every response must have. */
  status: number
  /** Returns the processor time that the server has used so far, in microseconds. */
  serverCpu: () => Promise<number>
}

/**
 * Runs callers that write directly to the sockets of keep-alive connections. The load generator must use less CPU than
 * the measured server, because both run on the same machine.
 */
export async function measureLoad({
  url,
  callers,
  ms,
  request,
  status,
  serverCpu,
}: Load): Promise<Round & { ownCpuMicros: number }> {
  const { hostname, port } = new URL(url)
  const sockets = await Promise.all(Array.from({ length: callers }, () => open(hostname, Number(port))))
  const latencies: number[] = []
  const before = { server: await serverCpu(), own: cpuMicros() }
  const startedAt = performance.now()
  const deadline = startedAt + ms
  let sent = 0
  const next = () => (performance.now() < deadline ? request(sent++) : undefined)
  await Promise.all(sockets.map((socket) => converse(socket, { next, status, latencies })))
  const elapsed = performance.now() - startedAt
  const own = cpuMicros() - before.own
  const round = roundOf(latencies, { ms: elapsed, cpu: (await serverCpu()) - before.server })
  for (const socket of sockets) socket.destroy()
  return { ...round, ownCpuMicros: own / round.count }
}

/** Returns the text of a request with only the necessary headers. */
export function requestText(
  method: string,
  path: string,
  { headers, body = '' }: { headers: Record<string, string>; body?: string },
): string {
  const all = {
    host: '127.0.0.1',
    ...headers,
    ...(body === '' ? {} : { 'content-length': `${Buffer.byteLength(body)}` }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

type Conversation = { next: () => string | undefined; status: number; latencies: number[] }

/** Runs one caller. The caller sends a request, reads the complete response, and then sends the next request. */
function converse(socket: Socket, { next, status, latencies }: Conversation): Promise<void> {
  const expected = `HTTP/1.1 ${status} `
  return new Promise((resolve, reject) => {
    let received = ''
    let sentAt = 0
    const send = () => {
      const text = next()
      if (text === undefined) return resolve()
      received = ''
      sentAt = performance.now()
      socket.write(text, 'latin1')
    }
    socket.setEncoding('latin1')
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('The server closed a connection')))
    socket.on('data', (chunk: string) => {
      received += chunk
      if (!isComplete(received)) return
      if (!received.startsWith(expected)) return reject(new Error(`Expected ${status}, got: ${received}`))
      latencies.push(performance.now() - sentAt)
      send()
    })
    send()
  })
}

const lengthHeader = '\r\ncontent-length: '

function isComplete(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return false
  const at = text.indexOf(lengthHeader)
  const length =
    at < 0 || at > head ? 0 : Number.parseInt(text.slice(at + lengthHeader.length, at + lengthHeader.length + 12), 10)
  return text.length >= head + 4 + length
}
