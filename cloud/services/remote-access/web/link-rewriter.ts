/**
 * Rewrites absolute links to the origin of a device in an HTML page, so that they stay in the session.
 *
 * A link is rewritten if it is at the start of an attribute value, a string of a script or a `url(…)` of a style: after a
 * quote, an equals sign or a parenthesis. Text of the page does not change. The rewriter works on bytes in order, keeps
 * at most the start of one link, and its result does not depend on how the page is divided into chunks.
 */
import { Transform, type TransformCallback } from 'node:stream'
import type { DeviceOrigin } from './device-origin.ts'

const linkStart = /["'`=(]/
/** A character after which the host or the port would be a different one. */
const hostCharacter = '[0-9A-Za-z.:@_%-]'

export class LinkRewriter extends Transform {
  readonly #literals: readonly string[]
  readonly #longest: number
  readonly #pattern: RegExp
  readonly #origin: string
  /** The last character that was passed on. It decides whether the next character can start a link. */
  #before = ''
  #kept = ''

  constructor({ device, origin }: { device: DeviceOrigin; origin: string }) {
    super()
    const scheme = device.origin.slice(0, device.origin.indexOf('//'))
    this.#origin = origin
    this.#literals = device.hosts
      .flatMap((host) => ['//', '\\/\\/'].flatMap((slashes) => [`${scheme}${slashes}${host}`, `${slashes}${host}`]))
      .map((literal) => literal.toLowerCase())
    this.#longest = Math.max(...this.#literals.map(({ length }) => length))
    const links = this.#literals
      .toSorted((a, b) => b.length - a.length)
      .map((text) => text.replace(/[\\/.[\]:]/g, '\\$&'))
    this.#pattern = new RegExp(`(?<=${linkStart.source})(?:${links.join('|')})(?!${hostCharacter})`, 'gi')
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const text = this.#before + this.#kept + chunk.toString('latin1')
    const end = this.#decidedEnd(text)
    const decided = this.#rewritten(text.slice(0, end)).slice(this.#before.length)
    this.#kept = text.slice(end)
    this.#before = text.slice(Math.max(0, end - 1), end)
    done(null, Buffer.from(decided, 'latin1'))
  }

  override _flush(done: TransformCallback): void {
    const rest = this.#rewritten(this.#before + this.#kept).slice(this.#before.length)
    done(null, Buffer.from(rest, 'latin1'))
  }

  /**
   * Returns the position up to which the text is decided. The text after it can be the start of a link, or a link whose
   * next character is not known yet.
   */
  #decidedEnd(text: string): number {
    for (let start = Math.max(1, text.length - this.#longest); start < text.length; start++) {
      if (!linkStart.test(text.charAt(start - 1))) continue
      const rest = text.slice(start).toLowerCase()
      if (this.#literals.some((literal) => literal.startsWith(rest))) return start
    }
    return text.length
  }

  #rewritten(text: string): string {
    return text.replace(this.#pattern, (link) => {
      const target = /^[\\/]/.test(link) ? this.#origin.slice(this.#origin.indexOf('//')) : this.#origin
      return link.includes('\\') ? target.replaceAll('/', '\\/') : target
    })
  }
}
