import { createHash } from 'node:crypto'

/**
 * This file implements the artefact format of simulated devices. An artefact is a text header and a payload of any bytes:
 *
 *     MILLWRIGHT-PLANT-FIRMWARE
 *     product: KC 1515-2
 *     version: 3.1.0
 *     size: 1024
 *     sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
 *
 * The lines have this order and end with a line feed. The payload starts after the last line of the header. `size` and
 * `sha256` describe the payload. They can be left out; then a device cannot check the payload and reports no progress.
 */

const magic = 'MILLWRIGHT-PLANT-FIRMWARE'

export const firmwareLimits = {
  /** The maximum size of the header. */
  headerBytes: 4_096,
  /** The maximum length of the product and of the version. */
  textCharacters: 256,
  payloadBytes: 16 * 1024 * 1024 * 1024,
} as const

export type FirmwareHeader = { product: string; version: string; size?: number; sha256?: string }

/** `FirmwareError` is the reason why content is not a valid artefact. */
export class FirmwareError extends Error {}

/** Creates an artefact for a product. */
export function createFirmware({
  product,
  version,
  payload,
}: {
  product: string
  version: string
  payload: Uint8Array
}): Buffer {
  for (const [name, text] of Object.entries({ product, version })) {
    if (!isLine(text)) {
      throw new FirmwareError(
        `The ${name} must be one line of at most ${firmwareLimits.textCharacters} characters, without spaces around it.`,
      )
    }
  }
  const sha256 = createHash('sha256').update(payload).digest('hex')
  const header = `${magic}\nproduct: ${product}\nversion: ${version}\nsize: ${payload.length}\nsha256: ${sha256}\n`
  return Buffer.concat([Buffer.from(header), payload])
}

/**
 * `FirmwareReader` reads an artefact in chunks of any size. Only the header is stored; the payload is counted and hashed.
 */
export class FirmwareReader {
  readonly #hash = createHash('sha256')
  #start = Buffer.alloc(0)
  #header: FirmwareHeader | undefined
  #receivedBytes = 0

  /** The header, as soon as it is complete. */
  get header(): FirmwareHeader | undefined {
    return this.#header
  }

  /** The percentage of the payload that was read. It is undefined if the header does not contain the size. */
  get progress(): number | undefined {
    const size = this.#header?.size
    if (size === undefined) return undefined
    return size === 0 ? 100 : Math.min(100, (this.#receivedBytes / size) * 100)
  }

  /** Reads the next chunk. Throws a `FirmwareError` when the content cannot be a valid artefact. */
  push(chunk: Uint8Array): void {
    if (this.#header !== undefined) {
      this.#addPayload(chunk)
      return
    }
    this.#start = Buffer.concat([this.#start, chunk])
    this.#readHeader({ isComplete: this.#start.length >= firmwareLimits.headerBytes })
  }

  /** Ends the content. Returns its header, or throws a `FirmwareError` when the content is not complete or damaged. */
  end(): FirmwareHeader {
    if (this.#header === undefined) this.#readHeader({ isComplete: true })
    const header = this.#header
    if (header === undefined) throw new FirmwareError('The header of the firmware is not complete.')
    if (header.size !== undefined && header.size !== this.#receivedBytes) {
      throw new FirmwareError(`The firmware has ${this.#receivedBytes} bytes instead of ${header.size}.`)
    }
    if (header.sha256 !== undefined && header.sha256 !== this.#hash.digest('hex')) {
      throw new FirmwareError('The content of the firmware is damaged: its SHA-256 is wrong.')
    }
    return header
  }

  #readHeader({ isComplete }: { isComplete: boolean }): void {
    const parsed = parseHeader(this.#start, isComplete)
    if (parsed === undefined) return
    this.#header = parsed.header
    const payload = this.#start.subarray(parsed.bytes)
    this.#start = Buffer.alloc(0)
    this.#addPayload(payload)
  }

  #addPayload(bytes: Uint8Array): void {
    const { size = firmwareLimits.payloadBytes } = this.#header ?? {}
    this.#receivedBytes += bytes.length
    if (this.#receivedBytes > size) throw new FirmwareError(`The firmware has more than ${size} bytes.`)
    this.#hash.update(bytes)
  }
}

/**
 * Parses the header at the start of the content. Returns undefined if more bytes are needed. With `isComplete`, the bytes
 * are all bytes that the header can have.
 */
function parseHeader(start: Buffer, isComplete: boolean): { header: FirmwareHeader; bytes: number } | undefined {
  let bytes = 0
  /** Returns the next line if it starts with the prefix, false if it does not, and undefined if more bytes are needed. */
  const lineWith = (prefix: string): string | false | undefined => {
    const rest = start.subarray(bytes, firmwareLimits.headerBytes)
    const beginning = Buffer.from(prefix)
    const common = Math.min(rest.length, beginning.length)
    if (!rest.subarray(0, common).equals(beginning.subarray(0, common))) return false
    const end = rest.indexOf(0x0a)
    if (end === -1 || end < beginning.length) return isComplete ? false : undefined
    bytes += end + 1
    return rest.toString('utf8', beginning.length, end)
  }
  const first = lineWith(magic)
  if (first === undefined) return undefined
  if (first !== '') throw new FirmwareError(`The content is not firmware: it does not start with ${magic}.`)
  const product = lineWith('product: ')
  if (product === undefined) return undefined
  const version = product === false ? false : lineWith('version: ')
  if (version === undefined) return undefined
  if (product === false || version === false || !isLine(product) || !isLine(version)) {
    throw new FirmwareError('The header of the firmware has no valid product and version.')
  }
  const size = lineWith('size: ')
  if (size === undefined) return undefined
  const sha256 = lineWith('sha256: ')
  if (sha256 === undefined) return undefined
  if (size !== false && !(/^\d{1,11}$/.test(size) && Number(size) <= firmwareLimits.payloadBytes)) {
    throw new FirmwareError('The header of the firmware has no valid size.')
  }
  if (sha256 !== false && !/^[0-9a-f]{64}$/.test(sha256)) {
    throw new FirmwareError('The header of the firmware has no valid SHA-256.')
  }
  const header = {
    product,
    version,
    ...(size === false ? {} : { size: Number(size) }),
    ...(sha256 === false ? {} : { sha256 }),
  }
  return { header, bytes }
}

function isLine(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line must not contain control characters
  const hasControl = /[\u0000-\u001f\u007f\ufffd]/.test(text)
  return (
    text !== '' &&
    text.isWellFormed() &&
    text === text.trim() &&
    text.length <= firmwareLimits.textCharacters &&
    !hasControl
  )
}
