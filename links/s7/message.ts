/*
 * This file encodes and decodes the messages of S7 communication over ISO-on-TCP. A message has three layers: TPKT (RFC 1006)
 * contains the length, COTP (ISO 8073, class 0) connects to a module and transports data, and the S7 message contains a
 * function. The file contains two S7 functions, which do not change the device: setup communication, and the read of a
 * system status list (SZL). All lengths that a device sends are checked. A decoder returns the fault of a wrong message
 * as text, and never throws.
 */

const tpktVersion = 3
const tpktBytes = 4
/** The shortest packet: the TPKT header, and a COTP header of three bytes. */
const leastPacketBytes = 7
/** The longest packet that is accepted. The link requests at most 480 bytes, and the headers need fewer than 100. */
export const mostPacketBytes = 2_048

const tpduTypes = { connectionRequest: 0xe0, connectionConfirm: 0xd0, disconnectRequest: 0x80, data: 0xf0, error: 0x70 }
const endOfMessage = 0x80
const parameterCodes = { size: 0xc0, callingTsap: 0xc1, calledTsap: 0xc2 }
/** The size of COTP packets that the link offers: 2 to the power of 10. */
const sizeExponent = 10

const protocolId = 0x32
const messageTypes = { job: 1, acknowledgement: 2, answer: 3, userData: 7 } as const
const functionCodes = { setupCommunication: 0xf0 } as const
const headerBytes = 10
/** The length of messages that the link offers in setup communication. Every CPU supports 240 or more. */
const offeredMessageBytes = 480

/** User data: the start of the parameters, the methods, the function group of the CPU as request and answer, and the read of lists. */
const userDataStart = [0x00, 0x01, 0x12] as const
const methods = { request: 0x11, answer: 0x12 } as const
const cpuFunctions = { request: 0x44, answer: 0x84 } as const
const readList = 0x01
const returnCodes = { success: 0xff, noData: 0x0a } as const
const octetString = 0x09

/** The source reference and the TSAP of the link. TSAP 0x0100 is the usual one of a programming device. */
export const ownReference = 1
const ownTsap = 0x0100

/** The types of connection. The number is the first byte of the TSAP of a module. */
export const connectionTypes = { pg: 1, op: 2, basic: 3 } as const
export type ConnectionType = keyof typeof connectionTypes

/** `ModulePlace` is the module that a connection leads to. */
export type ModulePlace = { rack: number; slot: number; connectionType: ConnectionType }

function tsapOf({ rack, slot, connectionType }: ModulePlace): number {
  return (connectionTypes[connectionType] << 8) | (rack << 5) | slot
}

/** Returns the packet that connects to a module. */
export function connectionRequest(place: ModulePlace): Buffer {
  const body = [tpduTypes.connectionRequest, 0, 0, ...word(ownReference), 0]
  const parameters = [
    ...[parameterCodes.size, 1, sizeExponent],
    ...[parameterCodes.callingTsap, 2, ...word(ownTsap)],
    ...[parameterCodes.calledTsap, 2, ...word(tsapOf(place))],
  ]
  return tpkt([body.length + parameters.length, ...body, ...parameters])
}

/** Returns the packet that negotiates the length of messages. One request at a time is sent. */
export function setupRequest(reference: number): Buffer {
  const parameters = [functionCodes.setupCommunication, 0, ...word(1), ...word(1), ...word(offeredMessageBytes)]
  return dataPacket({ type: messageTypes.job, reference, parameters, data: [] })
}

/** Returns the packet that reads a system status list. */
export function listRequest(reference: number, { id, index }: { id: number; index: number }): Buffer {
  const parameters = [...userDataStart, 4, methods.request, cpuFunctions.request, readList, 0]
  const data = [returnCodes.success, octetString, ...word(4), ...word(id), ...word(index)]
  return dataPacket({ type: messageTypes.userData, reference, parameters, data })
}

/** Returns the packet that reads the next part of a list. `sequence` is the sequence number of the previous part. */
export function nextPartRequest(reference: number, sequence: number): Buffer {
  const parameters = [...userDataStart, 8, methods.answer, cpuFunctions.request, readList, sequence, 0, 0, 0, 0]
  return dataPacket({ type: messageTypes.userData, reference, parameters, data: [returnCodes.noData, 0, 0, 0] })
}

type Request = { type: number; reference: number; parameters: readonly number[]; data: readonly number[] }

