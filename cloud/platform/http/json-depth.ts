const quote = 0x22
const backslash = 0x5c
const openArray = 0x5b
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/**
 * Returns whether the arrays and objects of a JSON text are nested deeper than a number of levels. The bytes are read once
 * and without recursion, so that a deeply nested text cannot exhaust the stack.
 */
export function isNestedDeeper(json: Uint8Array, levels: number): boolean {
  let depth = 0
  for (let index = 0; index < json.length; index++) {
    const byte = json[index]
    if (byte === quote) {
      // A string ends at the next quotation mark without a backslash before it.
      for (index++; index < json.length && json[index] !== quote; index++) if (json[index] === backslash) index++
    } else if (byte === openArray || byte === openObject) {
      depth++
      if (depth > levels) return true
    } else if (byte === closeArray || byte === closeObject) depth--
  }
  return false
}
