/** The keys of the escape sequences, as in OpenSSH. */
const tilde = 0x7e
const dot = 0x2e
const questionMark = 0x3f
const carriageReturn = 0x0d
const lineFeed = 0x0a

export type EscapeAction = 'end' | 'help'

export const escapeHelp = `Escape sequences, at the start of a line:
  ~.  end the session
  ~~  send the character ~
  ~?  show this text`

/**
 * `EscapeFilter` finds the escape sequences in the keys that a user types, and returns the other bytes. An escape sequence
 * starts with `~` at the start of a line. It can be split into several chunks.
 */
export class EscapeFilter {
  #isLineStart = true
  #hasTilde = false

  /** Returns the bytes to send. After `end`, the rest of the chunk is discarded. */
  filter(chunk: Uint8Array): { bytes: Buffer; actions: EscapeAction[] } {
    const bytes: number[] = []
    const actions: EscapeAction[] = []
    for (const byte of chunk) {
      if (this.#hasTilde) {
        this.#hasTilde = false
        if (byte === dot) return { bytes: Buffer.from(bytes), actions: [...actions, 'end'] }
        if (byte === questionMark) {
          actions.push('help')
          continue
        }
        bytes.push(tilde)
        this.#isLineStart = false
        if (byte === tilde) continue
      } else if (this.#isLineStart && byte === tilde) {
        this.#hasTilde = true
        continue
      }
      bytes.push(byte)
      this.#isLineStart = byte === carriageReturn || byte === lineFeed
    }
    return { bytes: Buffer.from(bytes), actions }
  }
}
