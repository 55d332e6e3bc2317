import { inspect } from 'node:util'

/** The minimum length of a part of a secret that is searched in texts. */
const minSecretCharacters = 3

/**
 * `Secret` stores a secret text as bytes, which are overwritten when the secret is disposed. Printing a `Secret` shows
 * stars. The secret exists as a string only while it is sent or compared with a text.
 */
export class Secret implements Disposable {
  readonly #bytes: Buffer

  constructor(text: string) {
    // The buffer has its own allocation, because Node allocates small buffers in a shared pool.
    this.#bytes = Buffer.alloc(Buffer.byteLength(text))
    this.#bytes.write(text)
  }

  /** Returns the secret text. Call this function only to send the secret to a link. */
  reveal(): string {
    return this.#bytes.toString()
  }

  /** Returns true when a text contains the secret or one of its parts. */
  isIn(text: string): boolean {
    return textsIn(this.reveal()).some((one) => one.length >= minSecretCharacters && text.includes(one))
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

/** Returns the whole text and, if it is JSON, each text and number in it. */
function textsIn(text: string): string[] {
  const texts = [text]
  try {
    JSON.parse(text, (_, value: unknown) => {
      if (typeof value === 'string' || typeof value === 'number') texts.push(String(value))
      return value
    })
  } catch {
    // A text that is not JSON has no separate parts.
  }
  return texts
}
