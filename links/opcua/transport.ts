import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { resetConnection } from '@millwright/link-sdk/network/connect.ts'
import type { ClientSecureChannelLayerOptions } from 'node-opcua-client'

/**
 * This file contains the transport below the secure channel: the handshake (Hello, Acknowledge) and the division of the
 * byte stream into chunks. It replaces the transport of the library. That transport accepts chunks of any size if the
 * server offers them in its Acknowledge message, and its parser can throw outside of any call.
 */

type TransportFactory = NonNullable<ClientSecureChannelLayerOptions['transportFactory']>
type Transport = ReturnType<TransportFactory['create']>
type Callback = (error?: Error | null) => void

/** The limits of everything that a server can send. */
export const receiveLimits = {
  /** The bytes of one chunk. */
  chunkBytes: 65_536,
  /** The bytes of one message. */
  messageBytes: 2 * 1_024 * 1_024,
  /** The chunks of one message. */
  chunks: 256,
  /** The chunks of one connection, which are enough for all answers to the requests of the link. */
  connectionChunks: 16_384,
  /** The bytes of one connection. */
  connectionBytes: 8 * 1_024 * 1_024,
} as const

/** The smallest buffer that the specification allows. */
const leastBufferBytes = 8_192
const headerBytes = 8
const acknowledgeBytes = headerBytes + 20

/** `TransportError` means that a server violates the protocol, or that it ends the connection. */
export class TransportError extends Error {
  /** The status code of an error message of the server. */
  readonly statusCode: number | undefined

  constructor(message: string, statusCode?: number) {
    super(message)
    this.name = 'TransportError'
    this.statusCode = statusCode
  }
}

/** `SocketTransport` sends and receives the chunks of a secure channel over a connected socket. */
export class SocketTransport extends EventEmitter implements Transport {
  readonly name = 'socket'
  protocolVersion = 0
  timeout = 0
  numberOfRetry = 0
  endpointUrl = ''
  serverUri = ''
  parameters?: NonNullable<Transport['parameters']>
  readonly receiveBufferSize = receiveLimits.chunkBytes
  readonly maxChunkCount = receiveLimits.chunks
  readonly maxMessageSize = receiveLimits.messageBytes
  sendBufferSize: number = receiveLimits.chunkBytes
  bytesRead = 0
  bytesWritten = 0
  chunkReadCount = 0
  chunkWrittenCount = 0
  /** The error that ended the connection. */
  failure: Error | undefined
  readonly #socket: Socket
  readonly #assembler = new ChunkAssembler()
  #onAcknowledge: Callback | undefined
  #isClosed = false

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    socket.on('data', (data) => this.#onData(data))
    socket.on('error', (error) => this.fail(new TransportError(`the connection was interrupted (${error.message})`)))
    socket.on('end', () => {
      socket.destroy()
      this.fail(new TransportError('the server closed the connection'))
    })
    socket.on('close', () => this.#onClose())
  }

  /** Performs the handshake. The socket is connected already. */
  connect(endpointUrl: string, callback: Callback): void {
    this.endpointUrl = endpointUrl
    if (this.#isClosed || this.failure !== undefined) {
      callback(this.failure ?? new TransportError('the connection is closed'))
      return
    }
    this.#onAcknowledge = callback
    this.#send(helloMessage(endpointUrl))
  }

  disconnect(callback: Callback): void {
    if (this.#isClosed) return void callback()
    this.#socket.once('close', () => callback())
    this.#socket.destroy()
  }

  dispose(): void {
    this.#socket.destroy()
  }

  write(chunk: Buffer, callback?: (error?: Error | null) => undefined): void {
    this.chunkWrittenCount += 1
    this.#send(chunk)
    callback?.()
  }

  prematureTerminate(error: Error): void {
    this.fail(error)
  }

  forceConnectionBreak(): void {
    this.fail(new TransportError('the connection was interrupted'))
  }

  isValid(): boolean {
    return this.failure === undefined && !this.#socket.destroyed
  }

  isDisconnecting(): boolean {
    return !this.isValid()
  }

  getTransportSettings() {
    return {
      maxChunkCount: this.maxChunkCount,
      maxMessageSize: this.maxMessageSize,
      receiveBufferSize: this.receiveBufferSize,
      sendBufferSize: this.sendBufferSize,
    }
  }

  /** Ends the connection immediately. Pending requests end with the error. */
  fail(error: Error): void {
    this.failure ??= error
    resetConnection(this.#socket)
  }

  #send(bytes: Buffer): void {
    if (!this.isValid()) return
    this.bytesWritten += bytes.length
    this.#socket.write(bytes)
  }

  /** All errors of the layers above end this connection only, because they are caused by the data of this server. */
  #onData(data: Buffer): void {
    if (!this.isValid()) return
    this.bytesRead += data.length
    try {
      if (this.bytesRead > receiveLimits.connectionBytes) {
        throw new TransportError(`the server sent more than ${receiveLimits.connectionBytes} bytes`)
      }
      for (const chunk of this.#assembler.feed(data)) {
        if (this.failure !== undefined) return
        this.#onChunk(chunk)
      }
    } catch (error) {
      this.fail(error instanceof Error ? error : new TransportError(String(error)))
    }
  }

  #onChunk(chunk: Buffer): void {
    this.chunkReadCount += 1
    if (this.chunkReadCount > receiveLimits.connectionChunks) {
      throw new TransportError(`the server sent more than ${receiveLimits.connectionChunks} chunks`)
    }
    const type = chunk.toString('latin1', 0, 3)
    if (type === 'ERR') throw errorOf(chunk)
    const onAcknowledge = this.#onAcknowledge
    if (onAcknowledge === undefined) {
      if (type === 'ACK') throw new TransportError('the server sent a second Acknowledge message')
      this.emit('chunk', chunk)
      return
    }
    if (type !== 'ACK') throw new TransportError(`the server answered the Hello message with ${type}`)
    const { sendBufferSize, ...rest } = acknowledgeOf(chunk)
    this.sendBufferSize = sendBufferSize
    this.parameters = { sendBufferSize, ...rest } as NonNullable<Transport['parameters']>
    this.#onAcknowledge = undefined
    onAcknowledge()
  }

