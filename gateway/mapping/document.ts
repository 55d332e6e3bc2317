/** `Document` is a JSON object of any structure. */

export type Document = { [name: string]: unknown }

export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the documents of a list. A single document counts as a list with one element. */
export function documentsOf(value: unknown): Document[] {
  return Array.isArray(value) ? value.filter(isDocument) : isDocument(value) ? [value] : []
}

/** Returns the value as one document. The documents of a list are merged. */
export function documentOf(value: unknown): Document {
  if (isDocument(value)) return value
  // `Object.fromEntries` defines the members instead of assigning them, because a member may be named `__proto__`.
  return Object.fromEntries(documentsOf(value).flatMap((one) => Object.entries(one)))
}

/** Returns the value as text, or undefined for empty text and other types. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** Returns the document without members whose value is undefined. */
export function compact(document: Document): Document {
  const kept: Document = {}
  for (const name in document) if (document[name] !== undefined) setMember(kept, name, document[name])
  return kept
}

/** Sets a member with any name, including `__proto__`. */
export function setMember(document: Document, name: string, value: unknown): void {
  if (name !== '__proto__') document[name] = value
  else Object.defineProperty(document, name, { value, enumerable: true, configurable: true, writable: true })
}
