import { inspect } from 'node:util'

/** The minimum length of a part of a secret. Shorter parts are not searched in texts. */
const minSecretCharacters = 3

/**
 * `Secret` stores a secret text as bytes, which are overwritten when the secret is disposed. Printing a secret shows
 * stars. The secret exists as a string only while it is sent.
 */
export class Secret implements Disposable {
  readonly #bytes: Buffer

  constructor(text: string) {
    // The buffer has its own allocation, because small buffers of Node share a pool.
    this.#bytes = Buffer.alloc(Buffer.byteLength(text))
    this.#bytes.write(text)
  }

  /** Returns the secret text. Use it only for sending. */
  reveal(): string {
    return this.#bytes.toString()
  }

  /** Returns true when a text contains a part of the secret. */
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
    // A text that is not JSON has no parts.
  }
  return texts
}
