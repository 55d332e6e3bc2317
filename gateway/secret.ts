import { inspect } from 'node:util'

/** The shortest text that gives something away where it turns up. */
const tellingCharacters = 3

/**
 * Text that nobody may see. It is kept as bytes that are overwritten when it is needed no longer, and shows as stars
 * wherever something is printed. The text itself exists only while it is put on the wire.
 */
export class Secret implements Disposable {
  readonly #bytes: Buffer

  constructor(text: string) {
    // Memory of its own: small buffers share theirs with others.
    this.#bytes = Buffer.alloc(Buffer.byteLength(text))
    this.#bytes.write(text)
  }

  /** For the wire alone. */
  reveal(): string {
    return this.#bytes.toString()
  }

  /** Whether a text, which somebody else wrote, gives any of it away. */
  isIn(text: string): boolean {
    return textsIn(this.reveal()).some((one) => one.length >= tellingCharacters && text.includes(one))
  }

  toString(): string {
    return '***'
  }

  toJSON(): string {
    return '***'
  }

  [inspect.custom](): string {
    return '***'
  }

  [Symbol.dispose](): void {
    this.#bytes.fill(0)
  }
}

/** The whole text and, where it is JSON, each text and number in it. */
function textsIn(text: string): string[] {
  const texts = [text]
  try {
    JSON.parse(text, (_, value: unknown) => {
      if (typeof value === 'string' || typeof value === 'number') texts.push(String(value))
      return value
    })
  } catch {
    // Then it has no parts.
  }
  return texts
}
