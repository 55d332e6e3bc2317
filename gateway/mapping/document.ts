/** Data of any shape, as devices tell it. */

export type Document = { [name: string]: unknown }

export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The documents in a list, or the one that stands where a list should. */
export function documentsOf(value: unknown): Document[] {
  return Array.isArray(value) ? value.filter(isDocument) : isDocument(value) ? [value] : []
}

/** The one document that is meant; several that stand for one are laid over each other. */
export function documentOf(value: unknown): Document {
  if (isDocument(value)) return value
  // Made anew rather than assigned: a member may have any name.
  return Object.fromEntries(documentsOf(value).flatMap((one) => Object.entries(one)))
}

/** Text that says something. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** Without the members that say nothing. */
export function compact(document: Document): Document {
  const kept: Document = {}
  for (const name in document) if (document[name] !== undefined) setMember(kept, name, document[name])
  return kept
}

/** A member may have any name, also the one that stands for what an object inherits. */
export function setMember(document: Document, name: string, value: unknown): void {
  if (name !== '__proto__') document[name] = value
  else Object.defineProperty(document, name, { value, enumerable: true, configurable: true, writable: true })
}
