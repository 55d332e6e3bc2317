/** Formats a value as one line of text without control characters. */
export function displayText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(displayText).join(', ')
  if (typeof value === 'object') return sanitize(JSON.stringify(value))
  return sanitize(typeof value === 'string' && isTime.test(value) ? value.replace(/\.\d+Z$/, 'Z') : String(value))
}

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/

/**
 * Matches control characters. Names come from devices, and a control character in a name must not move the cursor or
 * colour the screen.
 */
const control = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

export function sanitize(text: string): string {
  return text.replace(control, '\ufffd')
}

const narrow = /^[\u0020-\u02ff]*$/
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** Returns the number of terminal columns that a text occupies. */
export function displayWidth(text: string): number {
  if (narrow.test(text)) return text.length
  let width = 0
  for (const character of text) width += /\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** Truncates a text to a width, with … at its end. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let result = ''
  let used = 1
  for (const character of text) {
    used += displayWidth(character)
    if (used > width) break
    result += character
  }
  return `${result}…`
}

/** Formats a number of bytes with a unit. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

/** Formats a count with its noun: `1 asset`, `2 assets`. */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}
