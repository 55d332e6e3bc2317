import type { FieldError } from '@millwright/api/problem.ts'

/**
 * Limits for the length of reported errors. They are needed because errors contain parts of the schemas and documents
 * of tenants, and because the errors of batch items are stored.
 */
export const errorLimits = {
  /** Maximum characters of one detail. */
  detail: 300,
  /** Maximum characters of one pointer. */
  pointer: 1_000,
  /** Maximum number of allowed values or known names in one detail. */
  values: 20,
  /** Maximum characters of all errors of one request or item. */
  total: 8_192,
} as const

/** Returns the text, or its beginning and an ellipsis if it is too long. */
export function cutText(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`
}

/**
 * Returns the errors in their order, each cut to its limits. Stops at the total limit, but returns at least one error.
 */
export function limitedErrors(errors: Iterable<FieldError>): FieldError[] {
  const limited: FieldError[] = []
  let total = 0
  for (const error of errors) {
    const pointer = cutText(error.pointer, errorLimits.pointer)
    const detail = cutText(error.detail, errorLimits.detail)
    total += pointer.length + error.code.length + detail.length
    if (total > errorLimits.total && limited.length > 0) break
    limited.push({ ...error, pointer, detail })
  }
  return limited
}

const texts = new WeakMap<object, string>()

/**
 * Returns a value of a schema as text. The text of an object is cached, because many errors may contain the same
 * object.
 */
export function schemaValueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return cutText(String(value), errorLimits.detail)
  const text = texts.get(value) ?? cutText(JSON.stringify(value), errorLimits.detail)
  texts.set(value, text)
  return text
}

/** Returns the first values of a list as text. */
export function listedValues(values: readonly unknown[], separator = ', '): string {
  const shown = values.slice(0, errorLimits.values).map(schemaValueText)
  return [...shown, ...(values.length > shown.length ? ['…'] : [])].join(separator)
}
