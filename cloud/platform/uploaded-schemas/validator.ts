import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { ErrorObject } from 'ajv/dist/2020.js'
import { createYield } from '../event-loop.ts'
import { forkUntrusted } from '../untrusted-process.ts'
import { type BaseSchema, checkSchema, invalidSchema, type Place, placesIn, schemaLimits } from './check.ts'
import { type Check, compileSchema, type SchemaTime, tooLongError } from './compile.ts'
import { expandedSize } from './expansion.ts'
import { LinearPattern } from './pattern.ts'
import type { WorkerRequest, WorkerResponse } from './worker.ts'

/**
 * Limits for the validation with uploaded schemas, which must not block the event loop. Cheap schemas and values are
 * validated in this process. All others go to one worker process, where tenants take turns. Each request has a budget
 * of processor time. A worker that does not respond is ended and replaced.
 */
const limits = {
  /** The largest schema, in characters, that is analysed and compiled on the event loop. */
  inlineSchema: 32 * 1024,
  /**
   * The maximum number of characters of all patterns in a schema that is analysed on the event loop. Parsing patterns
   * is slow.
   */
  inlinePatterns: 2 * 1024,
  /** The maximum work on the event loop: the weight of the schema times the characters of the values. */
  inlineWork: 250_000,
  /** The maximum processor time of one request in the worker. */
  requestMs: 2_000,
  /** How long the worker may take to respond on a busy machine. After this time the worker is ended. */
  responseMs: 60_000,
  waitingPerTenant: 32,
  workerMegabytes: 128,
} as const

/** Time limits for validation on the event loop. A schema that exceeds them is sent to the worker from then on. */
const inlineTime: SchemaTime = {
  compile: { milliseconds: 250, patience: 1 },
  check: { milliseconds: 50, patience: 1 },
}

const turns = new Semaphore({
  capacity: 1,
  waitingPerKey: limits.waitingPerTenant,
  refusal: `${limits.waitingPerTenant} requests of this tenant are already waiting for validation with an uploaded schema. Send fewer requests at the same time`,
})

let worker: ChildProcess | undefined

/**
 * Sends one request to the worker. If the worker is killed or does not respond, the request is repeated once with a new
 * worker, because the request may not be the cause. If the worker runs out of memory, the request is the cause and is
 * not repeated.
 */
async function ask(request: WorkerRequest): Promise<WorkerResponse> {
  for (let attempt = 1; attempt <= 2; attempt++) {
    const response = await askOnce(request)
    if (response === 'out of memory') break
    if (response !== 'lost') return response
  }
  return request.key === undefined
    ? { refused: { code: 'invalid_schema', detail: 'takes too long to check. Simplify the schema' } }
    : { errors: request.values.map(() => [tooLongError]) }
}

/** Sends one request to the worker. Starts the worker if it does not run. */
function askOnce(request: WorkerRequest): Promise<WorkerResponse | 'lost' | 'out of memory'> {
  worker ??= startWorker()
  const current = worker
  const { promise, resolve } = Promise.withResolvers<WorkerResponse | 'lost' | 'out of memory'>()
  const timer = setTimeout(() => current.kill('SIGKILL'), limits.responseMs)
  const answered = (response: unknown) => resolve(response as WorkerResponse)
  // Node aborts with a signal when the process runs out of memory.
  const ended = (_: number | null, signal: NodeJS.Signals | null) =>
    resolve(signal === 'SIGABRT' ? 'out of memory' : 'lost')
  current.once('message', answered)
  current.once('exit', ended)
  current.channel?.ref()
  current.send(request, (error) => {
    if (error === null) return
    if (worker === current) worker = undefined
    resolve('lost')
  })
  return promise.finally(() => {
    clearTimeout(timer)
    current.off('message', answered)
    current.off('exit', ended)
    current.channel?.unref()
  })
}

/** Starts the worker. It exits with the platform. */
function startWorker(): ChildProcess {
  const started = forkUntrusted(new URL('./worker.ts', import.meta.url), limits.workerMegabytes)
  const forget = () => {
    if (worker === started) worker = undefined
  }
  started.on('error', forget)
  started.on('exit', forget)
  started.unref()
  started.channel?.unref()
  return started
}

type Upload = { base?: BaseSchema; trial: unknown }

/** Throws `invalid_schema` with the reason if an uploaded schema cannot be used. */
export async function requireUsableSchema(
  tenantId: string,
  schema: JsonSchema,
  { base, trial }: Upload,
): Promise<void> {
  const response = await turns.run(tenantId, () => ask({ schema, base, values: [trial], budgetMs: limits.requestMs }))
  if ('refused' in response) throw problemOf(response.refused)
}

type SchemaSource = { tenantId: string; schema: JsonSchema; base?: BaseSchema }