function dataPacket({ type, reference, parameters, data }: Request): Buffer {
  const header = [protocolId, type, 0, 0, ...word(reference), ...word(parameters.length), ...word(data.length)]
  return tpkt([2, tpduTypes.data, endOfMessage, ...header, ...parameters, ...data])
}

function tpkt(content: readonly number[]): Buffer {
  return Buffer.from([tpktVersion, 0, ...word(tpktBytes + content.length), ...content])
}

function word(value: number): [number, number] {
  return [value >> 8, value & 0xff]
}

/** Returns the length of the packet at the start of the received bytes. Returns undefined if more bytes are needed. */
export function packetLengthOf(received: Buffer): number | undefined | string {
  if (received.length > 0 && received[0] !== tpktVersion) return 'its answer has no TPKT header'
  if (received.length < tpktBytes) return undefined
  const length = received.readUInt16BE(2)
  return length >= leastPacketBytes && length <= mostPacketBytes ? length : `it sends a packet of ${length} bytes`
}

/** `Tpdu` is the COTP content of a packet. */
export type Tpdu =
  | { type: 'confirm'; reference: number }
  | { type: 'refusal' }
  | { type: 'data'; isLast: boolean; content: Buffer }

/** Decodes a complete packet. */
export function parsePacket(packet: Buffer): Tpdu | string {
  const [headerLength = 0, type = 0] = packet.subarray(tpktBytes)
  const end = tpktBytes + 1 + headerLength
  if (headerLength < 2 || end > packet.length) return 'the length of its COTP header is wrong'
  const code = type & 0xf0
  if (code === tpduTypes.data)
    return { type: 'data', isLast: ((packet[6] ?? 0) & endOfMessage) !== 0, content: packet.subarray(end) }
  if (code === tpduTypes.connectionConfirm && headerLength >= 6)
    return { type: 'confirm', reference: packet.readUInt16BE(6) }
  if (code === tpduTypes.disconnectRequest || code === tpduTypes.error) return { type: 'refusal' }
  return `it sends a COTP packet of the type 0x${type.toString(16)}`
}

/** `Message` is a decoded S7 message. `error` is 0 for a success. */
export type Message = { type: number; reference: number; error: number; parameters: Buffer; data: Buffer }

/** Decodes an S7 message. */
export function parseMessage(bytes: Buffer): Message | string {
  if (bytes.length < headerBytes || bytes[0] !== protocolId) return 'its answer is not an S7 message'
  const type = bytes.readUInt8(1)
  const hasError = type === messageTypes.acknowledgement || type === messageTypes.answer
  const start = hasError ? headerBytes + 2 : headerBytes
  const parametersEnd = start + bytes.readUInt16BE(6)
  const end = parametersEnd + bytes.readUInt16BE(8)
  if (end > bytes.length) return 'the lengths in its S7 message are wrong'
  return {
    type,
    reference: bytes.readUInt16BE(4),
    error: hasError ? bytes.readUInt16BE(headerBytes) : 0,
    parameters: bytes.subarray(start, parametersEnd),
    data: bytes.subarray(parametersEnd, end),
  }
}

/** Returns the length of messages from the answer to setup communication. */
export function parseSetup({ type, parameters }: Message): number | string {
  const isSetup = type === messageTypes.answer && parameters[0] === functionCodes.setupCommunication
  return isSetup && parameters.length >= 8 ? parameters.readUInt16BE(6) : 'its answer to setup communication is wrong'
}

/** `ListPart` is a part of a list. `error` is not 0 if the device does not return the list. */
export type ListPart = { error: number; content: Buffer; sequence: number; isLast: boolean }

/** Decodes the answer to a read of a list. */
export function parseListPart({ type, error, parameters, data }: Message): ListPart | string {
  const none = { content: Buffer.alloc(0), sequence: 0, isLast: true }
  if (type !== messageTypes.userData) return error === 0 ? 'it answers with another function' : { ...none, error }
  if (parameters.length < 8 || parameters[5] !== cpuFunctions.answer || parameters[6] !== readList)
    return 'it answers with another function'
  const code = parameters.length < 12 ? 0 : parameters.readUInt16BE(10)
  if (code !== 0) return { ...none, error: code }
  if (data.length < 4) return 'its list is incomplete'
  if (data[0] !== returnCodes.success) return { ...none, error: data[0] || 1 }
  const end = 4 + data.readUInt16BE(2)
  if (end > data.length) return 'the length of its list is wrong'
  const isLast = parameters.length < 12 || parameters[9] === 0
  return { error: 0, content: data.subarray(4, end), sequence: parameters.readUInt8(7), isLast }
}
