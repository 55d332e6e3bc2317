import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brokerKinds } from '@millwright/cloud/services/events/mqtt/testing.ts'
import { cpuMicros } from './measurement.ts'
import { handleCommands } from './worker-process.ts'

/**
 * This file runs in the process of the receiver. It confirms requests to `/fast` at once, and never responds to requests to
 * `/hanging`. It counts the events of fast requests, and the time from each event to its receipt on request. It can also be
 * an MQTT broker.
 */

export type ReceiverCommand =
  | { kind: 'expect'; events: number; isTimed?: boolean }
  | { kind: 'wait' }
  | { kind: 'cpu' }
  | { kind: 'free port' }
  | { kind: 'start a broker' }

/** The time from the first receipt to the last one, and the time from each event to its receipt in milliseconds. */
export type Received = { seconds: number; latencies: number[] }

let missing = 0
let firstAt: number | undefined
let isTimed = false
let latencies: number[] = []
let complete = Promise.withResolvers<Received>()

const server = createServer((request, response) => {
  if (request.url !== '/fast') return
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    response.writeHead(204).end()
    // The content type distinguishes a batch, so that single events are counted without parsing them.
    const isBatch = request.headers['content-type']?.includes('batch') === true
    if (isBatch || isTimed) receive(JSON.parse(Buffer.concat(parts).toString()))
    else count(1)
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ ready: portOf(server) }))

handleCommands(async (command: ReceiverCommand): Promise<unknown> => {
  switch (command.kind) {
    case 'expect':
      if (missing < 0) throw new Error(`The receiver received ${-missing} events twice`)
      missing = command.events
      isTimed = command.isTimed === true
      latencies = []
      firstAt = undefined
      complete = Promise.withResolvers()
      return undefined
    case 'wait':
      return complete.promise
    case 'cpu':
      return cpuMicros()
    case 'free port':
      return freePort()
    case 'start a broker':
      return (await brokerKinds.find(({ name }) => name === 'aedes')?.start())?.port
  }
})
process.once('SIGTERM', () => process.exit(0))

function receive(content: { time: string } | { time: string }[]): void {
  const events = Array.isArray(content) ? content : [content]
  if (isTimed) for (const { time } of events) latencies.push(nowMs() - Date.parse(time))
  count(events.length)
}

function count(events: number): void {
  missing -= events
  firstAt ??= performance.now()
  if (missing === 0) complete.resolve({ seconds: (performance.now() - firstAt) / 1000, latencies })
}

/** Returns the time with fractions of a millisecond. */
function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Returns a port that refuses connections. */
async function freePort(): Promise<number> {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const port = portOf(other)
  await new Promise((resolve) => other.close(resolve))
  return port
}

function portOf(listening: typeof server): number {
  return (listening.address() as AddressInfo).port
}
