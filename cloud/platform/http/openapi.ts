import {
  bodyTypesOf,
  type Contract,
  isBodyRequired,
  isEmpty,
  isInternal,
  isMedia,
  type Operation,
  pathOf,
  takesFile,
  writes,
} from '@millwright/api/contract.ts'
import { Problem, type ProblemCode, problemCodes } from '@millwright/api/problem.ts'
import type { TSchema } from 'typebox'
import { bodyBytesOf } from './body-budget.ts'

type Info = { title: string; version: string; description: string }

/**
 * Returns the errors that an operation can return in addition to the errors that its contract declares. They
 * depend on its access, its parameters and its body.
 */
function commonErrors(operation: Operation): ProblemCode[] {
  return [
    'internal',
    'unavailable',
    'overloaded',
    'too_many_requests',
    'url_too_long',
    'headers_too_large',
    'invalid_header',
    ...(operation.access === 'public' ? [] : (['unauthenticated', 'forbidden', 'tenant_suspended'] as const)),
    ...(operation.stepUp === undefined ? [] : (['step_up_required'] as const)),
    ...(operation.params === undefined ? [] : (['invalid_path'] as const)),
    'unknown_parameter',
    ...(operation.query === undefined ? [] : (['invalid_query'] as const)),
    ...(operation.body === undefined
      ? []
      : (['invalid_body', 'invalid_json', 'body_too_large', 'unsupported_media_type'] as const)),
    ...(operation.socket === undefined ? [] : (['upgrade_required'] as const)),
    ...(idempotencyKey(operation)
      ? (['already_answered', 'idempotency_key_reused', 'request_in_progress'] as const)
      : []),
  ]
}

/** Returns every code that an operation can return. The documents and the tests use it. */
export function errorsOf(operation: Operation): ProblemCode[] {
  return [...new Set([...commonErrors(operation), ...(operation.errors ?? [])])]
}

function idempotencyKey(operation: Operation): boolean {
  return operation.method === 'POST' && operation.access !== 'public'
}

/** Creates the OpenAPI 3.1 document of the given contracts, without the operations for internal calls. */
export function openApi(contracts: readonly Contract[], { title, version, description }: Info) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const contract of contracts) {
    for (const [name, operation] of Object.entries(contract.operations)) {
      if (isInternal(operation)) continue
      const path = pathOf(contract, operation)
      paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(contract, name, operation) }
    }
  }
  return {
    openapi: '3.1.0',
    info: { title, version, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    tags: contracts.map(({ name, title, description }) => ({ name, description: `${title}. ${description}` })),
    paths,
    components: { securitySchemes, schemas: { Problem: problemSchema }, responses: { Problem: problemResponse } },
  }
}

const securitySchemes = {
  token: {
    type: 'oauth2',
    flows: {
      clientCredentials: { tokenUrl: '/oauth/token', scopes: {} },
      authorizationCode: { authorizationUrl: '/oauth/authorize', tokenUrl: '/oauth/token', scopes: {} },
    },
  },
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
}

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(problemCodes) },
    instance: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pointer', 'code', 'detail'],
        properties: { pointer: { type: 'string' }, code: { type: 'string' }, detail: { type: 'string' } },
      },
    },
    childNodes: { type: 'integer', description: 'With `hierarchy_not_empty`: the number of nodes below' },
    assignedAssets: {
      type: 'integer',
      description: 'With `hierarchy_not_empty`: the number of readable assets that are assigned to these nodes',
    },
    assignmentRules: {
      type: 'integer',
      description: 'With `hierarchy_not_empty`: the number of assignment rules of these nodes',
    },
    traceId: { type: 'string' },
  },
}

