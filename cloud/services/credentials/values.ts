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

/** The stored values, and the same values with placeholders instead of secrets. */
export type StoredValues = { values: PlainObject; shown: PlainObject }

/**
 * Merges a change into stored values (RFC 7396). A sent member replaces the stored one, `null` removes it, and other
 * members stay. If the change contains a placeholder for a secret, the stored secret stays.
 */
export function mergedValues({ values, shown }: StoredValues, change: PlainObject): Document {
  const merged: Document = { ...values }
  for (const [name, sent] of Object.entries(change)) {
    if (sent === null) delete merged[name]
    else if (isObject(sent)) setMember(merged, name, mergedValues(memberOf({ values, shown }, name), sent))
    else setMember(merged, name, restored(sent, values[name], shown[name]))
  }
  return merged
}

/**
 * Returns the stored member into which a change is merged. If the stored member is not an object, the change is merged into
 * an empty object.
 */
function memberOf({ values, shown }: StoredValues, name: string): StoredValues {
  const [value, seen] = [values[name], shown[name]]
  return { values: isObject(value) ? value : {}, shown: isObject(seen) ? seen : {} }
}

/** Returns the sent value with the stored secrets in place of its placeholders. */
function restored(sent: unknown, value: unknown, shown: unknown): unknown {
  if (sent === secretPlaceholder && shown === secretPlaceholder && value !== undefined) return value
  if (Array.isArray(sent) && Array.isArray(value) && Array.isArray(shown)) return restoredList(sent, value, shown)
  if (!isObject(sent) || !isObject(value) || !isObject(shown)) return sent
  return Object.fromEntries(
    Object.entries(sent).map(([name, inner]) => [name, restored(inner, value[name], shown[name])]),
  )
}

function restoredList(sent: readonly unknown[], values: readonly unknown[], shown: readonly unknown[]): unknown[] {
  const before = previousPositions(sent, shown)
  return sent.map((entry, index) => {
    const place = before[index]
    return place === undefined ? entry : restored(entry, values[place], shown[place])
  })
}

/**
 * Returns, for each entry of a sent list, the position of the stored entry that it replaces. This is the position of
 * the only stored entry with the same visible content, or else the same position. If the list became shorter, positions
 * are ambiguous, so an entry without a match by content has no previous position. A secret therefore never moves to
 * another entry.
 */
function previousPositions(sent: readonly unknown[], shown: readonly unknown[]): (number | undefined)[] {
  const print = (entry: unknown) => JSON.stringify(entry)
  const sentByText = Map.groupBy(sent, print)
  const seen = Map.groupBy(shown.keys(), (index) => print(shown[index]))
  const moved = sent.map((entry) => {
    const candidates = seen.get(print(entry)) ?? []
    return candidates.length === 1 && sentByText.get(print(entry))?.length === 1 ? candidates[0] : undefined
  })
  const taken = new Set(moved)
  return moved.map((place, index) => place ?? (sent.length < shown.length || taken.has(index) ? undefined : index))
}

/**
 * Returns the names of the changed fields. A sent secret always counts as changed, even if it equals the stored secret.
 * Otherwise a caller could use this function to check a guess.
 */
export function changedFields(
  change: PlainObject,
  before: StoredValues,
  after: StoredValues,
  path = 'values',
): string[] {
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

/** Throws when values are nested too deeply or have too many members to process. */
export function requireBounded(values: PlainObject): void {
  const bounds = { depth: credentialLimits.valueDepth, entries: 1_000, values: 5_000 }
  const large = outOfBounds(values, bounds)
  if (large !== undefined) throw invalidValues([{ pointer: large.pointer, code: 'too_large', detail: large.detail }])
}

/**
 * Throws when values are too large or still contain a placeholder for which no secret is stored. The error does not
 * contain values.
 */
export function requireSendable(values: PlainObject): void {
  requireBounded(values)
  if (Buffer.byteLength(JSON.stringify(values)) > credentialLimits.valueBytes) {
    const detail = `are larger than ${credentialLimits.valueBytes / 1024} KiB`
    throw invalidValues([{ pointer: '', code: 'too_large', detail }])
  }
  const empty = placeholdersIn(values)
  const detail = 'is the placeholder of a secret: send the secret instead'
  if (empty.length > 0) throw invalidValues(empty.map((pointer) => ({ pointer, code: 'placeholder', detail })))
}

function placeholdersIn(value: unknown, pointer = ''): string[] {
  if (value === secretPlaceholder) return [pointer]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => placeholdersIn(inner, `${pointer}/${escapedPointer(name)}`))
}

/** Converts validation errors with JSON pointers into an `invalid_values` problem. */
export function invalidValues(faults: readonly FieldError[]): Problem {
  const errors = faults.map((fault) => ({ ...fault, pointer: `/data/values${fault.pointer}` }))
  const summary = errors.slice(0, 3).map(({ pointer, detail }) => `${pointer} ${detail}`)
  return new Problem('invalid_values', summary.join('; '), { errors })
}
