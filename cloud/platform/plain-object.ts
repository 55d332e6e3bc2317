import { storableText } from './database/json.ts'

/** Plain JSON: what documents are made of. They are never changed in place. */
export type PlainObject = { readonly [field: string]: unknown }
export type Document = Record<string, unknown>

export function isObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of what should be a list of objects. */
export function objectsOf(value: unknown): PlainObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/**
 * The object with each member made anew, under a name that a database can keep; a member that becomes undefined is left
 * out. Every written document goes through here a few times, hence the plain loop.
 */
export function mapMembers(object: PlainObject, make: (member: unknown, name: string) => unknown): Document {
  const made: Document = {}
  for (const name of Object.keys(object)) {
    const member = make(object[name], name)
    if (member !== undefined) setMember(made, storableText(name), member)
  }
  return made
}

/** Set as a member like any other, also when its name is one that JavaScript means something by. */
export function setMember(object: Document, name: string, member: unknown): void {
  if (name !== '__proto__') object[name] = member
  else Object.defineProperty(object, name, { value: member, enumerable: true, configurable: true, writable: true })
}

type Bounds = { depth: number; entries: number; values: number }

/**
 * Where a value is larger than its bounds and how, if it is. Goes no deeper than the bound itself, so that a value made
 * to exhaust the stack of whoever looks at it is refused here.
 */
export function outOfBounds(value: unknown, bounds: Bounds): { pointer: string; detail: string } | undefined {
  let values = 0
  const path: string[] = []

  /** What is too large; the path to it is put together on the way back. */
  function look(inner: unknown, depth: number): string | undefined {
    values += 1
    if (values > bounds.values) return `holds more than ${bounds.values} values`
    if (typeof inner !== 'object' || inner === null) return undefined
    if (depth >= bounds.depth) return `is nested deeper than ${bounds.depth} levels`
    if (Array.isArray(inner) && inner.length > bounds.entries) {
      return `has ${inner.length} entries, more than ${bounds.entries}`
    }
    for (const name of Object.keys(inner)) {
      const fault = look((inner as PlainObject)[name], depth + 1)
      if (fault === undefined) continue
      path.unshift(`/${escapedPointer(name)}`)
      return fault
    }
    return undefined
  }

  const detail = look(value, 0)
  if (detail === undefined) return undefined
  return { pointer: values > bounds.values ? '' : path.join(''), detail }
}

export function escapedPointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