const problemResponse = {
  description: 'A problem (RFC 9457)',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

function describe(contract: Contract, name: string, operation: Operation) {
  const access =
    operation.access === 'public' || operation.access === 'signed-in' || operation.access === 'known'
      ? undefined
      : `Requires the permission \`${operation.access}\`.`
  const stepUp =
    operation.stepUp === undefined
      ? undefined
      : `The sign-in policy can require a recent sign-in of users for this operation (\`${operation.stepUp}\`).`
  return {
    operationId: `${contract.name}.${name}`,
    tags: [contract.name],
    summary: operation.summary,
    ...(contract.succeededBy === undefined ? {} : { deprecated: true }),
    description: [operation.description, access, stepUp].filter((part) => part !== undefined).join('\n\n'),
    parameters: [
      ...parameters('path', operation.params),
      ...parameters('query', operation.query),
      ...headerParameters(operation),
    ],
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: isBodyRequired(operation),
            description: `At most ${bodyBytesOf(operation)} bytes`,
            content: Object.fromEntries(
              bodyTypesOf(operation).map((type) => [type, { schema: bodySchema(operation, type) }]),
            ),
          },
        }),
    responses: { ...answers(operation), ...errors(contract, operation) },
    security: operation.access === 'public' ? [] : [{ bearer: [] }, { token: [] }],
    'x-writes': writes(operation),
  }
}

/** Returns the schema of a body with a media type. A form contains the file in the field `file`. */
function bodySchema(operation: Operation, type: string) {
  if (!takesFile(operation) || type !== operation.bodyType) return operation.body
  return { type: 'object', properties: { file: operation.body }, required: ['file'] }
}

function parameters(place: 'path' | 'query', schema: Operation['params']) {
  if (schema === undefined) return []
  const required: readonly string[] = schema.required ?? []
  return Object.entries(schema.properties as Record<string, TSchema>).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
  }))
}

function headerParameters(operation: Operation) {
  const hidden = new Set(['accept', 'cookie', 'origin', 'authorization'])
  const names = (operation.headers ?? []).filter((name) => !hidden.has(name))
  if (idempotencyKey(operation)) names.push('idempotency-key')
  if (operation.tagged === true) names.push('if-none-match')
  return names.map((name) => ({
    name: name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
    in: 'header',
    required: false,
    schema: { type: 'string' },
  }))
}

function answers(operation: Operation) {
  const tag = operation.tagged === true ? { headers: { ETag: { schema: { type: 'string' } } } } : {}
  const described = Object.entries(operation.answers).map(([status, answer]) => {
    const description =
      operation.socket !== undefined
        ? `A WebSocket with the subprotocol \`${operation.socket.protocol}\``
        : Number(status) < 300
          ? 'Done'
          : Number(status) < 400
            ? 'Elsewhere'
            : 'Refused'
    if (isEmpty(answer)) return [status, { description }]
    if (isMedia(answer)) {
      const types = [answer.mediaType, ...answer.alternatives]
      return [
        status,
        { description, content: Object.fromEntries(types.map((type) => [type, { schema: shapeOf(type) }])) },
      ]
    }
    return [status, { description, ...tag, content: { 'application/json': { schema: answer } } }]
  })
  const unchanged = operation.tagged === true ? { 304: { description: 'Not modified (If-None-Match)', ...tag } } : {}
  return { ...Object.fromEntries(described), ...unchanged }
}

/** Returns the schema of a media type. Every media type except JSON is text or bytes. */
function shapeOf(mediaType: string) {
  return mediaType.startsWith('application/json') ? {} : { type: 'string' }
}

/**
 * Returns one response for each error status, with its codes. A status that the operation itself defines keeps its
 * description.
 */
function errors({ errorFormat, errorStatuses = {} }: Contract, operation: Operation) {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of errorsOf(operation)) {
    const { status: usual } = errorFormat?.fromProblem(new Problem(code, '').toDocument()) ?? problemCodes[code]
    const status = errorStatuses[code] ?? usual
    if (status in operation.answers) continue
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const described = [...byStatus].map(([status, codes]) => [
    status,
    {
      ...(errorFormat === undefined
        ? problemResponse
        : { content: { 'application/json': { schema: errorFormat.schema } } }),
      description: codes.map((code) => `\`${code}\`: ${problemCodes[code].title}`).join('. '),
    },
  ])
  return Object.fromEntries(described)
}
