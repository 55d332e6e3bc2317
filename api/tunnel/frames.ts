/**
 * The messages of a tunnel on its channel. A message is either one control message or a batch of frames of streams.
 * Batches are numbered by their order, confirmed by `ack`, and sent again after a resume. Control messages are neither
 * numbered nor sent again.
 *
 * A frame has a header of 8 bytes (type, stream id, length of the payload) and its payload.
 */

/** Control messages. The first byte of a message is its type. */
export const controlTypes = { hello: 1, ack: 2, ping: 3, pong: 4, close: 5 } as const

/** Frames of streams. `window` gives the sender credit, `end` is a half close, `reset` ends a stream with a reason. */
export const frameTypes = { open: 16, accept: 17, data: 18, message: 19, window: 20, end: 21, reset: 22 } as const
export type FrameType = (typeof frameTypes)[keyof typeof frameTypes]

export const frameHeaderBytes = 8
/** The maximum payload of each type of frame. */
const payloadBytes: Readonly<Record<FrameType, number>> = {
  [frameTypes.open]: 64 * 1024,
  [frameTypes.accept]: 0,
  [frameTypes.data]: 64 * 1024,
  [frameTypes.message]: 64 * 1024,
  [frameTypes.window]: 4,
  [frameTypes.end]: 0,
  [frameTypes.reset]: 8 * 1024,
}
export const maxDataBytes = payloadBytes[frameTypes.data]
export const maxHeaderBytes = payloadBytes[frameTypes.open]
export const maxMessageBytes = payloadBytes[frameTypes.message]
const maxResetBytes = payloadBytes[frameTypes.reset]
/** The maximum size of a message of a tunnel. */
export const maxBatchBytes = 128 * 1024

const protocolVersion = 1
const countBytes = 6
const idBytes = 16
const helloBytes = 1 + 1 + 1 + idBytes + countBytes
const maxReasonBytes = 1_024

/** `ProtocolError` is a violation of the tunnel protocol by the other side. It closes the tunnel. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/** The first message on a channel, in both directions. */
export type Hello = {
  id: string
  isResume: boolean
  /** The number of batches that the sender of the message has received. */
  received: number
}

export type ControlMessage =
  | ({ type: 'hello' } & Hello)
  | { type: 'ack'; received: number }
  | { type: 'ping' }
  | { type: 'pong' }
  | { type: 'close'; reason: string }

export function encodeControl(message: ControlMessage): Buffer {
  switch (message.type) {
    case 'hello': {
      const bytes = Buffer.alloc(helloBytes)
      bytes[0] = controlTypes.hello
      bytes[1] = protocolVersion
      bytes[2] = message.isResume ? 1 : 0
      bytes.write(message.id, 3, 'hex')
      bytes.writeUIntBE(message.received, 3 + idBytes, countBytes)
      return bytes
    }
    case 'ack': {
      const bytes = Buffer.alloc(1 + countBytes)
      bytes[0] = controlTypes.ack
      bytes.writeUIntBE(message.received, 1, countBytes)
      return bytes
    }
    case 'close': {
      const reason = Buffer.from(message.reason).subarray(0, maxReasonBytes)
      return Buffer.concat([Buffer.of(controlTypes.close), reason])
    }
    default:
      return Buffer.of(controlTypes[message.type])
  }
}

/** Returns the control message in the bytes. Returns undefined if the bytes are a batch of frames. */
export function decodeControl(bytes: Buffer): ControlMessage | undefined {
  switch (bytes[0]) {
    case controlTypes.hello: {
      requireLength(bytes, helloBytes)
      if (bytes[1] !== protocolVersion) throw new ProtocolError(`The tunnel version ${bytes[1]} is not supported`)
      const id = bytes.toString('hex', 3, 3 + idBytes)
      return { type: 'hello', id, isResume: bytes[2] === 1, received: bytes.readUIntBE(3 + idBytes, countBytes) }
    }
    case controlTypes.ack:
      requireLength(bytes, 1 + countBytes)
      return { type: 'ack', received: bytes.readUIntBE(1, countBytes) }
    case controlTypes.ping:
      requireLength(bytes, 1)
      return { type: 'ping' }
    case controlTypes.pong:
      requireLength(bytes, 1)
      return { type: 'pong' }
    case controlTypes.close:
      if (bytes.length > 1 + maxReasonBytes) throw new ProtocolError('The reason of a close is too long')
      return { type: 'close', reason: bytes.toString('utf8', 1) }
    default:
      return undefined
  }
}

function requireLength(bytes: Buffer, length: number): void {
  if (bytes.length !== length)
    throw new ProtocolError(`A control message has ${bytes.length} instead of ${length} bytes`)
}

/** Writes a frame into a buffer and returns the position after it. */
export function writeFrame(
  into: Buffer,
  at: number,
  { type, streamId, payload }: { type: FrameType; streamId: number; payload: Uint8Array },
): number {
  into[at] = type
  into.writeUInt32BE(streamId, at + 1)
  into.writeUIntBE(payload.length, at + 5, 3)
  into.set(payload, at + frameHeaderBytes)
  return at + frameHeaderBytes + payload.length
}

/** Calls `onFrame` for each frame of a batch. The payloads are slices of the batch. */
export function readFrames(batch: Buffer, onFrame: (type: FrameType, streamId: number, payload: Buffer) => void): void {
  if (batch.length === 0 || batch.length > maxBatchBytes)
    throw new ProtocolError(`A batch of frames has ${batch.length} bytes`)
  let at = 0
  while (at < batch.length) {
    if (batch.length - at < frameHeaderBytes) throw new ProtocolError('A frame is incomplete')
    const type = batch[at] as FrameType
    const limit = payloadBytes[type]
    if (limit === undefined) throw new ProtocolError(`The frame type ${type} is unknown`)
    const streamId = batch.readUInt32BE(at + 1)
    const length = batch.readUIntBE(at + 5, 3)
    if (length > limit) throw new ProtocolError(`The payload of a frame has ${length} bytes; the limit is ${limit}`)
    const start = at + frameHeaderBytes
    at = start + length
    if (at > batch.length) throw new ProtocolError('A frame is incomplete')
    onFrame(type, streamId, batch.subarray(start, at))
  }
}

/** Returns the object in a JSON payload. */
export function decodeJson(payload: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(payload.toString())
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  throw new ProtocolError('The payload of a frame is not a JSON object')
}

export function encodeRefusal({ code, detail }: { code: string; detail: string }): Buffer {
  // Escapes can make a text up to six times longer.
  const short = detail.slice(0, maxResetBytes / 8)
  return Buffer.from(JSON.stringify({ code: code.slice(0, 64), detail: short }))
}

export function decodeRefusal(payload: Buffer): { code: string; detail: string } {
  const { code, detail } = decodeJson(payload)
  if (typeof code !== 'string' || typeof detail !== 'string')
    throw new ProtocolError('The reason of a reset has no code or no detail')
  return { code: plainText(code), detail: plainText(detail) }
}

/** Returns a text of the other side without characters that a database or a terminal does not accept. */
function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters of the other side are removed
  return text.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}
