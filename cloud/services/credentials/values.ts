import { isDeepStrictEqual } from 'node:util'
import { credentialLimits, secretPlaceholder } from '@millwright/api/credentials-shapes.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import {
  type Document,
  escapedPointer,
  isObject,
  outOfBounds,
  type PlainObject,
  setMember,
} from '../../platform/plain-object.ts'

/** Values as they are, and as people see them. */
export type Known = { values: PlainObject; shown: PlainObject }

/**
 * Changed values (RFC 7396): members that are sent replace, `null` takes away, others stay. Where people see the
 * placeholder of a secret, sending it means the secret that is there.
 */
export function mergedValues({ values, shown }: Known, change: PlainObject): Document {
  const merged: Document = { ...values }
  for (const [name, sent] of Object.entries(change)) {
    if (sent === null) delete merged[name]
    else if (isObject(sent)) setMember(merged, name, mergedValues(memberOf({ values, shown }, name), sent))
    else setMember(merged, name, restored(sent, values[name], shown[name]))
  }
  return merged
}

/** What there is to merge with: something that is no object is replaced by one. */
function memberOf({ values, shown }: Known, name: string): Known {
  const [value, seen] = [values[name], shown[name]]
  return { values: isObject(value) ? value : {}, shown: isObject(seen) ? seen : {} }
}

/** What is sent in place of something, with the secrets that it stands for by their placeholders. */
function restored(sent: unknown, value: unknown, shown: unknown): unknown {
  if (sent === secretPlaceholder && shown === secretPlaceholder && value !== undefined) return value
  if (Array.isArray(sent) && Array.isArray(value) && Array.isArray(shown)) return restoredList(sent, value, shown)
  if (!isObject(sent) || !isObject(value) || !isObject(shown)) return sent
  return Object.fromEntries(
    Object.entries(sent).map(([name, inner]) => [name, restored(inner, value[name], shown[name])]),
  )
}

function restoredList(sent: readonly unknown[], values: readonly unknown[], shown: readonly unknown[]): unknown[] {
  const before = placesBefore(sent, shown)
  return sent.map((entry, index) => {
    const place = before[index]
    return place === undefined ? entry : restored(entry, values[place], shown[place])
  })
}

/**
 * Where each entry of a list was: the only one that is shown like that, or else the one at its place. When the list became
 * shorter nobody can say which one that is, so it is none: no secret slips to its neighbour.
 */
function placesBefore(sent: readonly unknown[], shown: readonly unknown[]): (number | undefined)[] {
  const print = (entry: unknown) => JSON.stringify(entry)
  const told = Map.groupBy(sent, print)
  const seen = Map.groupBy(shown.keys(), (index) => print(shown[index]))
  const moved = sent.map((entry) => {
    const there = seen.get(print(entry)) ?? []
    return there.length === 1 && told.get(print(entry))?.length === 1 ? there[0] : undefined
  })
  const taken = new Set(moved)
  return moved.map((place, index) => place ?? (sent.length < shown.length || taken.has(index) ? undefined : index))
}

/**
 * The names of the fields that a change touches. A secret that is sent counts as changed even when it is the same: else
 * somebody could guess at it and look here whether they were right.
 */
export function changedFields(change: PlainObject, before: Known, after: Known, path = 'values'): string[] {
  return Object.entries(change).flatMap(([name, sent]) => {
    const field = `${path}/${escapedPointer(name)}`
    const [was, is] = [before.shown[name], after.shown[name]]
    if (isObject(sent) && isObject(was) && isObject(is)) {
      const inner = { values: before.values[name] as PlainObject, shown: was }
      return changedFields(sent, inner, { values: after.values[name] as PlainObject, shown: is }, field)
    }
    const isKept = isDeepStrictEqual(sent, was) && holdsPlaceholder(sent)
    const isSecret = holdsPlaceholder(is) && !isKept
    return isSecret || !isDeepStrictEqual(was, is) ? [field] : []
  })
}

function holdsPlaceholder(value: unknown): boolean {
  if (value === secretPlaceholder) return true
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsPlaceholder)
}

/** Throws when values are nested deeper, or are more, than anybody who goes through them could take. */
export function requireBounded(values: PlainObject): void {
  const bounds = { depth: credentialLimits.valueDepth, entries: 1_000, values: 5_000 }
  const large = outOfBounds(values, bounds)
  if (large !== undefined) throw invalidValues([{ pointer: large.pointer, code: 'too_large', detail: large.detail }])
}

/** Throws when values are larger than they may be, or hold a placeholder that stands for nothing. Tells no value. */
export function requireSendable(values: PlainObject): void {
  requireBounded(values)
  if (Buffer.byteLength(JSON.stringify(values)) > credentialLimits.valueBytes) {
    const detail = `are larger than ${credentialLimits.valueBytes / 1024} KiB`
    throw invalidValues([{ pointer: '', code: 'too_large', detail }])
  }
  const empty = placeholdersIn(values)
  const detail = 'is what is shown in place of a secret: send the secret itself'
  if (empty.length > 0) throw invalidValues(empty.map((pointer) => ({ pointer, code: 'placeholder', detail })))
}

function placeholdersIn(value: unknown, pointer = ''): string[] {
  if (value === secretPlaceholder) return [pointer]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => placeholdersIn(inner, `${pointer}/${escapedPointer(name)}`))
}

/** Faults by pointers into the values, as a problem of the request. */
export function invalidValues(faults: readonly FieldError[]): Problem {
  const errors = faults.map((fault) => ({ ...fault, pointer: `/data/values${fault.pointer}` }))
  const summary = errors.slice(0, 3).map(({ pointer, detail }) => `${pointer} ${detail}`)
  return new Problem('invalid_values', summary.join('; '), { errors })
}
