/** What a value is for people: one line, without anything that a terminal would take for a command. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(shown).join(', ')
  if (typeof value === 'object') return plain(JSON.stringify(value))
  return plain(typeof value === 'string' && isTime.test(value) ? value.replace(/\.\d+Z$/, 'Z') : String(value))
}

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/

/** Names come from devices: a control character in one must not move the cursor or colour the screen. */
const control = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

export function plain(text: string): string {
  return text.replace(control, '\ufffd')
}

const narrow = /^[\u0020-\u02ff]*$/
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** How many columns of a terminal a text takes. */
export function widthOf(text: string): number {
  if (narrow.test(text)) return text.length
  let width = 0
  for (const character of text) width += /\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}

export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** As much of a text as fits, with … where something is missing. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let taken = 1
  for (const character of text) {
    taken += widthOf(character)
    if (taken > width) break
    kept += character
  }
  return `${kept}…`
}

/** A number of bytes as people say it. */
export function sized(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

/** `1 asset`, `2 assets`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
