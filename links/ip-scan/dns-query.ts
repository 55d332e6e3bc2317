import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'

/**
 * This file reads the name of an address from a DNS server (RFC 1035), with exactly one UDP datagram. The resolver of the
 * runtime repeats a truncated answer over TCP, which would be a connection without a permit.
 */

type PtrQuery = { server: { address: string; port: number }; address: string; timeoutMs: number; signal: AbortSignal }

const pointerType = 12
const internetClass = 1
const headerBytes = 12

/** Returns the names of an address. Throws if the server does not answer. A malformed or truncated answer has no names. */
export async function queryNames({ server, address, timeoutMs, signal }: PtrQuery): Promise<string[]> {
  signal.throwIfAborted()
  const id = randomInt(0x1_0000)
  const question = questionFor(address)
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  const socket = createSocket('udp4')
  const abort = () => reject(signal.reason)
  using _timer = startTimer(timeoutMs, () => reject(new Error('The DNS server does not answer.')))
  try {
    signal.addEventListener('abort', abort, { once: true })
    socket.on('error', reject)
    socket.on('message', (message) => {
      if (isAnswerTo(message, id, question)) resolve(namesIn(message))
    })
    // A connected socket receives only datagrams of the server.
    socket.connect(server.port, server.address, (error?: Error) => {
      if (error == null) socket.send(Buffer.concat([headerFor(id), question]))
      else reject(error)
    })
    return await promise
  } finally {
    signal.removeEventListener('abort', abort)
    socket.close()
  }
}

function headerFor(id: number): Buffer {
  const header = Buffer.alloc(headerBytes)
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(0x0100, 2)
  header.writeUInt16BE(1, 4)
  return header
}

function questionFor(address: string): Buffer {
  const labels = [...address.split('.').toReversed(), 'in-addr', 'arpa']
  const name = labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)])
  return Buffer.concat([...name, Buffer.from([0, 0, pointerType, 0, internetClass])])
}

/** Returns whether a message is the answer to the question. Other messages are ignored. */
function isAnswerTo(message: Buffer, id: number, question: Buffer): boolean {
  const asked = message.subarray(headerBytes, headerBytes + question.length)
  return (
    message.length >= headerBytes + question.length &&
    message.readUInt16BE(0) === id &&
    message.readUInt16BE(4) === 1 &&
    (message.readUInt8(2) & 0x80) !== 0 &&
    asked.toString('latin1').toLowerCase() === question.toString('latin1')
  )
}

/** Returns the names in an answer with one question. An answer with an error code has none. */
export function namesIn(message: Buffer): string[] {
  const names: string[] = []
  try {
    const isError = (message.readUInt8(3) & 0x0f) !== 0
    const answers = isError ? 0 : message.readUInt16BE(6)
    let at = readName(message, headerBytes).next + 4
    for (let index = 0; index < answers; index += 1) {
      const { next } = readName(message, at)
      const [type, itsClass] = [message.readUInt16BE(next), message.readUInt16BE(next + 2)]
      const data = next + 10
      if (type === pointerType && itsClass === internetClass) names.push(readName(message, data).name)
      at = data + message.readUInt16BE(next + 8)
    }
    return names
  } catch (error) {
    if (error instanceof RangeError) return names
    throw error
  }
}

/**
 * Reads a name. A part of it can be a pointer to an earlier name. Pointers must lead backwards, so that no message causes an
 * endless loop. Throws a `RangeError` for a malformed name.
 */
function readName(message: Buffer, start: number): { name: string; next: number } {
  const labels: string[] = []
  let at = start
  let lowest = start
  let next: number | undefined
  for (;;) {
    const length = message.readUInt8(at)
    if (length === 0) return { name: labels.join('.'), next: next ?? at + 1 }
    if (length < 64) {
      if (at + 1 + length > message.length || labels.length >= 127) throw new RangeError('The name is too long')
      labels.push(message.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
      continue
    }
    const target = message.readUInt16BE(at) & 0x3fff
    if (length < 0xc0 || target >= lowest) throw new RangeError('The name has an invalid pointer')
    next ??= at + 2
    at = target
    lowest = target
  }
}
