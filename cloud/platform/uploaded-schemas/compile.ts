import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { type BaseSchema, checkSchema, draftOf, refused, schemaLimits } from './check.ts'
import { expandedSize } from './expansion.ts'
import { LinearPattern } from './pattern.ts'
import { type TimeLimit, TookTooLong, within } from './time-limit.ts'

/** How long a schema of a tenant may take. */
export type SchemaTime = { compile: TimeLimit; check: TimeLimit }

const workerTime: SchemaTime = {
  compile: { milliseconds: 5_000, patience: 16 },
  check: { milliseconds: 250, patience: 16 },
}

/** How many errors of one value are returned. */
const returnedErrors = 200

/** What is wrong with a value, as errors of the validator. */
export type Check = (value: unknown) => readonly ErrorObject[]

/** The keyword of the one error that is told when a schema takes too long for a value. */
export const tooLong = 'too_long'

/**
 * Compiles a schema of a tenant. Throws `invalid_schema`, with the reason, when that is not possible. The returned check
 * reports the one error `too_long` for a value that takes too much time.
 */
export function compileSchema(schema: JsonSchema, base?: BaseSchema, time: SchemaTime = workerTime): Check {
  const checked = checkSchema(schema, base)
  const meta = metaSchemas[draftOf(checked)]()
  const validate = compiledWithin(time.compile, () => compileOwn(checked, { meta, base }))
  return (value) => {
    try {
      return within(time.check, () => errorsIn(validate, value)).slice(0, returnedErrors)
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error
      return [tooLongError]
    }
  }
}

export const tooLongError: ErrorObject = {
  instancePath: '',
  schemaPath: '',
  keyword: tooLong,
  params: {},
  message: 'takes too long to be checked by its schema',
}

/** Throws `invalid_schema` unless the schema can be used, and validates a trial value with it. */
export function requireUsable(
  schema: JsonSchema,
  { base, trial }: { base?: BaseSchema | undefined; trial: unknown },
): void {
  const { expandedSize: limit, documentDepth: depth } = schemaLimits
  const size = expandedSize(checkSchema(schema, base), { base, depth, limit })
  if (size === Number.POSITIVE_INFINITY) throw refused('', 'refers to itself without end')
  if (size > limit) {
    const advice = 'remove references that repeat each other or recurse more than once'
    throw refused('', `has an expanded size of more than ${limit} subschemas (references expanded): ${advice}`)
  }
  const check = compileSchema(schema, base)
  if (check(trial).some(({ keyword }) => keyword === tooLong)) throw refused('', 'takes too long to validate a value')
}

export function errorsIn(validate: ValidateFunction, value: unknown): readonly ErrorObject[] {
  return validate(value) ? [] : (validate.errors ?? [])
}

/** What is made when it is first used: it takes a while, and not every installation has schemas of its own. */
const metaSchemas = { '2019-09': once(() => metaSchema(Ajv2019)), '2020-12': once(() => metaSchema(Ajv2020)) } as const

/** Ready to say whether something is a schema of a draft. */
function metaSchema(Compiler: typeof Ajv2019 | typeof Ajv2020): Ajv2019 | Ajv2020 {
  const ajv = schemaCompiler(Compiler)
  ajv.validateSchema({})
  return ajv
}

export function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => {
    made ??= make()
    return made
  }
}

function compiledWithin(time: TimeLimit, compile: () => ValidateFunction): ValidateFunction {
  try {
    return within(time, compile)
  } catch (error) {
    if (error instanceof Problem) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw refused(
      '',
      error instanceof TookTooLong ? 'is too complicated' : `is not a JSON Schema: ${why.slice(0, 500)}`,
    )
  }
}

type Beside = { meta: Ajv2019 | Ajv2020; base: BaseSchema | undefined }

/** Each schema of a tenant has a compiler of its own: what one of them says about names is nothing to another. */
function compileOwn(schema: JsonSchema, { meta, base }: Beside): ValidateFunction {
  if (!meta.validateSchema(schema)) throw new Error(meta.errorsText(meta.errors, { dataVar: 'it' }))
  const Compiler = draftOf(schema) === '2019-09' ? Ajv2019 : Ajv2020
  const ajv = schemaCompiler(Compiler, {
    strictSchema: false,
    validateSchema: false,
    logger: false,
    inlineRefs: false,
    code: { regExp: linearPattern },
  })
  if (base !== undefined) ajv.addSchema(base.schema)
  return ajv.compile(schema)
}

function linearPattern(source: string): LinearPattern {
  return new LinearPattern(source)
}
// What the compiler would print if it wrote its code to a file; it never does.
linearPattern.code = 'linearPattern'

export function schemaCompiler(Compiler: typeof Ajv2019 | typeof Ajv2020, more: Options = {}): Ajv2019 | Ajv2020 {
  const ajv = new Compiler({ allErrors: true, verbose: true, strictTypes: false, ...more })
  // The package is CommonJS: its function is the default export's default.
  ;(addFormats as unknown as { default: typeof addFormats.default }).default(ajv)
  return ajv
}