  #onClose(): void {
    this.#isClosed = true
    this.failure ??= new TransportError('the connection was closed')
    this.#onAcknowledge?.(this.failure)
    this.#onAcknowledge = undefined
    this.emit('close', this.failure)
  }
}

/** Returns the Hello message (OPC 10000-6, 7.1.2.3). */
function helloMessage(endpointUrl: string): Buffer {
  const url = Buffer.from(endpointUrl, 'utf8')
  const message = Buffer.alloc(headerBytes + 24 + url.length)
  message.write('HELF', 'latin1')
  const numbers = [
    message.length,
    0,
    receiveLimits.chunkBytes,
    receiveLimits.chunkBytes,
    receiveLimits.messageBytes,
    receiveLimits.chunks,
    url.length,
  ]
  for (const [index, number] of numbers.entries()) message.writeUInt32LE(number, 4 + 4 * index)
  url.copy(message, headerBytes + 24)
  return message
}

/** Returns the sizes of an Acknowledge message (OPC 10000-6, 7.1.2.4) that limit what the client sends. */
function acknowledgeOf(chunk: Buffer) {
  if (chunk.length < acknowledgeBytes) throw new TransportError('the Acknowledge message is too short')
  const receiveBufferBytes = chunk.readUInt32LE(headerBytes + 4)
  if (receiveBufferBytes < leastBufferBytes) {
    throw new TransportError(`the server offers a buffer of ${receiveBufferBytes} bytes, which is too small`)
  }
  return {
    protocolVersion: chunk.readUInt32LE(headerBytes),
    sendBufferSize: Math.min(receiveBufferBytes, receiveLimits.chunkBytes),
    receiveBufferSize: receiveLimits.chunkBytes,
    maxMessageSize: receiveLimits.messageBytes,
    maxChunkCount: receiveLimits.chunks,
  }
}

/** Returns the error of an Error message (OPC 10000-6, 7.1.2.5). */
function errorOf(chunk: Buffer): TransportError {
  if (chunk.length < headerBytes + 8) return new TransportError('the server sent an incomplete error message')
  const statusCode = chunk.readUInt32LE(headerBytes)
  const length = Math.min(Math.max(chunk.readInt32LE(headerBytes + 4), 0), 200)
  const reason = chunk.toString('utf8', headerBytes + 8, headerBytes + 8 + length).replaceAll(/\p{Cc}/gu, ' ')
  const code = `0x${statusCode.toString(16).padStart(8, '0')}`
  return new TransportError(`the server ended the connection with the error ${code} ${reason}`.trim(), statusCode)
}

const messageTypes = /^(ACK|ERR|OPN|MSG|CLO)[FCA]$/

/** `ChunkAssembler` divides a byte stream into chunks. It stores at most one incomplete chunk. */
export class ChunkAssembler {
  #parts: Buffer[] = []
  #bytes = 0
  #needed = headerBytes;

  /** Yields the chunks that are complete with the new data. Throws a `TransportError` for an invalid header. */
  *feed(data: Buffer): Generator<Buffer> {
    this.#parts.push(data)
    this.#bytes += data.length
    while (this.#bytes >= this.#needed) {
      const bytes = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts, this.#bytes)
      this.#parts = [bytes]
      const length = lengthOf(bytes)
      this.#needed = length
      if (bytes.length < length) return
      const rest = bytes.subarray(length)
      this.#parts = rest.length === 0 ? [] : [rest]
      this.#bytes = rest.length
      this.#needed = headerBytes
      yield bytes.subarray(0, length)
    }
  }
}

function lengthOf(bytes: Buffer): number {
  const type = bytes.toString('latin1', 0, 4)
  if (!messageTypes.test(type)) throw new TransportError('the server does not answer in the OPC UA protocol')
  const length = bytes.readUInt32LE(4)
  if (length >= headerBytes && length <= receiveLimits.chunkBytes) return length
  throw new TransportError(
    `the server sent a chunk of ${length} bytes, but at most ${receiveLimits.chunkBytes} are read`,
  )
}
