/** What became other in a document, field by field. */

export type Difference = { field: string; before: unknown; after: unknown }

/** They change with every change, and say nothing about it. */
const silent = new Set(['last_modified_timestamp', 'state_timestamp'])

export function differencesOf(before: unknown, after: unknown, field = ''): Difference[] {
  if (isEqual(before, after)) return []
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after)) {
    return field === '' ? differencesOf(before ?? {}, after ?? {}, 'document') : [{ field, before, after }]
  }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !silent.has(name))
  return names.flatMap((name) =>
    differencesOf(before[name], after[name], field === '' || field === 'document' ? name : `${field}/${name}`),
  )
}

type Branch = Record<string, unknown>

function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null
}

function isEqual(one: unknown, other: unknown): boolean {
  if (!isBranch(one) || !isBranch(other)) return one === other || (one ?? null) === (other ?? null)
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => !silent.has(name))
  return Array.isArray(one) === Array.isArray(other) && names.every((name) => isEqual(one[name], other[name]))
}

/** Text for people: nothing is nothing, and what is deep is told as it is. */
export function told(value: unknown): string {
  if (value === undefined || value === null) return '–'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
