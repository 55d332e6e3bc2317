/** This file builds the form for the values of credentials from the JSON Schema that the asset link provides. */

export type ValueKind = 'text' | 'number' | 'boolean' | 'choice' | 'json'

export type ValueField = {
  name: string
  label: string
  description: string | undefined
  kind: ValueKind
  isSecret: boolean
  isRequired: boolean
  choices: readonly string[]
}

export type FormValues = Readonly<Record<string, string>>
export type ValueError = 'required' | 'notNumber' | 'notJson'
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * The placeholder that the API returns instead of a stored secret. It is copied here, because importing it from the API
 * would also load the schemas of the API into the browser.
 */
export const secretPlaceholder = '***'

/**
 * Returns the form fields for the properties of an object schema, in the order of the schema. The user enters nested
 * values as JSON.
 */
export function fieldsOf(schema: JsonObject): ValueField[] {
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(objectIn(schema.properties)).map(([name, value]) => {
    const property = objectIn(value)
    const choices = Array.isArray(property.enum) ? property.enum.map(String) : []
    return {
      name,
      label: textIn(property.title) ?? name,
      description: textIn(property.description),
      kind: kindOf(property),
      isSecret: property.writeOnly === true || property.format === 'password',
      isRequired: required.includes(name),
      choices,
    }
  })
}

function kindOf({ type, enum: choices }: JsonObject): ValueKind {
  if (Array.isArray(choices) && choices.every((each) => typeof each === 'string')) return 'choice'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'boolean'
  return type === 'string' || type === undefined ? 'text' : 'json'
}

export function errorsIn(fields: readonly ValueField[], typed: FormValues): Readonly<Record<string, ValueError>> {
  const wrong = fields.flatMap(({ name, kind, isRequired }): [string, ValueError][] => {
    const text = typed[name] ?? ''
    if (text === '') return isRequired ? [[name, 'required']] : []
    if (kind === 'number' && !Number.isFinite(Number(text))) return [[name, 'notNumber']]
    return kind === 'json' && text !== secretPlaceholder && parsed(text) === undefined ? [[name, 'notJson']] : []
  })
  return Object.fromEntries(wrong)
}

/**
 * Returns the typed values in the format of the API. Text is not trimmed, because a password may start or end with a
 * space.
 */
export function valuesOf(fields: readonly ValueField[], typed: FormValues): Record<string, unknown> {
  const values = fields.flatMap(({ name, kind }): [string, unknown][] => {
    const text = typed[name] ?? ''
    return text === '' ? [] : [[name, text === secretPlaceholder ? text : parsedValue(kind, text)]]
  })
  return Object.fromEntries(values)
}

/**
 * Returns the typed values as a JSON merge patch (RFC 7396). A value that the user cleared is `null`, which removes it.
 */
export function changesOf(
  fields: readonly ValueField[],
  before: JsonObject,
  typed: FormValues,
): Record<string, unknown> {
  const values = valuesOf(fields, typed)
  const removed = fields.filter(({ name }) => before[name] !== undefined && values[name] === undefined)
  return { ...values, ...Object.fromEntries(removed.map(({ name }) => [name, null])) }
}

export function formValuesOf(values: JsonObject): FormValues {
  const texts = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return Object.fromEntries(texts)
}

function parsedValue(kind: ValueKind, text: string): unknown {
  if (kind === 'number') return Number(text)
  if (kind === 'boolean') return text === 'true'
  return kind === 'json' ? parsed(text)?.value : text
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function objectIn(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Splits a text into IP ranges, which are separated by a line break, a comma or a semicolon. */
export function rangesIn(text: string): string[] {
  return text
    .split(/[\n,;]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
