import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import { type FieldError, Problem, type ProblemCode } from '@millwright/api/problem.ts'
import type { ErrorObject } from 'ajv/dist/2020.js'
import { LruMap } from 'toad-cache'
import { cutText, errorLimits } from '../error-limits.ts'
import type { BaseSchema } from './check.ts'
import { type Check, compileSchema, requireUsable, tooLongError } from './compile.ts'

/**
 * The worker process that validates with uploaded schemas. `validator.ts` sends one request at a time to it. The worker
 * is a process and not a thread, because a thread that runs out of memory can end the whole process.
 */

export type WorkerRequest = {
  /** The name of the compiled schema. Undefined for an upload, because that schema is only checked and not stored. */
  key?: string
  /** The schema. It can be omitted if the worker already has the schema of the key. */
  schema?: JsonSchema
  base?: BaseSchema | undefined
  values: readonly unknown[]
  /**
   * The processor time for all values together. Values that are not validated within this time get the error
   * `too_long`.
   */
  budgetMs: number
}

export type WorkerResponse =
  | { errors: readonly (readonly ErrorObject[])[] }
  | { refused: { code: ProblemCode; detail: string; errors?: FieldError[] } }
  /** The worker does not have the schema of this key. The request must be repeated with the schema. */
  | { isUnknown: true }

const mostCompiled = 64
const compiled = new LruMap<Check>(mostCompiled)

function respond({ key, schema, base, values, budgetMs }: WorkerRequest): WorkerResponse {
  if (key === undefined) {
    requireUsable(schema ?? {}, { base, trial: values[0] })
    return { errors: [] }
  }
  const check = compiled.get(key) ?? (schema === undefined ? undefined : compileSchema(schema, base))
  if (check === undefined) return { isUnknown: true }
  compiled.set(key, check)
  const start = process.threadCpuUsage()
  const errors = values.map((value) => {
    const { user, system } = process.threadCpuUsage(start)
    return (user + system) / 1000 > budgetMs ? [tooLongError] : check(value).map(portable)
  })
  return { errors }
}

/**
 * Returns only the parts of an error that error messages need. Lists contain one value more than a message shows. The
 * complete schema and value are not copied between processes.
 */
function portable({ instancePath, keyword, params, message, schema, parentSchema }: ErrorObject): ErrorObject {
  const { description, properties } = (parentSchema ?? {}) as { description?: unknown; properties?: object }
  return {
    instancePath: cutText(instancePath, errorLimits.pointer),
    schemaPath: '',
    keyword,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, portableParameter(value)])),
    ...(message === undefined ? {} : { message: cutText(message, errorLimits.detail) }),
    ...(typeof schema === 'string' ? { schema: cutText(schema, errorLimits.detail) } : {}),
    parentSchema: {
      ...(typeof description === 'string' ? { description: cutText(description, errorLimits.detail) } : {}),
      ...(properties === undefined
        ? {}
        : { properties: Object.fromEntries(firstValues(Object.keys(properties)).map((name) => [name, true])) }),
    },
  }
}

function portableParameter(value: unknown): unknown {
  if (Array.isArray(value)) return firstValues(value).map(portableParameter)
  return typeof value === 'string' ? cutText(value, errorLimits.pointer) : value
}

function firstValues<Value>(values: readonly Value[]): Value[] {
  return values.slice(0, errorLimits.values + 1)
}

process.on('message', (request: WorkerRequest) => {
  try {
    process.send?.(respond(request))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { code, message: detail, errors } = error
    const response: WorkerResponse = { refused: { code, detail, ...(errors === undefined ? {} : { errors }) } }
    process.send?.(response)
  }
})
// Only the platform ends the worker. A signal to the whole process group must not end it during a request.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => process.exit())
