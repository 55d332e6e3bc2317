import type { Socket } from 'node:net'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { connectToDevice, resetConnection } from '@millwright/link-sdk/network/connect.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { takePermit } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'

/*
 * This file speaks Modbus/TCP as in the "MODBUS Application Protocol Specification V1.1b3" and the "MODBUS Messaging on
 * TCP/IP Implementation Guide V1.0b". It contains two functions, which only read: Read Device Identification and Report
 * Server ID. All lengths that a device sends are checked, and the number of its answers is limited, so a faulty device can
 * only be reported as faulty.
 */

const functionCodes = { reportServerId: 0x11, encapsulatedInterface: 0x2b } as const
/** The type of the encapsulated interface for device identification. */
const deviceIdentification = 0x0e
const exceptionFlag = 0x80
const moreFollows = 0xff

/** The header of a frame: transaction id, protocol id, length (two bytes each) and unit id. */
const headerBytes = 7
/** The limits of the field `length`, which counts the unit id and at most 253 bytes after it. */
const lengthLimits = { least: 2, most: 254 } as const
/** The number of answers to other requests, such as late answers, that a device can send before it counts as faulty. */
const mostOtherFrames = 16
/** The number of requests for the objects of one category. A correct device needs fewer. */
const mostContinuations = 32

/** The categories of device identification. Each contains the objects of the previous ones. */
export const categories = { basic: 1, regular: 2, extended: 3 } as const
export type Category = keyof typeof categories

/** The numbers of the objects that the specification defines. The numbers from 128 are private objects. */
export const objectIds = {
  vendorName: 0,
  productCode: 1,
  majorMinorRevision: 2,
  vendorUrl: 3,
  productName: 4,
  modelName: 5,
  userApplicationName: 6,
} as const
export const firstPrivateObject = 0x80

/** `Identification` contains the objects of a unit by their number, and its conformity level (1 to 3). */
export type Identification = { conformityLevel: number; objects: ReadonlyMap<number, Buffer> }

const exceptionWords: Readonly<Record<number, string>> = {
  1: 'the function is not supported',
  2: 'the requested object does not exist',
  3: 'a value of the request is not allowed',
  4: 'the device has a failure',
  5: 'the device needs more time',
  6: 'the device is busy',
  7: 'the device refuses the request',
  8: 'the device has a memory error',
  10: 'the gateway has no path to the unit',
  11: 'the unit behind the gateway does not answer',
}
const gatewayExceptions: readonly (number | undefined)[] = [10, 11]

type Fault = 'exception' | 'no answer' | 'closed' | 'not modbus'

/** `ModbusError` means that a connection or a unit did not give a usable answer. */
export class ModbusError extends LinkError {
  readonly fault: Fault
  readonly exception: number | undefined

  constructor(fault: Fault, description: string, exception?: number) {
    super(fault === 'not modbus' ? 'PAYLOAD_DESERIALISATION_ISSUE' : 'UNAVAILABLE', description)
    this.name = 'ModbusError'
    this.fault = fault
    this.exception = exception
  }

  /** Whether a gateway answered, because it could not reach the unit. */
  get isFromGateway(): boolean {
    return gatewayExceptions.includes(this.exception)
  }
}

/** Connects to a port. Returns undefined if it accepts no connection within the time limit. */
export async function connectTo(options: ContactOptions): Promise<ModbusConnection | undefined> {
  const socket = await connectToDevice({ ...options, protocol: 'modbus', operation: 'Connect' })
  return socket === undefined ? undefined : new ModbusConnection(socket, options)
}

type Pending = { transaction: number; resolve: (body: Buffer) => void; reject: (error: unknown) => void }

/** `ModbusConnection` sends one request at a time over a TCP connection. */
export class ModbusConnection implements Disposable {
  readonly #socket: Socket
  readonly #options: ContactOptions
  #received = Buffer.alloc(0)
  #transaction = 0
  #otherFrames = 0
  #pending: Pending | undefined
  /** True when the last request was not answered in time. */
  #isUnanswered = false
  #failure: unknown

