import {
  type Contract,
  isEmpty,
  isEventStream,
  isInternal,
  isMedia,
  type Operation,
  pathOf,
  takesFile,
} from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'

/** `ApiOperation` is an operation of the public API with its contract and name. */
export type ApiOperation = { contract: Contract; name: string; operation: Operation }

export type Parameter = { name: string; in: 'path' | 'query'; required: boolean; schema: Schema }

/** Returns all operations except WebSockets and internal operations, which only other services call. */
export function publicOperations(): ApiOperation[] {
  return Object.values(contracts as Record<string, Contract>).flatMap((contract) =>
    Object.entries(contract.operations)
      .filter(([, operation]) => !isInternal(operation) && operation.socket === undefined)
      .map(([name, operation]) => ({ contract, name, operation })),
  )
}

export function parametersOf({ params, query }: Operation): Parameter[] {
  const of = (schema: Operation['query'], place: 'path' | 'query'): Parameter[] =>
    Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
      name,
      in: place,
      required: schema?.required?.includes(name) === true,
      schema: property as Schema,
    }))
  return [...of(params, 'path'), ...of(query, 'query')]
}

export type Schema = {
  type?: string | string[]
  enum?: readonly unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: unknown
  description?: string
  default?: unknown
  examples?: unknown[]
  const?: unknown
  writeOnly?: boolean
  minimum?: number
  maximum?: number
}

/** Returns a short description of a value's type. */
export function typeText(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.length > 8 ? 'one of several' : schema.enum.join('|')
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeText))].join('|')
  if (schema.type === 'array') return `list of ${typeText(schema.items ?? {})}`
  if (schema.description === 'UUID') return 'id'
  const type = [schema.type ?? 'anything'].flat().join('|')
  const { minimum, maximum } = schema
  return minimum !== undefined && maximum !== undefined && maximum < 1e9 ? `${type} ${minimum}–${maximum}` : type
}

/** Returns an example body with all required fields. */
export function exampleOf(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.examples?.[0] !== undefined) return schema.examples[0]
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf[0] ?? {})
  if (schema.type === 'array') return [exampleOf(schema.items ?? {})]
  if (schema.type === 'object' || schema.properties !== undefined) {
    const fields = Object.entries(schema.properties ?? {})
    const needed = fields.filter(([name]) => schema.required?.includes(name))
    const shown = needed.length > 0 ? needed : fields.slice(0, 1)
    return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property)]))
  }
  if (schema.type === 'integer' || schema.type === 'number') return schema.default ?? schema.minimum ?? 0
  if (schema.type === 'boolean') return schema.default ?? true
  return schema.writeOnly ? '…secret…' : '…'
}

/** The operations whose secret fields are defined by a schema of the tenant instead of the contract. */
const secretByTenant = new Set(['credentials.createInstance', 'credentials.updateInstance'])

/** Returns true when the body of an operation may contain a secret. */
export function takesSecret({ contract, name, operation }: ApiOperation): boolean {
  if (operation.bodyType === 'application/x-www-form-urlencoded') return true
  return secretByTenant.has(`${contract.name}.${name}`) || holdsSecret((operation.body ?? {}) as Schema)
}

function holdsSecret(schema: Schema): boolean {
  if (schema.writeOnly === true) return true
  const inside = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.anyOf ?? []),
    ...(schema.items ? [schema.items] : []),
  ]
  return inside.some(holdsSecret)
}

/** Returns the help text of an operation: path, permission, responses, parameters, body and example. */
export function operationHelp({ contract, name, operation }: ApiOperation): string {
  const lines = [
    `${operation.method} ${pathOf(contract, operation)}`,
    ...(operation.description === undefined ? [] : ['', operation.description]),
    '',
    `Requires: ${requirementOf(operation)}`,
    `Response: ${responsesOf(operation)}`,
    ...(operation.errors === undefined ? [] : [`Errors:   ${operation.errors.join(', ')}`]),
  ]
  const parameters = parametersOf(operation)
  if (parameters.length > 0) lines.push('', 'Parameters (--param name=value):', ...parameters.map(parameterLine))
  if (takesFile(operation)) lines.push('', 'Body (--body @file, or - for standard input): a file')
  else if (operation.body !== undefined) {
    const example = JSON.stringify(exampleOf(operation.body as Schema), undefined, 2)
    lines.push(
      '',
      'Body (--body @file, or - for standard input), required fields:',
      ...example.split('\n').map((line) => `  ${line}`),
    )
  }
  lines.push('', 'Example:', `  ${exampleLine({ contract, name, operation })}`)
  return lines.join('\n')
}

function requirementOf({ access }: Operation): string {
  if (access === 'public') return 'no token'
  if (access === 'signed-in' || access === 'known') return 'a token with any permissions'
  return `the permission ${access}`
}

function responsesOf({ answers }: Operation): string {
  return Object.entries(answers)
    .map(([status, answer]) => {
      if (isEmpty(answer)) return `${status} without a body`
      if (isEventStream(answer)) return `${status} as an event stream`
      return isMedia(answer) ? `${status} ${[answer.mediaType, ...answer.alternatives].join(', ')}` : status
    })
    .join(', ')
}

function parameterLine({ name, required, schema }: Parameter): string {
  const { description, default: fallback } = schema
  const notes = [
    typeText(schema),
    ...(required ? ['required'] : []),
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
    ...(description === undefined || description === 'UUID' ? [] : [description]),
  ]
  return `  ${name.padEnd(20)} ${notes.join('; ')}`
}

export function exampleLine({ contract, name, operation }: ApiOperation): string {
  const parameters = parametersOf(operation)
    .filter(({ required }) => required)
    .map((parameter) => ` --param ${parameter.name}=${exampleOf(parameter.schema)}`)
  const body = operation.body === undefined ? '' : takesFile(operation) ? ' --body @assets.xlsx' : ' --body @body.json'
  return `millwright api ${contract.name} ${name}${parameters.join('')}${body}`
}
