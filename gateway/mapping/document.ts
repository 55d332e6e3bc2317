/** Data of any shape, as devices tell it. */

export type Document = { [name: string]: unknown }

export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The documents in a list, or the one that stands where a list should. */
export function documentsOf(value: unknown): Document[] {
  return [value].flat().filter(isDocument)
}

/** The one document that is meant; several that stand for one are laid over each other. */
export function documentOf(value: unknown): Document {
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
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined))
}
