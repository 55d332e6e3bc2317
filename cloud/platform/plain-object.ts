import { storableText } from './database/json.ts'

/** A plain JSON object. Documents consist of such objects, which are never changed in place. */
export type PlainObject = { readonly [field: string]: unknown }
export type Document = Record<string, unknown>

export function isObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the objects in a list. Other entries are ignored. */
export function objectsOf(value: unknown): PlainObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/**
 * Maps each member of an object. Names are changed to names that the database can store. A member that becomes
 * undefined is omitted. The function is a plain loop for speed, because it runs several times for every written
 * document.
 */
export function mapMembers(object: PlainObject, make: (member: unknown, name: string) => unknown): Document {
  const made: Document = {}
  for (const name of Object.keys(object)) {
    const member = make(object[name], name)
    if (member !== undefined) setMember(made, storableText(name), member)
  }
  return made
}

/** Sets a member as an own property, even if its name is special in JavaScript, such as `__proto__`. */
export function setMember(object: Document, name: string, member: unknown): void {
  if (name !== '__proto__') object[name] = member
  else Object.defineProperty(object, name, { value: member, enumerable: true, configurable: true, writable: true })
}

type Bounds = { depth: number; entries: number; values: number }

/**
 * Returns where and how a value exceeds its bounds, or undefined if it does not. The check stops at the maximum depth,
 * so that a deeply nested value cannot exhaust the stack.
 */
export function outOfBounds(value: unknown, bounds: Bounds): { pointer: string; detail: string } | undefined {
  let values = 0
  const path: string[] = []

  /** Returns the violation. The pointer to it is built while the recursion returns. */
  function check(inner: unknown, depth: number): string | undefined {
    values += 1
    if (values > bounds.values) return `contains more than ${bounds.values} values`
    if (typeof inner !== 'object' || inner === null) return undefined
    if (depth >= bounds.depth) return `is nested deeper than ${bounds.depth} levels`
    if (Array.isArray(inner) && inner.length > bounds.entries) {
      return `has ${inner.length} entries, but the limit is ${bounds.entries}`
    }
    for (const name of Object.keys(inner)) {
      const fault = check((inner as PlainObject)[name], depth + 1)
      if (fault === undefined) continue
      path.unshift(`/${escapedPointer(name)}`)
      return fault
    }
    return undefined
  }

  const detail = check(value, 0)
  if (detail === undefined) return undefined
  return { pointer: values > bounds.values ? '' : path.join(''), detail }
}

export function escapedPointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
