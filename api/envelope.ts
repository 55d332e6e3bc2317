import { type Static, type TProperties, type TSchema, Type } from 'typebox'

/** Shapes that every contract uses: `{ data, meta }`, ids, times and paging. */

/** Returns an object schema that refuses unknown fields. */
export function closed<Properties extends TProperties>(properties: Properties, options: { description?: string } = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

export function data<Schema extends TSchema>(schema: Schema) {
  return closed({ data: schema })
}

/** The body of an operation that receives a file (see `fileTypes` of `Operation`). */
export const fileBody = Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'The content of a file' })

const errorTexts = new Map<string, string>()

/** Defines the text of the error for a value that does not match a pattern. Returns the pattern. */
export function describedPattern(pattern: string, errorText: string): string {
  errorTexts.set(pattern, errorText)
  return pattern
}

/** Returns the text of the error for a value that does not match a pattern, if `describedPattern` has defined it. */
export function patternError(pattern: string): string | undefined {
  return errorTexts.get(pattern)
}

const uuidPattern = describedPattern(
  '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
  'must be a UUID',
)

/** A UUID (RFC 9562). Input is converted to lower case. */
export const Uuid = Type.String({
  pattern: uuidPattern,
  lowercased: true,
  description: 'UUID',
  examples: ['0198f0c2-7b1e-7c3a-9d55-0242ac120002'],
})

/** A time in RFC 3339 format, in UTC with milliseconds. */
export const Timestamp = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
  description: 'RFC 3339 time in UTC with milliseconds',
  examples: ['2026-01-31T08:30:00.000Z'],
})

/** Control characters and lone surrogates, as part of a character class. Patterns are compiled with the flag `u`. */
export const unprintable = '\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff'

export const namePattern = describedPattern(
  `^[^\\s${unprintable}]([^${unprintable}]*[^\\s${unprintable}])?$`,
  'must not start or end with a space, and must not contain line breaks or other control characters',
)

/** The pattern of a text that may have several lines. */
export const textPattern = describedPattern(
  '^[^\\u0000\\ud800-\\udfff]*$',
  'must be valid Unicode text without NUL characters',
)

/** The pattern of a text with one line. */
export const linePattern = describedPattern(
  '^[^\\u0000-\\u001f\\u007f]*$',
  'must not contain line breaks or other control characters',
)

/** A name that a user assigns: one line, without control characters and surrounding spaces. */
export const Name = Type.String({ minLength: 1, maxLength: 128, pattern: namePattern })

export const pageLimits = { default: 50, maximum: 100 } as const

export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: pageLimits.maximum, default: pageLimits.default, description: 'Page size' }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'Number of elements to skip',
    }),
  ),
}

export const PageMeta = closed({
  totalElements: Type.Optional(Type.Integer({ minimum: 0 })),
  elements: Type.Integer({ minimum: 0 }),
  offset: Type.Integer({ minimum: 0 }),
  nextCursor: Type.Optional(Type.String()),
})

export type PageMeta = Static<typeof PageMeta>

export function page<Schema extends TSchema>(element: Schema) {
  return closed({ data: Type.Array(element), meta: PageMeta })
}
