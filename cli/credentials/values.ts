import { parsePair, parseValue } from '../input/json-input.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'

type JsonSchema = {
  type?: string | string[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  writeOnly?: boolean
  format?: string
  title?: string
}

export type Field = { path: string[]; required: boolean; title: string }

/** Returns the secret fields of a schema. The platform decides with the same rule which fields are secret. */
export function secretsOf(schema: JsonSchema, path: string[] = []): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]): Field[] => {
    const here = [...path, name]
    const isSecret = property.writeOnly === true || property.format === 'password'
    if (!isSecret) return secretsOf(property, here)
    return [{ path: here, required: schema.required?.includes(name) === true, title: property.title ?? here.join('.') }]
  })
}

type ValueSources = { schema: JsonSchema; set: readonly string[] }

/**
 * Reads the values of credentials. Fields that are not secret come from arguments. Secrets come from prompts or as JSON from
 * standard input, because other users of the machine can see arguments.
 */
export async function valuesFrom(terminal: Terminal, { schema, set }: ValueSources): Promise<Record<string, unknown>> {
  const secrets = secretsOf(schema)
  const values: Record<string, unknown> = {}
  for (const text of set) {
    const [name, value] = parsePair(text, '--set')
    if (secrets.some(({ path }) => path.join('.') === name)) {
      throw usageError(
        `${name} is secret, and other users of the machine can see arguments.`,
        'omit it: the command prompts for it',
      )
    }
    const path = name.split('.')
    put(values, path, typedValue(value, propertyAt(schema, path)))
  }
  if (terminal.isInteractive) {
    for (const { path, required, title } of secrets) {
      const answer = await terminal.promptSecret(`${title}${required ? '' : ' (empty: none)'}: `)
      if (answer !== '') put(values, path, answer)
    }
    return values
  }
  const text = (await terminal.input()).trim()
  if (text === '') return values
  return { ...values, ...objectIn(text) }
}

function propertyAt(schema: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>((inner, name) => inner?.properties?.[name], schema)
}

/** Parses a value as JSON, unless its field is a text: the version `3` of SNMP stays a text. */
function typedValue(text: string, property: JsonSchema | undefined): unknown {
  const value = parseValue(text)
  return property?.type === 'string' && typeof value !== 'string' ? text : value
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // The error does not repeat the input, because the input contains secrets.
  }
  throw usageError('Standard input is not a JSON object of values.', `pass a document such as {"password":"…"}`)
}

function put(values: Record<string, unknown>, [first = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    values[first] = value
    return
  }
  const inner = (values[first] ?? {}) as Record<string, unknown>
  values[first] = inner
  put(inner, rest, value)
}
