/**
 * A parser for the XML of spreadsheets, which calls a handler for each tag and each text. It reads the text in chunks.
 * Document type definitions are refused, because they can define entities that expand without limit.
 */

export type XmlHandler = {
  /** `attributes` is the text between the name of the tag and its end (see `attributesIn`). */
  open(name: string, attributes: string): void
  close(name: string): void
  text(text: string): void
}

/** The maximum number of characters of a tag or a text. */
const longestToken = 1024 * 1024

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

export class XmlError extends Error {}

export class XmlParser {
  readonly #handler: XmlHandler
  #rest = ''

  constructor(handler: XmlHandler) {
    this.#handler = handler
  }

  write(chunk: string): void {
    const text = this.#rest + chunk
    let at = 0
    for (;;) {
      const start = text.indexOf('<', at)
      if (start < 0) break
      const end = endOf(text, start)
      if (end < 0) break
      if (start > at) this.#handler.text(decoded(text.slice(at, start)))
      this.#markup(text, start, end)
      at = end
    }
    this.#rest = text.slice(at)
    if (this.#rest.length > longestToken) throw new XmlError(`a text has more than ${longestToken} characters`)
  }

  end(): void {
    if (this.#rest.trim() !== '') throw new XmlError('the XML ends within a tag')
  }

  #markup(text: string, start: number, end: number): void {
    const second = text[start + 1]
    if (second === '!') {
      if (text.startsWith('<![CDATA[', start)) this.#handler.text(text.slice(start + 9, end - 3))
      else if (!text.startsWith('<!--', start)) throw new XmlError('the XML has a document type definition')
      return
    }
    if (second === '?') return
    if (second === '/') {
      this.#handler.close(localName(text.slice(start + 2, end - 1).trimEnd()))
      return
    }
    const isEmpty = text[end - 2] === '/'
    const content = text.slice(start + 1, isEmpty ? end - 2 : end - 1)
    const space = content.search(/\s/)
    const name = localName(space < 0 ? content : content.slice(0, space))
    this.#handler.open(name, space < 0 ? '' : content.slice(space + 1))
    if (isEmpty) this.#handler.close(name)
  }
}

/** Returns the position after the markup that begins at `start`, or -1 if the text ends within it. */
function endOf(text: string, start: number): number {
  const after = (mark: string) => {
    const at = text.indexOf(mark, start)
    return at < 0 ? -1 : at + mark.length
  }
  if (text[start + 1] === '?') return after('?>')
  if (text[start + 1] === '!') {
    if (text.length - start < 9) return -1
    if (text.startsWith('<!--', start)) return after('-->')
    if (text.startsWith('<![CDATA[', start)) return after(']]>')
    return after('>')
  }
  // The value of an attribute can contain `>`. Each expression reads the tag once, so a long tag cannot take long.
  tagContent.lastIndex = start
  const end = tagContent.exec(text) === null ? -1 : tagContent.lastIndex
  return text[end] === '>' ? end + 1 : -1
}

/** The characters of a tag up to its end. */
const tagContent = /(?:[^"'>]+|"[^"]*"|'[^']*')*/y

/** Returns a name without its namespace prefix. */
function localName(name: string): string {
  const colon = name.indexOf(':')
  return colon < 0 ? name : name.slice(colon + 1)
}

/** One attribute, directly after the previous one. Other text ends the search. */
const attribute = /\s*([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/gy

/** Returns the attributes of a tag by their local names. */
export function attributesIn(text: string): Map<string, string> {
  const attributes = new Map<string, string>()
  for (const [, name = '', double, single] of text.matchAll(attribute))
    attributes.set(localName(name), decoded(double ?? single ?? ''))
  return attributes
}

function decoded(text: string): string {
  if (!text.includes('&')) return text
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w{1,8}));/g, (entity, decimal, hex, name) => {
    const code = decimal === undefined ? (hex === undefined ? undefined : Number.parseInt(hex, 16)) : Number(decimal)
    if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
    return entities[name] ?? entity
  })
}
