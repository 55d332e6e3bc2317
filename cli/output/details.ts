import { displayText, displayWidth, pad } from './text.ts'

/** Formats a document for people: one line per field, with nested fields indented. Empty fields are left out. */
export function details(document: Readonly<Record<string, unknown>>, indent = ''): string[] {
  const fields = Object.entries(document).filter(([, value]) => !isNothing(value))
  const simple = fields.filter(([, value]) => !isNested(value)).map(([name]) => displayWidth(name))
  const width = Math.min(32, Math.max(0, ...simple))
  return fields.flatMap(([name, value]) => {
    if (!isNested(value)) return [`${indent}${pad(name, width)}  ${displayText(value)}`]
    return [`${indent}${name}`, ...inner(value, `${indent}  `)]
  })
}

function inner(value: object, indent: string): string[] {
  if (!Array.isArray(value)) return details(value as Record<string, unknown>, indent)
  return value.flatMap((entry) => {
    if (typeof entry !== 'object' || entry === null) return [`${indent}- ${displayText(entry)}`]
    const [first = '', ...rest] = details(entry, `${indent}  `)
    return [`${indent}- ${first.slice(indent.length + 2)}`, ...rest]
  })
}

function isNested(value: unknown): value is object {
  if (Array.isArray(value)) return value.some((entry) => typeof entry === 'object' && entry !== null)
  return typeof value === 'object' && value !== null
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