/** `UploadedSchema` is a stored schema of a tenant that values are validated with. */
export class UploadedSchema {
  readonly #source: SchemaSource
  /** The name of the schema in the worker. */
  readonly #key: string
  /**
   * The expanded size of the schema, weighted with `keywordWeight`, plus the size of its patterns. It is infinite for a
   * schema that only the worker may use.
   */
  #weight: number
  #check: Check | undefined

  constructor(source: SchemaSource) {
    this.#source = source
    const text = JSON.stringify([source.base?.id, source.schema])
    this.#key = createHash('sha256').update(text).digest('hex')
    this.#weight = weightOf(source)
  }

  /** Returns the errors of each value. */
  async errorsOf(values: readonly unknown[]): Promise<readonly (readonly ErrorObject[])[]> {
    if (this.#weight === Number.POSITIVE_INFINITY) return this.#inWorker(values)
    const work = this.#weight * JSON.stringify(values).length
    return work <= limits.inlineWork ? this.#inline(values) : this.#inWorker(values)
  }

  async #inline(values: readonly unknown[]): Promise<readonly (readonly ErrorObject[])[]> {
    const errors: (readonly ErrorObject[])[] = []
    const yieldTurn = createYield(this.#source.tenantId)
    for (const value of values) {
      await yieldTurn()
      const valueErrors = this.#checkInline(value)
      if (valueErrors.includes(tooLongError)) {
        this.#weight = Number.POSITIVE_INFINITY
        return this.#inWorker(values)
      }
      errors.push(valueErrors)
    }
    return errors
  }

  #checkInline(value: unknown): readonly ErrorObject[] {
    const { schema, base } = this.#source
    try {
      this.#check ??= compileSchema(schema, base, inlineTime)
    } catch (error) {
      // The worker repeats the validation. It has more time, and reports why a schema cannot be used.
      if (error instanceof Problem) return [tooLongError]
      throw error
    }
    return this.#check(value)
  }

  async #inWorker(values: readonly unknown[]): Promise<readonly (readonly ErrorObject[])[]> {
    const { tenantId, schema, base } = this.#source
    const request = { key: this.#key, values, budgetMs: limits.requestMs }
    const response = await turns.run(tenantId, async () => {
      const first = await ask(request)
      return 'isUnknown' in first ? ask({ ...request, schema, base }) : first
    })
    if ('refused' in response) throw problemOf(response.refused)
    if ('isUnknown' in response) throw new Problem('internal', 'The validation worker lost a schema')
    return response.errors
  }
}

function weightOf({ schema, base }: SchemaSource): number {
  if (JSON.stringify(schema).length > limits.inlineSchema) return Number.POSITIVE_INFINITY
  const patterns = placesIn(schema as Record<string, unknown>).flatMap(patternsOf)
  const patternText = patterns.reduce((sum, { length }) => sum + length, 0)
  if (patternText > limits.inlinePatterns) return Number.POSITIVE_INFINITY
  try {
    const checked = checkSchema(schema, base)
    const places = placesIn(checked as Record<string, unknown>)
    // `uniqueItems` compares all entries of an array with each other, so its time is not linear in their number.
    if (places.some(({ schema: { uniqueItems } }) => uniqueItems === true)) return Number.POSITIVE_INFINITY
    const { documentDepth: depth } = schemaLimits
    const size = expandedSize(checked, { base, depth, limit: limits.inlineWork, weigh: keywordWeight })
    return patterns.reduce((sum, pattern) => sum + new LinearPattern(pattern).size, size)
  } catch (error) {
    // This schema is sent to the worker, which reports why it cannot be used.
    if (error instanceof Problem) return Number.POSITIVE_INFINITY
    throw error
  }
}

/**
 * Returns the work of one subschema for one value. Keywords such as `required` and `enum` add the number of their
 * entries, because validation compares each entry with the value, and each entry may cause an error.
 */
function keywordWeight(node: Readonly<Record<string, unknown>>): number {
  const { properties, patternProperties, dependencies, dependentSchemas } = node
  const lists = [node.required, node.enum, node.const, node.dependentRequired, dependencies].map(countValues)
  const names = [properties, patternProperties, dependentSchemas].map((named) => Object.keys(named ?? {}).length)
  return [...lists, ...names].reduce((sum, count) => sum + count, 1)
}

/** Returns the number of values inside a JSON value, without the value itself. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, member) => sum + 1 + countValues(member), 0)
}

function patternsOf({ schema: { pattern, patternProperties } }: Place): string[] {
  return [...(typeof pattern === 'string' ? [pattern] : []), ...Object.keys((patternProperties ?? {}) as object)]
}

function problemOf({ code, detail, errors }: Extract<WorkerResponse, { refused: object }>['refused']): Problem {
  return code === 'invalid_schema' && errors === undefined
    ? invalidSchema('', detail)
    : new Problem(code, detail, errors === undefined ? {} : { errors })
}
