import { storableText } from '../../../platform/database/json.ts'
import { type Document, isObject, type PlainObject, setMember } from '../../../platform/plain-object.ts'

export {
  type Document,
  escapedPointer,
  isObject,
  mapMembers,
  objectsOf,
  outOfBounds,
  type PlainObject,
  setMember,
  textOf,
} from '../../../platform/plain-object.ts'

/** Sorts the members of every object in the value by name. Returns the same value if it is already sorted. */
export function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.every(isOrdered) ? value : value.map(ordered)
  return !isObject(value) || isOrdered(value) ? value : inOrder(value, compareNames, ordered)
}

function isOrdered(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isOrdered)
  if (!isObject(value)) return value !== undefined
  let before = ''
  for (const name of Object.keys(value)) {
    if (name < before || !isOrdered(value[name])) return false
    before = name
  }
  return true
}

/**
 * Returns a new object with the members sorted by `order`. `make` converts each value; members for which it returns
 * `undefined` are left out. Characters in names that the database cannot store are replaced.
 */
export function inOrder(
  object: PlainObject,
  order: (a: string, b: string) => number,
  make: (member: unknown, name: string) => unknown,
): Document {
  const result: Document = {}
  for (const name of Object.keys(object).sort(order)) {
    const member = make(object[name], name)
    if (member !== undefined) setMember(result, storableText(name), member)
  }
  return result
}

export function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Cuts a text to at most this number of UTF-8 bytes. It never cuts inside a character. */
export function cutToBytes(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text
  const encoded = Buffer.from(text)
  if (encoded.length <= bytes) return text
  let end = bytes
  while (((encoded[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1
  return encoded.toString('utf8', 0, end)
}
