import { pairOf, typedValue } from '../input/json-input.ts'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'

type JsonSchema = {
  properties?: Record<string, JsonSchema>
  required?: string[]
  writeOnly?: boolean
  format?: string
  title?: string
}

export type Field = { path: string[]; required: boolean; title: string }

/** What of a schema is secret: where the platform says so too. */
export function secretsOf(schema: JsonSchema, path: string[] = []): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]): Field[] => {
    const here = [...path, name]
    const isSecret = property.writeOnly === true || property.format === 'password'
    if (!isSecret) return secretsOf(property, here)
    return [{ path: here, required: schema.required?.includes(name) === true, title: property.title ?? here.join('.') }]
  })
}

type Given = { schema: JsonSchema; set: readonly string[] }

/**
 * The values of an instance: what is not secret from arguments; secrets are asked for, or come as JSON from a pipe. In
 * arguments everybody on the machine would see them.
 */
export async function valuesFrom(terminal: Terminal, { schema, set }: Given): Promise<Record<string, unknown>> {
  const secrets = secretsOf(schema)
  const values: Record<string, unknown> = {}
  for (const text of set) {
    const [name, value] = pairOf(text, '--set')
    if (secrets.some(({ path }) => path.join('.') === name)) {
      throw usageError(
        `${name} is secret, and everybody on the machine sees arguments.`,
        'leave it out: it is asked for',
      )
    }
    put(values, name.split('.'), typedValue(value))
  }
  if (terminal.canAsk) {
    for (const { path, required, title } of secrets) {
      const answer = await terminal.askSecret(`${title}${required ? '' : ' (empty: none)'}: `)
      if (answer !== '') put(values, path, answer)
    }
    return values
  }
  const text = (await terminal.input()).trim()
  if (text === '') return values
  return { ...values, ...objectIn(text) }
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // What it holds is secret: it is not repeated in an error.
  }
  throw usageError('Standard input is no JSON object of values.', `send something like {"password":"…"}`)
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
