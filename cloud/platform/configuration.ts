import { StartError } from './start-error.ts'

/** `Setting` is a setting with its environment variable, its parser and its default. */
export type Setting<Value> = {
  variable: string
  help: string
  default: Value
  parse: (text: string) => Value
  /** True for a value that must never be printed. */
  secret?: boolean
}

// biome-ignore lint/suspicious/noExplicitAny: the type of each value is inferred where a schema is used
export type Settings = Record<string, Setting<any>>
export type Configuration<S extends Settings> = {
  [Name in keyof S]: S[Name] extends Setting<infer Value> ? Value : never
}

type Description<Value> = { help: string; default: Value; secret?: boolean }

export function text<D extends string | undefined>(variable: string, description: Description<D>): Setting<string | D> {
  return { variable, ...description, parse: (value) => value }
}

export function integer(
  variable: string,
  { minimum, maximum, ...description }: Description<number> & { minimum: number; maximum: number },
): Setting<number> {
  return {
    variable,
    ...description,
    parse: (value) => {
      const number = Number(value)
      if (/^\d+$/.test(value) && number >= minimum && number <= maximum) return number
      throw new StartError(`${variable} must be a whole number from ${minimum} to ${maximum}, but is "${value}".`)
    },
  }
}

export function choice<Value extends string>(
  variable: string,
  { of, ...description }: Description<Value> & { of: readonly Value[] },
): Setting<Value> {
  return {
    variable,
    ...description,
    parse: (value) => {
      if (of.includes(value as Value)) return value as Value
      throw new StartError(`${variable} must be one of ${of.join(', ')}, but is "${value}".`)
    },
  }
}

export function url<D extends string | undefined>(
  variable: string,
  { protocols, ...description }: Description<D> & { protocols: string[] },
): Setting<string | D> {
  return {
    variable,
    ...description,
    parse: (value) => {
      if (protocols.some((protocol) => value.startsWith(`${protocol}//`) && value.length > protocol.length + 2))
        return value
      throw new StartError(`${variable} must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}.`)
    },
  }
}

/** Creates a setting for an origin without a path. The platform appends paths to the origin. */
export function origin<D extends string | undefined>(
  variable: string,
  description: Description<D>,
): Setting<string | D> {
  return { variable, ...description, parse: (value) => originOf(value) ?? refuseOrigin(variable, value) }
}

/**
 * Returns the origin of a text in the form that browsers use. Returns undefined if the text is not an origin or
 * contains more than an origin.
 */
export function originOf(text: string): string | undefined {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return undefined
  const { origin, href } = new URL(text)
  return href === `${origin}/` ? origin : undefined
}

function refuseOrigin(variable: string, value: string): never {
  throw new StartError(
    `${variable} must be an address such as https://plant.example or http://127.0.0.1:8080, without a path, but is "${masked(value)}".`,
  )
}

/** Creates a setting for all host names below a domain, such as `*.remote.example.com`. */
export function wildcardHost(variable: string, description: Description<undefined>): Setting<string | undefined> {
  return {
    variable,
    ...description,
    parse: (value) => {
      const host = value.toLowerCase()
      if (/^\*(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/.test(host) && host.length <= 200) return host
      throw new StartError(`${variable} must be a host such as *.remote.example.com, but is "${value}".`)
    },
  }
}

type Parts = Description<string[]> & { part?: (text: string) => string | undefined; like?: string }

/**
 * Creates a setting with values separated by commas. `part` parses each value and returns undefined for an invalid
 * value.
 */
export function list(variable: string, { part = (text) => text, like, ...description }: Parts): Setting<string[]> {
  return {
    variable,
    ...description,
    parse: (value) =>
      value
        .split(',')
        .map((text) => text.trim())
        .filter((text) => text !== '')
        .map((text) => {
          const parsed = part(text)
          if (parsed !== undefined) return parsed
          throw new StartError(
            `${variable} must be a list of values such as ${like}, separated by commas, but contains "${masked(text)}".`,
          )
        }),
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings from the environment. An invalid value or an unknown name prevents the start, because it is
 * probably a typing mistake.
 */
export function readConfiguration<S extends Settings>(
  schema: S,
  environment: Environment,
  alsoKnown: readonly string[] = [],
): Configuration<S> {
  requireKnownNames(environment, [...Object.values(schema).map((setting) => setting.variable), ...alsoKnown])
  const entries = Object.entries(schema).map(([name, setting]) => {
    const value = environment[setting.variable]
    return [name, value === undefined || value === '' ? setting.default : setting.parse(value)]
  })
  return Object.fromEntries(entries)
}

/** Throws for an unknown variable with the prefix `MILLWRIGHT_`, and suggests the closest name. */
export function requireKnownNames(environment: Environment, names: readonly string[]): void {
  for (const name of Object.keys(environment)) {
    if (name.startsWith('MILLWRIGHT_') && !names.includes(name)) {
      throw new StartError(`Unknown setting ${name}. Did you mean ${closest(name, names)}?`)
    }
  }
}

/** Describes the effective settings for display, with name, value, source and help. Secrets are masked. */
export function describeConfiguration(schema: Settings, environment: Environment) {
  const effective: Record<string, unknown> = readConfiguration(schema, environment, Object.keys(environment))
  return Object.entries(schema).map(([name, setting]) => {
    const set = environment[setting.variable] !== undefined && environment[setting.variable] !== ''
    return { variable: setting.variable, value: shown(setting, effective[name]), set, help: setting.help }
  })
}

function shown(setting: Setting<unknown>, value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return ''
  if (setting.secret) return '***'
  if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return value.map(masked).join(',')
  if (typeof value === 'object') return JSON.stringify(value)
  return masked(String(value))
}

export function masked(text: string): string {
  return text.replace(/(:\/\/[^:@/]*):[^@/]*@/, '$1:***@')
}

/** Returns the candidate that is most similar to the name. */
export function closest(name: string, candidates: readonly string[]): string {
  return candidates.toSorted((a, b) => distance(name, a) - distance(name, b))[0] ?? ''
}

/** Returns the text ` Did you mean …?` if a known name is similar enough. */
export function suggestion(name: string, candidates: readonly string[]): string {
  const near = closest(name, candidates)
  return near !== '' && distance(name, near) <= Math.max(name.length, near.length) * 0.4 ? ` Did you mean ${near}?` : ''
}

/** Returns the Levenshtein distance: how many characters must be added, removed or changed. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
