import {
  damaged,
  type EnvironmentItem,
  environmentLimits,
  type ItemList,
  itemLists,
  itemTooLarge,
} from './environment-item.ts'

/**
 * Splits an environment in JSON into its shells and submodels. Only one item is in memory. The scanner follows strings and
 * brackets; the parser of the language checks each item.
 */
export async function* jsonItems(chunks: AsyncIterable<string>): AsyncGenerator<EnvironmentItem> {
  const scanner = new Scanner()
  for await (const chunk of chunks) yield* scanner.scan(chunk)
  scanner.end()
}

const code = { quote: 34, comma: 44, open: 91, backslash: 92, close: 93, openObject: 123, closeObject: 125 }

class Scanner {
  /** The number of open brackets. Items of a list of the environment start at depth 2. */
  #depth = 0
  #isString = false
  #isEscaped = false
  /** The last string at depth 1, with its quotation marks: the name of a list when its bracket opens. */
  #name = ''
  #list: ItemList | undefined
  /** The text of the current item in earlier chunks. */
  #item = ''
  #isFinished = false

  /** Returns the items that end in a chunk. */
  scan(chunk: string): EnvironmentItem[] {
    const items: EnvironmentItem[] = []
    // The place from which the text of an item or of a name is not stored yet.
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      if (this.#isString) {
        at = this.#endOfString(chunk, at)
        if (this.#isString) break
        if (this.#depth === 1) this.#name += chunk.slice(from, at + 1)
        continue
      }
      const character = chunk.charCodeAt(at)
      if (character === code.quote) {
        this.#isString = true
        if (this.#depth === 0) throw damaged('it is not a JSON object')
        if (this.#depth === 1) {
          this.#name = ''
          from = at
        }
      } else if (character === code.openObject || character === code.open) {
        if (this.#depth === 0 && (character === code.open || this.#isFinished)) throw damaged('it is not a JSON object')
        if (this.#depth === 1 && character === code.open) {
          this.#list = itemLists.find((list) => this.#name === `"${list}"`)
          this.#item = ''
          from = at + 1
        }
        this.#depth += 1
        if (this.#depth > environmentLimits.depth) throw itemTooLarge()
      } else if (character === code.closeObject || character === code.close) {
        this.#depth -= 1
        if (this.#depth < 0) throw damaged('a bracket is closed that was not opened')
        if (this.#depth === 1 && this.#list !== undefined) {
          items.push(...this.#finished(chunk.slice(from, at), this.#list))
          this.#list = undefined
        }
        if (this.#depth === 0) this.#isFinished = true
      } else if (character === code.comma && this.#depth === 2 && this.#list !== undefined) {
        items.push(...this.#finished(chunk.slice(from, at), this.#list))
        from = at + 1
      } else if (this.#depth === 0 && !/\s/.test(chunk.charAt(at))) throw damaged('it is not a JSON object')
    }
    if (this.#list !== undefined) {
      this.#item += chunk.slice(from)
      if (this.#item.length > environmentLimits.itemCharacters) throw itemTooLarge()
    } else if (this.#isString && this.#depth === 1) this.#name = (this.#name + chunk.slice(from)).slice(0, 64)
    return items
  }

  /** Returns the place of the quotation mark that ends the current string, or of the end of the chunk. */
  #endOfString(chunk: string, start: number): number {
    let from = this.#isEscaped ? start + 1 : start
    this.#isEscaped = false
    for (;;) {
      const quote = chunk.indexOf('"', from)
      const end = quote < 0 ? chunk.length : quote
      let backslashes = 0
      while (end - backslashes > from && chunk.charCodeAt(end - backslashes - 1) === code.backslash) backslashes += 1
      const isEscaped = backslashes % 2 === 1
      if (quote < 0) {
        this.#isEscaped = isEscaped
        return end
      }
      if (!isEscaped) {
        this.#isString = false
        return quote
      }
      from = quote + 1
    }
  }

  /** Returns the item that ends with this text. The list is empty if there is no item. */
  #finished(last: string, list: ItemList): EnvironmentItem[] {
    const text = this.#item + last
    this.#item = ''
    if (text.length > environmentLimits.itemCharacters) throw itemTooLarge()
    if (text.trim() === '') return []
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw damaged(error instanceof Error ? error.message : String(error))
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw damaged(`${list} has an invalid item`)
    return [{ list, value: value as EnvironmentItem['value'] }]
  }

  end(): void {
    if (!this.#isFinished || this.#depth !== 0) throw damaged('it ends too early')
  }
}
