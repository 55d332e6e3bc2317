import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createFirmware, FirmwareError, type FirmwareHeader, FirmwareReader, firmwareLimits } from './firmware.ts'

const line = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the format refuses control characters
  .filter((text) => text.trim() === text && !/[\u0000-\u001f\u007f\ufffd]/.test(text))
const payload = fc.uint8Array({ maxLength: 3_000 })
const cuts = fc.array(fc.nat(6_000), { maxLength: 8 })

/** Reads content in chunks that end at the given positions. */
function read(content: Uint8Array, ends: readonly number[]): FirmwareHeader {
  const reader = new FirmwareReader()
  let start = 0
  for (const end of [...ends.filter((one) => one < content.length).toSorted((a, b) => a - b), content.length]) {
    reader.push(content.subarray(start, end))
    start = end
  }
  return reader.end()
}

/** Returns the error of the reader, or undefined when the content is valid. Other errors are thrown. */
function errorOf(content: Uint8Array, ends: readonly number[] = []): string | undefined {
  try {
    read(content, ends)
    return undefined
  } catch (error) {
    if (error instanceof FirmwareError) return error.message
    throw error
  }
}

test('FirmwareReader reads every artefact of createFirmware, in chunks of any size', () => {
  fc.assert(
    fc.property(line, line, payload, cuts, (product, version, bytes, ends) => {
      const header = read(createFirmware({ product, version, payload: bytes }), ends)
      assert.deepEqual([header.product, header.version, header.size], [product, version, bytes.length])
    }),
  )
})

test('FirmwareReader reads a header of only the product and the version', () => {
  fc.assert(
    fc.property(line, line, payload, cuts, (product, version, bytes, ends) => {
      const start = Buffer.from(bytes).toString('latin1')
      fc.pre(!start.startsWith('size: ') && !start.startsWith('sha256: '))
      const header = `MILLWRIGHT-PLANT-FIRMWARE\nproduct: ${product}\nversion: ${version}\n`
      const content = Buffer.concat([Buffer.from(header), bytes])
      assert.deepEqual(read(content, ends), { product, version })
    }),
  )
})

test('FirmwareReader detects every change of one byte of the payload, and never reads the same header from a changed one', () => {
  const product = 'KC 1515-2'
  fc.assert(
    fc.property(payload, fc.nat(), fc.integer({ min: 1, max: 255 }), (bytes, position, difference) => {
      const content = createFirmware({ product, version: '3.1.0', payload: bytes })
      const index = position % content.length
      const header = read(content, [])
      content[index] = (content[index] ?? 0) ^ difference
      const error = errorOf(content)
      if (index >= content.length - bytes.length) assert.match(error ?? '', /damaged/)
      else if (error === undefined) assert.notDeepEqual(read(content, []), header)
    }),
  )
})

test('FirmwareReader rejects an artefact whose payload is cut off or continued', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 3_000 })
  fc.assert(
    fc.property(bytes, fc.nat(), bytes, cuts, (own, position, more, ends) => {
      const content = createFirmware({ product: 'a', version: '1', payload: own })
      const part = content.subarray(0, content.length - 1 - (position % own.length))
      assert.match(errorOf(part, ends) ?? '', /bytes instead of/)
      assert.match(errorOf(Buffer.concat([content, more]), ends) ?? '', /more than/)
    }),
  )
})

test('FirmwareReader rejects any other content without an unexpected error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 6_000 }), cuts, (content, ends) => {
      assert.match(errorOf(content, ends) ?? '', /not firmware|not complete/)
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 6_000 }), cuts, (rest, ends) => {
      errorOf(Buffer.concat([Buffer.from('MILLWRIGHT-PLANT-FIRMWARE\nproduct: a\nversion: 1\nsize: '), rest]), ends)
      errorOf(Buffer.concat([Buffer.from('MILLWRIGHT-PLANT-FIRMWARE\nproduct: '), rest]), ends)
    }),
  )
})

test('FirmwareReader stores only the header, also if the header never ends', () => {
  const reader = new FirmwareReader()
  reader.push(Buffer.from('MILLWRIGHT-PLANT-FIRMWARE\nproduct: '))
  assert.throws(() => {
    for (let bytes = 0; bytes <= 2 * firmwareLimits.headerBytes; bytes += 100) reader.push(Buffer.alloc(100, 'x'))
  }, FirmwareError)
})

test('createFirmware rejects a product or a version that is not one line', () => {
  for (const text of ['', ' a', 'a\nb', 'a\u0000', 'x'.repeat(257), '\ud800']) {
    assert.throws(() => createFirmware({ product: text, version: '1', payload: Buffer.alloc(0) }), FirmwareError)
    assert.throws(() => createFirmware({ product: 'a', version: text, payload: Buffer.alloc(0) }), FirmwareError)
  }
})
