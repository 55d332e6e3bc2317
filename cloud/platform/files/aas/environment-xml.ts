import { Problem } from '@millwright/api/problem.ts'
import { attributesIn, XmlError, XmlParser } from '../xml.ts'
import {
  damaged,
  type EnvironmentItem,
  environmentLimits,
  type ItemList,
  itemLists,
  itemTooLarge,
} from './environment-item.ts'

/** An element with its content: its text, or its child elements. `language` is the attribute of a text in version 2. */
type XmlNode = { name: string; language?: string | undefined; text: string; children: XmlNode[] }

/**
 * Reads an environment in XML, and returns its shells and submodels as objects of the JSON serialization of version 3.
 * Version 2 has other names for ids, texts and references, and one more element around each submodel element.
 */
export async function* xmlItems(chunks: AsyncIterable<string>): AsyncGenerator<EnvironmentItem> {
  const reader = new Reader()
  const parser = new XmlParser(reader)
  try {
    for await (const chunk of chunks) {
      parser.write(chunk)
      yield* reader.take()
    }
    parser.end()
  } catch (error) {
    throw error instanceof XmlError ? damaged(error.message) : error
  }
  if (!reader.isFinished) throw damaged('it ends too early')
}

/** The number of characters for which an element counts, because it takes more memory than its text. */
const elementCharacters = 128

class Reader {
  /** The names of all open elements. */
  readonly #path: string[] = []
  /** The open elements of the current item. */
  readonly #open: XmlNode[] = []
  #items: EnvironmentItem[] = []
  #characters = 0
  isFinished = false

  open(name: string, attributes: string): void {
    if (this.isFinished) throw damaged('it has several root elements')
    if (this.#path.length === 0) requireVersion(name, attributes)
    this.#path.push(name)
    if (this.#path.length > environmentLimits.depth) throw itemTooLarge()
    if (this.#path.length < 3) return
    this.#count(elementCharacters)
    const language = name === 'langString' ? attributesIn(attributes).get('lang') : undefined
    const node = { name, language, text: '', children: [] }
    this.#open.at(-1)?.children.push(node)
    this.#open.push(node)
  }

  text(text: string): void {
    const node = this.#open.at(-1)
    if (node === undefined) return
    this.#count(text.length)
    node.text += text
  }

  close(name: string): void {
    if (this.#path.pop() !== name) throw damaged(`the element ${name} is not closed correctly`)
    const node = this.#open.pop()
    if (this.#path.length === 2 && node !== undefined) {
      this.#characters = 0
      const list = itemLists.find((one) => one === this.#path[1])
      if (list !== undefined) this.#items.push({ list, value: objectOf(node) })
    }
    if (this.#path.length === 0) this.isFinished = true
  }

  take(): EnvironmentItem[] {
    const items = this.#items
    this.#items = []
    return items
  }

  #count(characters: number): void {
    this.#characters += characters
    if (this.#characters > environmentLimits.itemCharacters) throw itemTooLarge()
  }
}

/** The root elements of the supported versions, with their namespaces. */
const roots: readonly { name: string; namespace: RegExp }[] = [
  { name: 'environment', namespace: /^https:\/\/admin-shell\.io\/aas\/3\/\d+$/ },
  { name: 'aasenv', namespace: /^http:\/\/www\.admin-shell\.io\/aas\/[12]\/0$/ },
]

function requireVersion(name: string, attributes: string): void {
  const root = roots.find((one) => one.name === name)
  if (root !== undefined && [...attributesIn(attributes).values()].some((value) => root.namespace.test(value))) return
  throw new Problem(
    'unsupported_file',
    'The package contains no environment of Asset Administration Shells in version 2 or 3. Save it in version 3, for example with the AASX Package Explorer',
  )
}

/** Elements whose children are the items of a list. `value` is a list if it has children. */
const lists: ReadonlySet<string> = new Set<ItemList | string>([
  ...itemLists,
  'submodelRefs',
  'submodelElements',
  'statements',
  'annotations',
  'extensions',
  'qualifiers',
  'displayName',
  'description',
  'keys',
  'specificAssetIds',
  'supplementalSemanticIds',
  'value',
])

/** The names of members in version 2, with their names in version 3. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['identification', 'id'],
  ['submodelRefs', 'submodels'],
])

function objectOf(node: XmlNode): EnvironmentItem['value'] {
  const [only] = node.children
  if (node.name === 'submodelElement' && only !== undefined) return objectOf(only)
  if (node.name === 'langString') return { language: node.language ?? '', text: node.text }
  if (node.name === 'key' && only === undefined) return { value: node.text }
  const members = node.children.map((child) => [renamed.get(child.name) ?? child.name, contentOf(child)] as const)
  const modelType = node.name.charAt(0).toUpperCase() + node.name.slice(1)
  return { modelType, ...Object.fromEntries(members) }
}

function contentOf(node: XmlNode): unknown {
  if (node.children.length === 0) return lists.has(node.name) && node.name !== 'value' ? [] : node.text
  return lists.has(node.name) ? node.children.map(objectOf) : objectOf(node)
}