  constructor(socket: Socket, options: ContactOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('data', (bytes) => this.#onData(bytes))
    socket.on('error', () => this.#onClose())
    socket.on('end', () => this.#onClose())
    socket.on('close', () => this.#onClose())
    options.signal.addEventListener('abort', this.#abort, { once: true })
  }

  /** Whether the device has closed the connection, or sent something that is not Modbus. */
  get isClosed(): boolean {
    return this.#failure !== undefined
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.#abort)
    // The operating system would repeat a request that the device has not confirmed.
    if (this.#isUnanswered) resetConnection(this.#socket)
    else this.#socket.destroy()
  }

  /**
   * Reads the identification of a unit, up to the category and the conformity level of the unit. If the unit answers only
   * to the basic category, the result contains only its objects.
   */
  async readIdentification(unit: number, most: Category): Promise<Identification> {
    const { conformityLevel, objects } = await this.#readCategory(unit, categories.basic)
    for (let code = categories.basic + 1; code <= Math.min(conformityLevel, categories[most]); code += 1) {
      try {
        const further = await this.#readCategory(unit, code)
        for (const [id, value] of further.objects) objects.set(id, value)
      } catch (error) {
        if (error instanceof ModbusError) break
        throw error
      }
    }
    return { conformityLevel, objects }
  }

  /** Reads the description of a unit. Its content depends on the device. */
  async reportServerId(unit: number): Promise<Buffer> {
    const body = await this.#request(unit, Buffer.of(functionCodes.reportServerId), 'ReportServerId')
    const bytes = body[1] ?? 0
    if (bytes === 0 || bytes > body.length - 2) throw this.#notModbus('the length of its server id is wrong')
    return Buffer.from(body.subarray(2, 2 + bytes))
  }

  async #readCategory(unit: number, category: number) {
    const objects = new Map<number, Buffer>()
    let conformityLevel = 0
    let firstObject = 0
    for (let count = 0; count < mostContinuations; count += 1) {
      const request = Buffer.of(functionCodes.encapsulatedInterface, deviceIdentification, category, firstObject)
      const answer = this.#parse(await this.#request(unit, request, 'ReadDeviceIdentification'))
      conformityLevel ||= answer.conformityLevel
      for (const [id, value] of answer.objects) objects.set(id, value)
      // An object number that does not grow would continue without end.
      if (answer.nextObject === undefined || answer.nextObject <= firstObject) break
      firstObject = answer.nextObject
    }
    return { conformityLevel, objects }
  }

  #parse(body: Buffer) {
    const parsed = parseIdentification(body)
    if (typeof parsed === 'string') throw this.#notModbus(parsed)
    return parsed
  }

  /** Sends a request and returns its answer without the header. Throws a `ModbusError` for an exception. */
  async #request(unit: number, request: Buffer, operation: string): Promise<Buffer> {
    const { address, permits, signal } = this.#options
    using _permit = await takePermit(permits, { address, protocol: 'modbus', operation, kind: 'request' }, signal)
    const body = await this.#exchange(unit, request)
    const [functionCode = 0, exception = 0] = body
    if (functionCode === request[0]) return body
    if (functionCode !== ((request[0] ?? 0) | exceptionFlag) || body.length < 2)
      throw this.#notModbus(`it answers with the function code ${functionCode}`)
    const words = exceptionWords[exception] ?? 'the meaning of this code is not specified'
    throw new ModbusError(
      'exception',
      `${this.#place} answers for unit ${unit} with exception ${exception}: ${words}.`,
      exception,
    )
  }

  async #exchange(unit: number, request: Buffer): Promise<Buffer> {
    if (this.#failure !== undefined) throw this.#failure
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    this.#transaction = (this.#transaction + 1) & 0xffff
    const header = Buffer.alloc(headerBytes)
    header.writeUInt16BE(this.#transaction, 0)
    header.writeUInt16BE(request.length + 1, 4)
    header.writeUInt8(unit, 6)
    this.#pending = { transaction: this.#transaction, resolve, reject }
    this.#isUnanswered = true
    using _timer = startTimer(this.#options.timeoutMs, () =>
      reject(new ModbusError('no answer', `${this.#place} does not answer to Modbus requests for unit ${unit}.`)),
    )
    this.#socket.write(Buffer.concat([header, request]))
    try {
      const body = await promise
      this.#isUnanswered = false
      return body
    } finally {
      this.#pending = undefined
    }
  }

  #onData(bytes: Buffer): void {
    if (this.#failure !== undefined) return
    this.#received = Buffer.concat([this.#received, bytes])
    while (this.#failure === undefined && this.#received.length >= headerBytes) {
      const length = this.#received.readUInt16BE(4)
      const isFrame =
        this.#received.readUInt16BE(2) === 0 && length >= lengthLimits.least && length <= lengthLimits.most
      if (!isFrame) {
        this.#fail(this.#notModbus('its answer has no Modbus header'))
        return
      }
      const end = headerBytes - 1 + length
      if (this.#received.length < end) return
      const frame = this.#received.subarray(0, end)
      this.#received = Buffer.from(this.#received.subarray(end))
      this.#onFrame(frame)
    }
  }

  /** Frames of other transactions are answers that came after the time limit. */
  #onFrame(frame: Buffer): void {
    if (this.#pending !== undefined && frame.readUInt16BE(0) === this.#pending.transaction) {
      this.#pending.resolve(Buffer.from(frame.subarray(headerBytes)))
      this.#pending = undefined
      return
    }
    this.#otherFrames += 1
    if (this.#otherFrames > mostOtherFrames) this.#fail(this.#notModbus('it sends answers without requests'))
  }

  #onClose(): void {
    this.#socket.destroy()
    this.#fail(new ModbusError('closed', `${this.#place} closes the connection without an answer.`))
  }

  readonly #abort = () => this.#fail(this.#options.signal.reason)

  #fail(error: unknown): void {
    this.#failure ??= error
    this.#pending?.reject(this.#failure)
    this.#received = Buffer.alloc(0)
    resetConnection(this.#socket)
  }

  #notModbus(reason: string): ModbusError {
    return new ModbusError('not modbus', `${this.#place} does not speak Modbus correctly: ${reason}.`)
  }

  get #place(): string {
    return `${this.#options.address} port ${this.#options.port}`
  }
}

type IdentificationPart = Identification & { nextObject: number | undefined }

/**
 * Parses the answer to Read Device Identification. Returns the fault of a wrong answer as text. An answer can contain
 * fewer objects than it counts: in the example of the specification, the count includes objects of other answers.
 */
export function parseIdentification(body: Buffer): IdentificationPart | string {
  if (body.length < 7 || body[1] !== deviceIdentification) return 'its identification is incomplete'
  const [, , , conformity = 0, more = 0, next = 0, most = 0] = body
  const objects = new Map<number, Buffer>()
  let at = 7
  for (let count = 0; count < most && at < body.length; count += 1) {
    const [id, bytes] = [body[at], body[at + 1]]
    if (id === undefined || bytes === undefined || at + 2 + bytes > body.length)
      return 'the length of an identification object is wrong'
    objects.set(id, Buffer.from(body.subarray(at + 2, at + 2 + bytes)))
    at += 2 + bytes
  }
  return { conformityLevel: conformity & 0x7f, objects, nextObject: more === moreFollows ? next : undefined }
}
